"""`squeue --json`, of Slurm 20.11 to 24: later versions wrap numbers in {"set": true, "number": 4}."""

from __future__ import annotations

import math

from pydantic_core import from_json

from loynes.errors import TraceError
from loynes.traces.objects import Object, list_in, number_in, object_in, text_in
from loynes.traces.snapshot import Note, SeenJob
from loynes.traces.snapshots.arrays import check_count, tasks_of
from loynes.traces.snapshots.hosts import hosts_of
from loynes.traces.snapshots.register import Listing, snapshot_reader
from loynes.traces.words import mebibytes


@snapshot_reader(
    "squeue-json",
    summary="Slurm: `squeue --json`",
    recognises=lambda beginning: beginning[:1] == b"{" and (b'"jobs"' in beginning) and b"kueue" not in beginning,
    rank=1,
)
def read_squeue_json(data: bytes, source: str) -> Listing:
    try:
        document = from_json(data)
    except (ValueError, RecursionError):
        raise TraceError(f"{source}: not a whole JSON document; was squeue --json cut off?") from None
    listed = object_in(document).get("jobs")
    if not isinstance(listed, list):
        raise TraceError(f"{source}: no list of jobs in it; expected what squeue --json prints")
    jobs, damaged = [], list[Note]()
    for place, one in enumerate(listed, 1):
        if not isinstance(one, dict) or "job_id" not in one:
            damaged.append(Note(f"entry {place}", "is no job: it has no job_id"))
            continue
        jobs += tasks_of(_job(one), text_in(one.get("array_task_string")))
        check_count(jobs, source)
    return Listing(jobs, _moment(object_in(document)), damaged)


# Older versions write what is infinite, or not set, as the largest numbers there are.
_INFINITE, _NOT_SET = (2.0**32 - 1, 2.0**64 - 1), (2.0**32 - 2, 2.0**64 - 2)


def _number(value: object) -> float:
    """A number, wrapped or not; NaN where it is not set, infinite where it is said to be."""
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return math.inf
        return _plain(number_in(value.get("number"))) if value.get("set", True) is not False else math.nan
    return _plain(number_in(value))


def _plain(number: float) -> float:
    return math.inf if number in _INFINITE else math.nan if number in _NOT_SET else number


def _moment(document: Object) -> float:
    """When it was asked: newer versions say."""
    return _number(document.get("last_update"))


def _job(one: Object) -> SeenJob:
    state = one.get("job_state")
    words = [text_in(word) for word in list_in(state)] if isinstance(state, list) else [text_in(state)]
    start = _number(one.get("start_time"))
    array, task = _number(one.get("array_job_id")), _number(one.get("array_task_id"))
    name = f"{one['job_id']}"
    if array > 0 and task >= 0:
        name = f"{array:.0f}_{task:.0f}"
    group = _number(one.get("het_job_id"))
    return SeenJob(
        id=name,
        state=_state(words),
        demand=_demand(one),
        limit=60.0 * _number(one.get("time_limit")),
        submit=_positive(_number(one.get("submit_time"))),
        start=_positive(start),
        priority=_number(one.get("priority")),
        reason=_reason(one),
        labels={
            ours: text_in(one.get(theirs))
            for ours, theirs in (("user", "user_name"), ("queue", "partition"), ("account", "account"))
            if text_in(one.get(theirs))
        },
        group=f"{group:.0f}" if group > 0 else "",
        hosts=hosts_of(text_in(one.get("nodes"))),
    )


def _state(words: list[str]) -> str:
    """Newer versions list a state and its flags; a job that is completing holds its nodes, whatever else it is."""
    return "COMPLETING" if "COMPLETING" in words else words[0] if words else ""


def _reason(one: Object) -> str:
    """Why a job waits; one that is held, or whose dependency is not fulfilled, may say that its turn has not come."""
    if one.get("hold") is True:
        return "JobHeld"
    if "(unfulfilled)" in text_in(one.get("dependency")):
        return "Dependency"
    return text_in(one.get("state_reason"))


def _positive(value: float) -> float:
    return value if value > 0 else math.nan


def _demand(one: Object) -> dict[str, float]:
    """cpus, nodes, and what the string of trackable resources says of gpus and memory."""
    demand = {"cpu": _number(one.get("cpus")), "node": _number(one.get("node_count"))}
    for part in text_in(one.get("tres_alloc_str") or one.get("tres_req_str")).split(","):
        name, equals, amount = part.partition("=")
        if equals and name == "mem":
            try:
                demand["mem"] = mebibytes(amount)
            except (ValueError, OverflowError):
                continue
        elif equals and name.startswith("gres/gpu") and ":" not in name:
            demand["gpu"] = number_in(amount)
    return {kind: units for kind, units in demand.items() if not math.isnan(units)}
