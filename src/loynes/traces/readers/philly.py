"""Microsoft's Philly traces: `cluster_job_log`, a JSON list of jobs and the attempts at them."""

from __future__ import annotations

from loynes.traces.jobs import NEVER_STARTED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.objects import Object, list_in, object_in, objects_of, text_in
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Trace
from loynes.traces.words import stamps_of

import numpy as np  # isort: skip

SEVERAL_ATTEMPTS = "several attempts: one job, for the time of all"


@reader(
    "philly",
    summary="Microsoft Philly: `cluster_job_log` (JSON)",
    reference="[philly-traces](https://github.com/msr-fiddle/philly-traces)",
    units="gpus",
    recognises=lambda beginning: (
        beginning[:1] in (b"[", b"{")
        and b'"attempts"' in beginning
        and (b'"submitted_time"' in beginning or b'"vc"' in beginning)
    ),
)
def read_philly(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    damaged: list[tuple[int, str, str]] = []
    place, gpus, nodes, counts = list[int](), list[float](), list[float](), list[int]()
    submit, begins, ends = list[str](), list[str](), list[str]()
    labels: dict[str, list[str]] = {"user": [], "queue": [], "state": []}
    for where, job in objects_of(data, ledger, damaged):
        attempts = [object_in(one) for one in list_in(job.get("attempts"))]
        if "submitted_time" not in job:
            damaged.append((where, "no submitted_time", "a job with submitted_time and attempts"))
            continue
        details = max((_details(one) for one in attempts), default=(0.0, 0.0))
        place.append(where)
        submit.append(text_in(job["submitted_time"]))
        gpus.append(details[0])
        nodes.append(details[1])
        counts.append(len(attempts))
        begins += [text_in(one.get("start_time")) for one in attempts]
        ends += [text_in(one.get("end_time")) for one in attempts]
        for name, theirs in (("user", "user"), ("queue", "vc"), ("state", "status")):
            labels[name].append(text_in(job.get(theirs)))
    jobs = Jobs(ledger, asked, place, len(place) + len(damaged), damaged)
    jobs.put("submit", submit, "submitted_time")
    of, count = np.repeat(np.arange(len(place)), counts), np.array(counts, dtype=np.int64)
    begin, begin_bad, *_ = stamps_of(begins)
    end, end_bad, *_ = stamps_of(ends)
    for bad, words, name in ((begin_bad, begins, "start_time"), (end_bad, ends, "end_time")):
        first = {int(of[i]): words[i] for i in np.flatnonzero(bad)[::-1].tolist()}
        rows = np.isin(np.arange(len(place)), list(first))
        jobs.damage(rows, [first.get(i, "") for i in range(len(place))], name, "a stamp like 2017-10-07 01:11:39")
    held = np.nan_to_num(end - begin)
    service = np.bincount(of, held, minlength=len(place))
    jobs.values["service"] = np.where(service > 0, service, np.nan)
    start = np.full(len(place), np.inf)
    np.minimum.at(start, of, np.where(np.isnan(begin), np.inf, begin))
    jobs.values["start"] = np.where(np.isfinite(start), start, np.nan)
    jobs.demand["gpu"] = np.array(gpus, dtype=np.float64)
    jobs.labels = {**labels, "nodes": np.array(nodes)}
    ledger.repair(SEVERAL_ATTEMPTS, int(np.count_nonzero((count > 1) & jobs.alive)))
    jobs.derive()
    jobs.drop(np.isnan(jobs.value("start")), NEVER_STARTED)
    return jobs.trace("philly", standard="gpu", origin=0.0)


def _details(attempt: Object) -> tuple[float, float]:
    """GPUs and machines of an attempt."""
    details = [object_in(one) for one in list_in(attempt.get("detail"))]
    return float(sum(len(list_in(one.get("gpus"))) for one in details)), float(len(details))
