"""A result of every kind, computed by the functions people call: small models, few replicas, seconds in all."""

from __future__ import annotations

import csv
import dataclasses
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import loynes
from loynes.errors import LoynesWarning
from loynes.estimate import Estimate
from loynes.model import Model
from loynes.results.records.policies import Limit
from trace_files import drawn, swf_text

NAMES = ("T1", "T2", "T5")
KINDS = (
    "evaluation", "threshold", "samples", "sweep", "plan", "comparison", "replay", "simulation", "policies", "exact",
    "fitted", "check", "certificate", "sensitivity", "log", "log plan", "log sweep", "log comparison",
    "log sensitivity", "advice", "log advice", "partition", "replay cases", "eta", "backtest",
)  # fmt: skip
FEW = {"samples": 2000, "replicas": 32}


def model(names: tuple[str, ...] = NAMES, servers: int = 6, **more: Any) -> Model:
    """Exponential services on a few servers; the last class needs five of them."""
    share = 1.0 / len(names)
    needs = [1, 2, 5, *([1] * len(names))]
    classes = [
        {"name": name, "need": need, "probability": share, "service": {"law": "exponential", "mean": 1.0}}
        for name, need in zip(names, needs, strict=False)
    ]
    return Model.model_validate({"name": "three", "servers": servers, "classes": classes} | more)


def trace(folder: Path) -> Path:
    path = folder / "log.swf"
    path.write_bytes(swf_text(drawn(400)))
    return path


@cache
def result_of(kind: str, names: tuple[str, ...] = NAMES) -> Any:
    """The result of one kind, made once; a folder for its files is made where it needs one."""
    return MAKERS[kind](model(names))


def _sample(given: Model) -> Any:
    return loynes.sample(given, Path(tempfile.mkdtemp()) / "samples.csv", load=0.5, samples=200)


def _simulation(given: Model) -> Any:
    burst = [{"from": 5.0, "until": 10.0, "rate_factor": 2.0, "name": f"burst of {given.classes[0].label}"}]
    there = Model.model_validate(given.to_dict() | {"scenario": burst})
    return loynes.simulate(there, policy="easy", rate=1.2, at=[2.0, 8.0, 20.0], replicas=64)


def _sweep(given: Model) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoynesWarning)  # one point is unstable
        return loynes.sweep(given, loads=[0.3, 0.6, 0.8, 1.1], **FEW)


def _comparison(given: Model) -> Any:
    return loynes.compare(given, without=[given.classes[-1].label], load=0.6, names=("old", "new"), **FEW)


def _plan(given: Model) -> Any:
    return loynes.plan(given, slo=["p95(wait) <= 6", "no_wait >= 0.3"], rate=1.2)


def _policies(given: Model) -> Any:
    """What a policy can carry takes minutes to search for: the records of it are made by hand."""
    there = loynes.compare_policies(
        given, ["fcfs", "easy"], loads=[0.5, 0.9, 1.05], jobs=400, replicas=16, limits=False
    )
    first = there.points[0].rate / there.points[0].load
    limits = {
        "fcfs": Limit(Estimate.exact(first), "exact: saturated chain"),
        "easy": Limit(Estimate(1.2 * first, 1.15 * first, 1.25 * first), "estimate: saturated runs"),
    }
    return changed(there, limits=limits)


def log_of(given: Model) -> Path:
    """Ten days of jobs, whose users are named as the model's classes."""
    rng = np.random.default_rng(1)
    path = Path(tempfile.mkdtemp()) / "log.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["submit", "need", "service", "user"])
        for submit in np.sort(rng.uniform(0.0, 10 * 86400.0, 300)):
            number = int(rng.integers(len(given.classes)))
            user = f"{number} {given.classes[number].label}"  # in the model's order, whatever the names
            rows.writerow([int(submit), 1 + number, int(rng.exponential(4000.0)) + 1, user])
    return path


def _eta(given: Model) -> Any:
    """Jobs that are named as the model's classes, with one that is left out and one that might be added."""
    path = Path(tempfile.mkdtemp()) / "now.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "state", "need", "elapsed", "limit"])
        rows.writerow(["first", "R", 4, 600, 3600])
        rows.writerows([one.label, "PD", 2 + 2 * k, "", 7200] for k, one in enumerate(given.classes))
        rows.writerow(["large", "PD", 40, "", 7200])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoynesWarning)  # there is no history
        return loynes.eta(path, servers=6, draws=40, what_if=("need=1 limit=1h",))


def _backtest(given: Model) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoynesWarning)  # the log has no limits
        there = loynes.eta_backtest(backtest=str(log_of(given)), servers=4, instants=10, draws=20)
    return changed(there, policy=given.classes[0].label)


LOG: dict[str, Any] = {"servers": 6, "classes": "user", "resamples": 8}

MAKERS: dict[str, Callable[[Model], Any]] = {
    "evaluation": lambda given: loynes.evaluate(given, load=0.7, exceeds=[2.0], **FEW),
    "threshold": lambda given: loynes.stability(given, precision=0.05),
    "samples": _sample,
    "sweep": _sweep,
    "plan": _plan,
    "comparison": _comparison,
    "replay": lambda given: loynes.replay(trace(Path(tempfile.mkdtemp()))),
    "simulation": _simulation,
    "policies": _policies,
    "exact": lambda given: loynes.exact(given, load=0.7, exceeds=[2.0]),
    "fitted": lambda given: loynes.fit(
        trace(Path(tempfile.mkdtemp())), classes=3, law="exponential", arrivals="poisson"
    ),
    "check": lambda given: loynes.check(given),
    "certificate": lambda given: loynes.certify(given, load=0.7),
    "sensitivity": lambda given: loynes.sensitivity(given, load=0.7, **FEW),
    "log": lambda given: loynes.evaluate(log_of(given), policy="easy", scale=1.1, exceeds=[60.0], **LOG),
    "log plan": lambda given: loynes.plan(log_of(given), slo="mean(wait) <= 1800", probability=0.6, **LOG),
    "log sweep": lambda given: loynes.sweep(log_of(given), vary={"servers": [6, 8, 10]}, **LOG),
    "log sensitivity": lambda given: loynes.sensitivity(log_of(given), **LOG),
    "advice": lambda given: loynes.advise(given, rate=1.2, policies=("fcfs", "easy"), jobs=400, replicas=8),
    "log advice": lambda given: loynes.advise(log_of(given), policies=("fcfs", "easy"), **LOG),
    "partition": lambda given: loynes.plan_partition(
        Model.model_validate(given.to_dict() | {"servers": 40}), rate=8.0, jobs=400, replicas=8
    ),
    "replay cases": lambda given: loynes.replay_cases(
        log_of(given), policies=("fcfs", "easy"), servers=6, classes="user"
    ),
    "eta": _eta,
    "backtest": _backtest,
    "log comparison": lambda given: loynes.compare(log_of(given), run_times=0.8, **LOG),
}


def mapped(record: Any, change: Callable[[Estimate], Estimate]) -> Any:
    """A record in which every estimate, however deep, is changed."""
    if isinstance(record, Estimate):
        return change(record)
    if isinstance(record, Model):
        return record
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return dataclasses.replace(record, **{k: mapped(v, change) for k, v in vars(record).items()})
    if isinstance(record, dict):
        return {key: mapped(value, change) for key, value in record.items()}
    return type(record)(mapped(value, change) for value in record) if isinstance(record, list | tuple) else record


def changed(record: Any, **fields: Any) -> Any:
    """A record with other values in some fields."""
    return dataclasses.replace(record, **fields)
