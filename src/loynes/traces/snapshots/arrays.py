"""Job arrays: schedulers list the tasks that wait as one line, 123_[1-50,60%10], of which each is a job."""

from __future__ import annotations

import re
from dataclasses import replace

from loynes.errors import TraceError
from loynes.traces.snapshot import SeenJob, in_line

# An array of more tasks is taken as one job of that many, and it is said so: somebody mistyped, or means another thing.
MOST_TASKS = 100_000
# A listing has at most so many jobs, each task of an array counted: more would fill the memory.
MOST_JOBS = 1_000_000
_PART = re.compile(r"(\d{1,12})(?:-(\d{1,12})(?::(\d{1,12}))?)?", re.ASCII)


def check_count(jobs: list[SeenJob], source: str) -> None:
    if len(jobs) > MOST_JOBS:
        raise TraceError(f"{source}: lists more than {MOST_JOBS} jobs, each task of an array counted")


def tasks_of(job: SeenJob, tasks: str) -> list[SeenJob]:
    """A job for every task that is listed in `tasks` (1-50:2,60%10); the job itself where none are, or all are held."""
    text, percent, most = tasks.strip("[] ").partition("%")
    if not text:
        return [job]
    numbers: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            return [replace(job, assumed=f"tasks {tasks!r} cannot be read: taken as one task")]
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or (last - first) // step + len(numbers) > MOST_TASKS:
            return [replace(job, assumed=f"tasks {tasks!r}: more than {MOST_TASKS}, or none: taken as one task")]
        numbers += range(first, last + 1, step)
    name = job.id.partition("_")[0]
    if not in_line(job):
        return [replace(job, id=f"{name}_[{text}]")]
    found = [replace(job, id=f"{name}_{number}") for number in numbers]
    if percent:
        said = f"its array may run only so many at once ({text}%{most}): not modelled"
        found[0] = replace(found[0], assumed=said)
    return found
