"""What is known of the mean wait so far, how far the work is, and what will end it when."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.execution.progress import duration

# Work that takes longer than so many seconds is announced.
LONG = 20.0


class Outlook:
    """Tells progress of a run that goes on until a precision, a number of jobs or a time is reached.

    Half-widths fall with the square root of what was observed. So every look says how many jobs it will take in all,
    and whichever limit comes first is what the work is measured by.
    """

    def __init__(self, method: str, context: Context, precision: float | None, max_jobs: float) -> None:
        self._method, self._context, self._precision, self._max_jobs = method, context, precision, max_jobs
        self._began, self._announced = context.deadline.now(), False

    def told(self, wait: Estimate, excess: float, burned_in: float, jobs: float, share: float | None = None) -> None:
        """After a look: the mean wait, its half-width over the one wanted, jobs that were burned in, and all jobs."""
        text = f"{self._method}: mean wait {wait.estimate:.4g} ±{wait.half_width:.2g} ({wait.relative:.2%})"
        if self._precision is None:
            self._context.progress(1.0 if share is None else share, text)
            return
        needed = burned_in + (jobs - burned_in) * max(excess, 1.0) ** 2
        total = max(min(needed, self._max_jobs), jobs)
        self._context.progress(min(0.99, jobs / total) if math.isfinite(total) else 0.0, text)
        announce = getattr(self._context.progress, "announce", None)
        if announce is not None and not self._announced and excess > 1.0 and math.isfinite(needed):
            self._announced = True
            words, seconds = self.words(wait, needed, burned_in, jobs)
            if seconds > LONG:
                announce(words)

    def words(self, wait: Estimate, needed: float, burned_in: float, jobs: float) -> tuple[str, float]:
        """What will end the run, and when; and that in seconds."""
        deadline, observed = self._context.deadline, max(jobs - burned_in, 1.0)
        passed = max(deadline.now() - self._began, 1e-9)
        pace = passed / observed
        seconds = (needed - jobs) * pace
        wanted = f"{100 * (self._precision or 0.0):.3g}%"
        words = f"{wanted} will take about {duration(seconds)}"
        limit = max(self._max_jobs - jobs, 0.0) * pace
        end = min(limit, deadline.left)
        if seconds <= end:
            return words, seconds
        reached = wait.relative * math.sqrt(observed / (observed + end / pace))
        name = "max-jobs" if limit < deadline.left else "the end of the time"
        return f"{words}; stops at {name}, at about {reached:.1%}, in {duration(end)}", end
