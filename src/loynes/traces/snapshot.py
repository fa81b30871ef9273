"""A cluster at one moment: the jobs that run, and those that wait, in the order in which they are considered.

Readers (`snapshots/`) give `SeenJob`s, as a scheduler lists them; `snapshot_of` judges them. Nothing is dropped
silently: a job that cannot be taken is in `left_out` with the reason, one that is taken under an assumption in
`assumed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import TraceError, UsageError
from loynes.traces.times import LONGEST
from loynes.traces.units import unit_named

COMPLETING = frozenset({"completing", "cg"})
RUNNING = COMPLETING | {
    "running", "r", "admitted", "configuring", "cf", "resizing", "rs", "signaling", "si", "stage_out", "so", "stopped",
    "st",
}  # fmt: skip
WAITING = frozenset({"pending", "pd", "waiting", "queued", "q", "requeued", "rq"})
ENDED = frozenset({
    "completed", "cd", "failed", "f", "cancelled", "ca", "timeout", "to", "node_fail", "nf", "preempted", "pr",
    "boot_fail", "bf", "deadline", "dl", "out_of_memory", "oom", "finished", "revoked", "rv", "c", "e",
})  # fmt: skip
# Waiting for something that no server is free for: such a job is not in line.
HELD = (
    "held", "dependency", "begintime", "beginning", "jobarraytasklimit", "inactive", "reservation", "partitiondown",
    "partitionnodelimit", "partitiontimelimit", "partitionconfig", "badconstraints", "invalidaccount", "invalidqos",
    "notallowed", "holdmaxrequeue", "deadline",
)  # fmt: skip
# All other reasons but these are limits besides: such a job is taken to wait for servers alone.
FOR_SERVERS = frozenset({"", "none", "null", "priority", "resources", "prolog", "cleaning"})
# A running job beyond its limit is about to be ended: it is given so many seconds.
ABOUT_TO_END = 1.0


@dataclass(frozen=True)
class SeenJob:
    """A job as it is listed; times in seconds, NaN where nothing is said."""

    id: str
    state: str
    demand: Mapping[str, float]
    elapsed: float = math.nan
    limit: float = math.nan
    submit: float = math.nan
    start: float = math.nan
    priority: float = math.nan
    reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    group: str = ""  # components of a heterogeneous job have one in common: they start together
    hosts: tuple[str, ...] = ()  # the nodes that a running job is on, where they are listed
    assumed: str = ""  # what a reader assumed of it


@dataclass(frozen=True)
class Note:
    """What is to be known of a job: why it was left out, or what was assumed of it."""

    id: str
    text: str


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Running jobs first, then waiting ones in order; the same place in every column."""

    ids: tuple[str, ...]
    running: int  # how many of the jobs run
    demand: dict[str, Ints]  # units of every resource
    elapsed: Array  # seconds that a running job has run; 0 for those that wait
    limit: Array  # seconds that a job may run
    submit: Array  # NaN where nothing is said
    labels: dict[str, NDArray[np.str_]]
    now: float = math.nan  # Unix time, where it is known
    source: str = "arrays"
    format: str = "arrays"
    left_out: tuple[Note, ...] = ()
    assumed: tuple[Note, ...] = ()
    hosts: tuple[tuple[str, ...], ...] = ()  # of every running job, where any are listed
    places: tuple[tuple[int, ...], ...] = ()  # the node of every task of a running job, where these are known

    @property
    def waiting(self) -> int:
        return len(self.ids) - self.running

    def need(self, kinds: Iterable[str]) -> Ints:
        """[job, kind]."""
        return np.stack([self.demand[kind] for kind in kinds], axis=1)

    def without(self, notes: Mapping[int, str]) -> Snapshot:
        """The same without some jobs: place -> why."""
        kept = np.array([i for i in range(len(self.ids)) if i not in notes], np.int64)
        running = int(np.count_nonzero(kept < self.running))
        out = tuple(Note(self.ids[i], text) for i, text in notes.items())
        return replace(
            self,
            ids=tuple(self.ids[i] for i in kept),
            running=running,
            demand={kind: units[kept] for kind, units in self.demand.items()},
            elapsed=self.elapsed[kept],
            limit=self.limit[kept],
            submit=self.submit[kept],
            labels={name: values[kept] for name, values in self.labels.items()},
            left_out=(*self.left_out, *out),
            hosts=tuple(self.hosts[i] for i in kept[:running]) if self.hosts else (),
            places=tuple(self.places[i] for i in kept[:running]) if self.places else (),
        )

    def with_job(self, name: str, demand: Mapping[str, int], limit: float, labels: Mapping[str, str]) -> Snapshot:
        """The same with one more job at the end of the line."""
        return replace(
            self,
            ids=(*self.ids, name),
            demand={kind: np.append(units, demand.get(kind, 0)) for kind, units in self.demand.items()},
            elapsed=np.append(self.elapsed, 0.0),
            limit=np.append(self.limit, limit),
            submit=np.append(self.submit, self.now),
            labels={key: np.append(values, labels.get(key, "")) for key, values in self.labels.items()},
        )


