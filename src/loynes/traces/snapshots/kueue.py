"""Kueue's Workloads: `kubectl get workloads -A -o json`."""

from __future__ import annotations

import math
import re

import numpy as np

from loynes.traces.ledger import Ledger
from loynes.traces.objects import number_in, object_in, objects_of, text_in
from loynes.traces.readers.kueue import conditions, needs_of
from loynes.traces.snapshot import Note, SeenJob
from loynes.traces.snapshots.register import Listing, snapshot_reader
from loynes.traces.times import stamp

# What kubectl prints of whatever kind, where there is none.
NONE_LISTED = re.compile(rb'"items"\s*:\s*\[\s*\]')


@snapshot_reader(
    "kueue",
    summary="Kueue on Kubernetes: `kubectl get workloads -A -o json`",
    recognises=lambda beginning: (
        beginning[:1] == b"{" and (b"kueue.x-k8s.io" in beginning or NONE_LISTED.search(beginning) is not None)
    ),
    rank=0,
)
def read_workloads(data: bytes, source: str) -> Listing:
    broken: list[tuple[int, str, str]] = []
    jobs = []
    for place, one in objects_of(data, Ledger(source, strict=False), broken):
        meta, spec, status = (object_in(one.get(part)) for part in ("metadata", "spec", "status"))
        if "creationTimestamp" not in meta:
            broken.append((place, "no metadata.creationTimestamp", "a Workload"))
            continue
        when = conditions(status)
        admitted = when.get("Admitted") or when.get("QuotaReserved", "")
        state = "finished" if "Finished" in when else "admitted" if admitted else "pending"
        demand = needs_of(spec, status)
        if "cpu_milli" in demand:
            demand = {"cpu": float(np.ceil(demand.pop("cpu_milli") / 1000)), **demand}
        space = text_in(meta.get("namespace"))
        jobs.append(
            SeenJob(
                id="/".join(filter(None, (space, text_in(meta.get("name")) or text_in(meta.get("uid"))))),
                state=state,
                demand=demand,
                limit=number_in(spec.get("maximumExecutionTimeSeconds")),
                submit=_moment(text_in(meta["creationTimestamp"])),
                start=_moment(admitted),
                priority=number_in(spec.get("priority")),
                reason="inactive" if spec.get("active") is False else "",
                labels={"queue": text_in(spec.get("queueName")), "user": space},
            )
        )
    damaged = [Note(f"entry {place}", f"{problem}; expected {right}") for place, problem, right in broken]
    return Listing(jobs, math.nan, damaged)


def _moment(text: str) -> float:
    try:
        return stamp(text)[0] if text else math.nan
    except (ValueError, OverflowError):
        return math.nan
