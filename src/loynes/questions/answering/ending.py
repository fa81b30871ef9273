"""Which limit ended a run, and how a reader is told."""

from __future__ import annotations

from loynes.execution.deadline import Deadline

TIME, INTERRUPT, MAX_JOBS = "time", "interrupt", "max-jobs"


def ended_by(deadline: Deadline) -> str:
    """What a deadline that has cut work short stands for."""
    return INTERRUPT if deadline.asked else TIME


def after(by: str, jobs: float, deadline: Deadline) -> str:
    """When that was: " at 4e9 jobs", " after 20 s"."""
    if by == TIME and deadline.seconds is not None:
        return f" as the time was up, at {jobs:.3g} jobs"
    return f" by an interrupt, at {jobs:.3g} jobs" if by == INTERRUPT else f" at {jobs:.3g} jobs"


def allow(by: str) -> str:
    """What would have let it go on."""
    return "let it run for longer" if by == INTERRUPT else f"allow more with --{by}"