def snapshot_of(
    jobs: Iterable[SeenJob],
    units: Mapping[str, int],
    *,
    now: float = math.nan,
    default_limit: float | None = None,
    source: str = "arrays",
    form: str = "arrays",
) -> Snapshot:
    """The jobs that can be taken on a cluster of so many units of every resource, and why others are not.

    Where there is one resource, named "servers", a job's need is what it asks for of its first resource. Jobs that wait
    are in order of priority, where they have one, then of submission, then as they are listed.
    """
    left_out: list[Note] = []
    assumed: list[Note] = []
    taken: list[SeenJob] = []
    seen: set[str] = set()
    for job in _together(jobs):
        problem = _problem(job, units, seen)
        if problem:
            left_out.append(Note(job.id, problem))
        else:
            seen.add(job.id)
            taken.append(job)
    limits = [job.limit for job in taken if 0 < job.limit <= LONGEST]
    usual = default_limit if default_limit is not None else max(limits, default=math.nan)
    ready = [_completed(job, now, usual, assumed) for job in taken]
    if any(math.isnan(job.limit) for job in ready):
        raise TraceError(f"{source}: no job has a time limit: give --default-limit, the longest time a job may take")
    running = [job for job in ready if job.state == "running"]
    waiting = sorted((job for job in ready if job.state == "waiting"), key=_turn)
    listed = [*running, *waiting]
    demand = {kind: np.array([_need(job, kind, units) for job in listed], np.int64) for kind in units}
    names = dict.fromkeys(name for job in listed for name in job.labels)
    found = Snapshot(
        ids=tuple(job.id for job in listed),
        running=len(running),
        demand=demand,
        elapsed=np.array([job.elapsed if job.state == "running" else 0.0 for job in listed], np.float64),
        limit=np.array([job.limit for job in listed], np.float64),
        submit=np.array([job.submit for job in listed], np.float64),
        labels={name: np.array([job.labels.get(name, "") for job in listed], np.str_) for name in names},
        now=now,
        source=source,
        format=form,
        left_out=tuple(left_out),
        assumed=tuple(assumed),
        hosts=tuple(job.hosts for job in running),
    )
    check_room(found, units)
    return found


def check_room(snapshot: Snapshot, units: Mapping[str, int]) -> None:
    """Refuse jobs that hold more than there is."""
    for kind, count in units.items():
        held = int(snapshot.demand[kind][: snapshot.running].sum())
        if held > count:
            name = unit_named(kind)
            raise UsageError(f"{snapshot.source}: running jobs hold {held} {name}, but there are {count} {name}")


def _turn(job: SeenJob) -> tuple[float, float]:
    """What orders waiting jobs: those of no priority come after all that have one."""
    priority = math.inf if math.isnan(job.priority) else -job.priority
    return priority, job.submit if math.isfinite(job.submit) else math.inf


