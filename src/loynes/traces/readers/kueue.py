"""Workloads of Kueue, the job queue of Kubernetes: `kubectl get workloads -A -o json`, or one of them a line."""

from __future__ import annotations

import math

import numpy as np

from loynes.traces.jobs import NEVER_STARTED, UNFINISHED, Jobs
from loynes.traces.ledger import Ledger
from loynes.traces.objects import Object, list_in, number_in, object_in, objects_of, text_in
from loynes.traces.readers.register import Asked, reader
from loynes.traces.trace import Trace

# Factors of Kubernetes quantities; no letter is 1.
_FACTORS = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "Ki": 2.0**10, "Mi": 2.0**20,
            "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}  # fmt: skip


@reader(
    "kueue",
    summary="Kueue on Kubernetes: `kubectl get workloads -A -o json`",
    reference="[Workload](https://kueue.sigs.k8s.io/docs/concepts/workload/)",
    units="cpus (thousandths, cpu_milli, where some are shared); gpus, pods, mem",
    recognises=lambda beginning: beginning[:1] == b"{" and b"kueue.x-k8s.io" in beginning,
)
def read_kueue(data: bytes, ledger: Ledger, asked: Asked) -> Trace:
    damaged: list[tuple[int, str, str]] = []
    place, needs = list[int](), list[dict[str, float]]()
    words: dict[str, list[str]] = {name: [] for name in ("submit", "start", "end", "queue", "user", "group", "id")}
    for where, workload in objects_of(data, ledger, damaged):
        meta, spec = object_in(workload.get("metadata")), object_in(workload.get("spec"))
        status = object_in(workload.get("status"))
        if "creationTimestamp" not in meta:
            damaged.append((where, "no metadata.creationTimestamp", "a Workload"))
            continue
        when = conditions(status)
        place.append(where)
        needs.append(needs_of(spec, status))
        admitted = when.get("Admitted") or when.get("QuotaReserved", "")
        values = (meta["creationTimestamp"], admitted, when.get("Finished", ""), spec.get("queueName"),
                  object_in(meta.get("labels")).get("user"), meta.get("namespace"), meta.get("uid"))  # fmt: skip
        for name, value in zip(words, values, strict=True):
            words[name].append(text_in(value))
    jobs = Jobs(ledger, asked, place, len(place) + len(damaged), damaged)
    for name in ("submit", "start", "end"):
        jobs.put(name, words[name])
    jobs.labels = {name: words[name] for name in ("queue", "group", "user") if any(words[name])}
    kinds = dict.fromkeys(kind for one in needs for kind in one)
    for kind in ("pods", "cpu_milli", "gpu", "mem", *kinds):
        if kind in kinds and kind not in jobs.demand:
            jobs.demand[kind] = np.array([one.get(kind, 0.0) for one in needs])
    milli = jobs.demand.get("cpu_milli")
    if milli is not None and not np.any(milli % 1000):
        jobs.demand = {"cpu" if kind == "cpu_milli" else kind: units for kind, units in jobs.demand.items()}
        jobs.demand["cpu"] = milli / 1000
    jobs.derive()
    jobs.drop(np.isnan(jobs.value("start")), NEVER_STARTED)
    jobs.drop(np.isnan(jobs.value("end")), UNFINISHED)
    if all(words["id"]):
        jobs.once_each(words["id"])
        jobs.ids = words["id"]
    return jobs.trace("kueue", standard="cpu" if "cpu" in jobs.demand else "cpu_milli", origin=0.0)


def conditions(status: Object) -> dict[str, str]:
    """When each condition that holds came to hold."""
    found = {}
    for one in map(object_in, list_in(status.get("conditions"))):
        if one.get("status") == "True":
            found[text_in(one.get("type"))] = text_in(one.get("lastTransitionTime"))
    return found


def needs_of(spec: Object, status: Object) -> dict[str, float]:
    """What was assigned to all pods, or else what they ask for."""
    total: dict[str, float] = {}
    assigned = list_in(object_in(status.get("admission")).get("podSetAssignments"))
    sets = [object_in(one) for one in assigned or list_in(spec.get("podSets"))]
    for one in sets:
        pods = number_in(one.get("count", 1))
        pods = pods if pods >= 0 else 1.0
        _add(total, {"pods": pods}, 1.0)
        if assigned:
            _add(total, _quantities(object_in(one.get("resourceUsage"))), 1.0)
            continue
        pod = object_in(object_in(one.get("template")).get("spec"))
        for container in map(object_in, list_in(pod.get("containers"))):
            resources = object_in(container.get("resources"))
            asked = object_in(resources.get("limits")) | object_in(resources.get("requests"))
            _add(total, _quantities(asked), pods)
    return total


def _add(total: dict[str, float], more: dict[str, float], times: float) -> None:
    for kind, units in more.items():
        total[kind] = total.get(kind, 0.0) + times * units


def _quantities(resources: Object) -> dict[str, float]:
    """cpu in thousandths, memory in MiB; nvidia.com/gpu and the like are gpu, all else has its own name."""
    found: dict[str, float] = {}
    for name, text in resources.items():
        value = _quantity(text_in(text))
        if not 0 <= value < 1e18:
            continue
        if name == "cpu":
            found["cpu_milli"] = math.ceil(round(1000 * value, 6))
        elif name == "memory":
            found["mem"] = value / 2.0**20
        elif name.endswith("/gpu"):
            found["gpu"] = found.get("gpu", 0.0) + value
        elif name != "pods":
            found[name.lower()] = value
    return found


def _quantity(text: str) -> float:
    for letters, factor in _FACTORS.items():
        if text.endswith(letters) and (len(letters) == 2 or not text.endswith("i")):
            return factor * number_in(text.removesuffix(letters))
    return number_in(text)
