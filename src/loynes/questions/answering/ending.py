"""Which limit ended a run, and how a reader is told."""

from __future__ import annotations

from loynes.errors import UsageError
from loynes.execution.deadline import Deadline

TIME, INTERRUPT, MAX_JOBS = "time", "interrupt", "max-jobs"


def ended_by(deadline: Deadline) -> str:
    """What a deadline that has cut work short stands for."""
    return INTERRUPT if deadline.asked else TIME


def cut_short(deadline: Deadline, done: str) -> str:
    """A warning: work was cut short, and what was done by then."""
    by = ended_by(deadline)
    when = "by an interrupt" if by == INTERRUPT else "as the time was up"
    return f"stopped {when}, {done}; {allow(by)}"


def not_run(deadline: Deadline) -> str:
    """Why there is nothing of a case."""
    return "not run: interrupted" if deadline.asked else "not run: the time was up"


def after(by: str, jobs: float, deadline: Deadline) -> str:
    """When that was: " at 4e9 jobs", " after 20 s"."""
    if by == TIME and deadline.seconds is not None:
        return f" as the time was up, at {jobs:.3g} jobs"
    return f" by an interrupt, at {jobs:.3g} jobs" if by == INTERRUPT else f" at {jobs:.3g} jobs"


def allow(by: str) -> str:
    """What would have let it go on."""
    return "let it run for longer" if by == INTERRUPT else f"allow more with --{by}"


# Of all replicas together: at a million jobs a second they take twelve days.
MOST_JOBS = 1e12


def check_length(asked: str, jobs: float, replicas: int) -> None:
    """Refuse runs, of so many jobs in all, that nobody would live to see the end of; `asked` is the option."""
    if jobs > MOST_JOBS:
        raise UsageError(
            f"{asked}: {jobs:.1e} jobs in {replicas} replicas, weeks or more on one machine; at most {MOST_JOBS:.0e} "
            "are simulated"
        )