def _together(jobs: Iterable[SeenJob]) -> list[SeenJob]:
    """Components of a heterogeneous job are one job: they start together and need what all of them need."""
    whole: dict[str, SeenJob] = {}
    for place, job in enumerate(jobs):
        key = f"group {job.group}" if job.group else f"place {place}"
        first = whole.get(key)
        if first is None:
            whole[key] = replace(job, id=job.group) if job.group else job
        else:
            kinds = dict.fromkeys((*first.demand, *job.demand))
            demand = {kind: first.demand.get(kind, 0.0) + job.demand.get(kind, 0.0) for kind in kinds}
            whole[key] = replace(
                first, demand=demand, limit=np.fmax(first.limit, job.limit), hosts=(*first.hosts, *job.hosts)
            )
    return list(whole.values())


def state_of(text: str) -> str:
    """running, waiting, ended, or nothing where the word is not known."""
    word = text.strip().lower().split(" ")[0]
    for name, words in (("running", RUNNING), ("waiting", WAITING), ("ended", ENDED)):
        if word in words:
            return name
    return ""


def _reason(job: SeenJob) -> str:
    return job.reason.lower().replace("_", "").strip("() ")


def in_line(job: SeenJob) -> bool:
    """Whether a job waits for what others hold; else no server that becomes free lets it start."""
    reason = _reason(job)
    return not any(word in reason for word in HELD)


def _need(job: SeenJob, kind: str, units: Mapping[str, int]) -> float:
    if kind in job.demand:
        return job.demand[kind]
    return next(iter(job.demand.values()), 0.0) if len(units) == 1 and kind == "servers" else 0.0


def _problem(job: SeenJob, units: Mapping[str, int], seen: set[str]) -> str:
    """Why a job cannot be taken; nothing if it can."""
    state = state_of(job.state)
    if state == "ended":
        return f"has ended ({job.state.lower()})"
    if not state:
        return f"state {job.state!r}: neither running nor waiting" if job.state else "no state"
    if job.id in seen:
        return "listed twice"
    if state == "waiting" and not in_line(job):
        return f"not in line: {job.reason}"
    needs = {kind: _need(job, kind, units) for kind in units}
    for kind, need in needs.items():
        if not (0 <= need < 2**53 and need == int(need)):
            return f"needs {need:g} {unit_named(kind)}: not a whole number"
        if need > units[kind]:
            return f"needs {need:g} {unit_named(kind)} of {units[kind]}"
    return "" if any(needs.values()) else f"needs none of {', '.join(units)}"


def _completed(job: SeenJob, now: float, usual: float, assumed: list[Note]) -> SeenJob:
    """A job with its state, limit and elapsed time; what had to be assumed is noted."""
    state = state_of(job.state)
    limit, elapsed = job.limit, job.elapsed
    if job.assumed:
        assumed.append(Note(job.id, job.assumed))
    if state == "waiting" and _reason(job) not in FOR_SERVERS:
        assumed.append(Note(job.id, f"waits for {job.reason}, too: taken to wait for servers alone"))
    if not 0 < limit <= LONGEST:
        said = f"limit {limit:g}" if math.isfinite(limit) else "no limit"
        limit = usual
        if math.isfinite(limit):
            assumed.append(Note(job.id, f"{said}: taken as {limit:g} s, the longest here"))
    if state == "running":
        if math.isnan(elapsed) and math.isfinite(job.start) and math.isfinite(now):
            elapsed = now - job.start
        if not math.isfinite(elapsed):
            hint = "; when the listing was made is not said (--now TIME)" if math.isfinite(job.start) else ""
            assumed.append(Note(job.id, f"elapsed time not known: taken as 0{hint}"))
            elapsed = 0.0
        elif elapsed < 0:
            assumed.append(Note(job.id, f"elapsed {elapsed:g} s, its clock is ahead: taken as 0"))
            elapsed = 0.0
        if job.state.strip().lower() in COMPLETING:
            assumed.append(Note(job.id, "is completing: taken to end at once"))
            elapsed = limit - min(ABOUT_TO_END, 0.5 * limit)
        elif elapsed >= limit:
            assumed.append(Note(job.id, f"has run {elapsed:g} s of {limit:g}: taken to end at once"))
            elapsed = limit - min(ABOUT_TO_END, 0.5 * limit)
    return replace(job, state=state, limit=limit, elapsed=elapsed)
