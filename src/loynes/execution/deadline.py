"""When work has to end: after some time, or when somebody asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

# Soon enough for a person who has asked for the end of a run.
SOON = 0.25


class Stopped(Exception):  # noqa: N818  # not an error: whoever knows something by then goes on from it
    """A run was ended before it was done. All rows of its state are at `at`; of one by rows, those before it are done.

    Whoever can make something of that catches it. Where nobody does, nothing is known yet.
    """

    def __init__(self, at: int = 0) -> None:
        super().__init__(at)
        self.at = at


class Deadline:
    """A moment, so many seconds from now, and whether somebody asked to stop before it.

    `cut` says whether any work has been cut short because of it; work that seems to take longer than `soon` seconds is
    done in parts, so that a deadline is noticed in about twice that.
    """

    def __init__(
        self, seconds: float | None = None, *, soon: float = SOON, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self.soon, self.cut = seconds, soon, False
        self._clock, self._asked, self._spared = clock, False, 0.0
        self._end = math.inf if seconds is None else self.now() + seconds

    @property
    def asked(self) -> bool:
        """Whether somebody asked to stop."""
        return self._asked

    def stop(self) -> None:
        """Asked for: the work ends as soon as it can."""
        self._asked = True

    def spare(self, seconds: float) -> None:
        """So many of the seconds that have passed do not count."""
        self._spared += seconds

    def now(self) -> float:
        """Seconds that count."""
        return self._clock() - self._spared

    @property
    def left(self) -> float:
        """Seconds until then; 0 if it is over."""
        return 0.0 if self.asked else max(self._end - self.now(), 0.0)

    @property
    def passed(self) -> bool:
        return self.left <= 0.0

    def check(self, at: int = 0) -> None:
        """End the work here, if the moment has come."""
        if self.passed:
            self.note_cut()
            raise Stopped(at)

    def look(self) -> None:
        """The same, for work of which nothing is left when it ends, and which looks as often as time lets it."""
        if self.passed:
            self.check()

    def note_cut(self) -> None:
        """Work was cut short."""
        self.cut = True

    def within(self, share: float) -> Deadline:
        """A deadline for a part of the work, which may take this share of the time that is left."""
        return _Within(self, self.left * share) if math.isfinite(self.left) else self

    def unhurried(self) -> Deadline:
        """The same without the moment: it passes only when somebody asks."""
        return self if self.seconds is None else _Within(self, None)


class _Within(Deadline):
    """A deadline within another one: who asks, what is cut and what time counts are those of the other."""

    def __init__(self, whole: Deadline, seconds: float | None) -> None:
        self._whole = whole
        super().__init__(seconds, soon=whole.soon)

    @property
    def asked(self) -> bool:
        return self._whole.asked

    def stop(self) -> None:
        self._whole.stop()

    def spare(self, seconds: float) -> None:
        self._whole.spare(seconds)

    def now(self) -> float:
        return self._whole.now()

    def note_cut(self) -> None:
        self.cut = True
        self._whole.note_cut()


# Of work that nobody hurries: it never passes.
NEVER = Deadline()
