"""Two models on the same jobs: what changes, and by how much."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loynes.errors import LoynesWarning, UsageError
from loynes.kernels.backends import backend as choose
from loynes.model import Model, load
from loynes.results.comparison import Comparison
from loynes.estimators.pairs import Seen, difference, system_difference
from loynes.results.reading import read_result
from loynes.study.evaluate import ran
from loynes.study.options import check_common, check_discipline
from loynes.study.progress import Part, Progress, heard_by, silent
from loynes.study.runfolder import answered, finish, recording
from loynes.study.spread import spread_over

METHODS = ("sandwich", "forward")
# Where the shares of work begin: two pilots, then the two runs.
PARTS = (0.0, 0.05, 0.1, 0.55, 1.0)
# A job that leaves no trace: it starts no later than any job behind it could, and is gone at once.
NOTHING = {"need": 1, "service": {"law": "deterministic", "value": 1e-12}}
# What a run's folder says was asked.
RECORDED = ("rate", "load_a", "method", "precision", "samples", "confidence", "replicas", "burn_in", "max_jobs", "seed",
            "backend", "without", "second", "names")  # fmt: skip


def compare(
    a: str | Path | Mapping[str, Any] | Model,
    b: str | Path | Mapping[str, Any] | Model | None = None,
    *,
    change: Iterable[str] = (),
    without: Iterable[str] = (),
    rate: float | None = None,
    load: float | None = None,
    method: str = "sandwich",
    precision: float = 0.01,
    samples: int | None = None,
    confidence: float = 0.99,
    replicas: int | None = None,
    burn_in: int | None = None,
    max_jobs: float | None = None,
    discipline: str | None = None,
    seed: int = 1,
    backend: str = "auto",
    names: tuple[str, str] | None = None,
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> Comparison:
    """Waits of two models on the same jobs, and their differences, each with its interval.

    The second model is `b`, or the first with `change` applied (["classes.T15.service.mean=5"]), or `without` some
    classes: their jobs are not there, all others arrive as before, so the difference is what these classes cost the
    others. Both run at the same rate: `rate`, `load` of the first model's threshold, or each model's own.
    `precision` is that of the first model's mean wait; the difference is usually known far better.
    """
    began = time.perf_counter()
    check_common(
        precision=precision, confidence=confidence, seed=seed, replicas=replicas, samples=samples, burn_in=burn_in,
        max_jobs=max_jobs,
    )  # fmt: skip
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}: only chains can be paired")
    check_discipline(discipline)
    first = _load(a).with_discipline(discipline)
    second, removed, label = _second(first, b, list(change), list(without))
    second = second.with_discipline(discipline)
    shared = [c.label for c in first.classes if c.label in {d.label for d in second.classes} and c.label not in removed]
    if not shared:
        raise UsageError(f"{first.label} and {label}: have no class of the same name")
    names = names or (first.label, label)
    load_a, without = load, list(without)
    options = {name: value for name, value in locals().items() if name in RECORDED} | {"second": second.to_dict()}
    if answered(folder, "compare", first, options):
        known: Comparison = read_result(folder or "")
        return known
    ask: dict[str, Any] = {
        "method": method, "precision": precision, "exceeds": (), "confidence": confidence, "confirmations": None,
        "initial_length": None, "delta": None, "max_jobs": max_jobs, "seed": seed, "backend": backend, "began": began,
    }  # fmt: skip
    with spread_over(executor), heard_by(progress), recording(folder, "compare", first, options):
        choose(backend)

        def run(model: Model, part: int, samples: int | None, replicas: int | None, burn_in: int | None) -> Any:
            own: dict[str, Any] = {"rate": rate, "load": load}
            if model is second:
                own = {"rate": _rate(second, rates, rate, load_a), "load": None}
            size: dict[str, Any] = {"samples": samples, "replicas": replicas, "burn_in": burn_in}
            found = ran(
                model, **own, **ask, **size, progress=Part(progress, PARTS[part], PARTS[part + 1] - PARTS[part])
            )
            rates.append(found[0].rate)
            return found

        rates: list[float] = []
        if burn_in is None:
            # Both burn in for as long as the slower of the two needs: they observe the same jobs, and replicas pair.
            pilots = [run(model, part, 2, replicas, None)[0] for part, model in enumerate((first, second))]
            burn_in = max(pilot.details["burn_in"] for pilot in pilots)
            replicas = min(pilot.replicas for pilot in pilots)
        one = run(first, 2, samples, replicas, burn_in)
        two = run(second, 3, one[0].details["observed_arrivals"], one[0].replicas, burn_in)
    evaluations = [found for found, _, _ in (one, two)]
    seen = [Seen(found.model, found.rate, way.needs, done.tallies) for found, way, done in (one, two)]
    at = [{c.label: i for i, c in enumerate(model.classes)} for model in (first, second)]

    def of(chosen: list[str]) -> Any:
        positions = ([at[0][name] for name in chosen], [at[1][name] for name in chosen])
        return difference(seen[0], seen[1], positions, confidence)

    result = Comparison(
        names=names,
        a=evaluations[0],
        b=evaluations[1],
        overall=of(shared),
        classes={name: of([name]) for name in shared},
        system=system_difference(seen[0], seen[1], _there(first, ()), _there(second, removed), confidence),
        confidence=confidence,
        seed=seed,
        seconds=time.perf_counter() - began,
        warnings=tuple(f"{name}: {text}" for name, r in zip(names, evaluations, strict=True) for text in r.warnings),
    )
    finish(folder, result)
    for text in result.warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return result


def _load(source: Any) -> Model:
    return load(source)


def _second(first: Model, b: Any, change: list[str], without: list[str]) -> tuple[Model, tuple[str, ...], str]:
    """The second model, the classes that are not really there, and what to call it."""
    if (b is not None) + bool(change or without) != 1:
        raise UsageError("what to compare with? Give a second model, or changes (--change PATH=VALUE, --without CLASS)")
    if b is not None:
        second = _load(b)
        return second, (), second.label if second.label != first.label else f"{second.label} (second)"
    there = [c.label for c in first.classes]
    for name in without:
        if name not in there:
            raise UsageError(f"without {name!r}: there is no such class; there are {', '.join(there)}")
    if len(set(without)) == len(there):
        raise UsageError("without: no class would be left")
    second = load(first, change)
    label = ", ".join([*change, *(f"without {name}" for name in without)])
    if not without:
        return second, (), label
    if second.resources or any(c.specific for c in second.classes):
        raise UsageError("without: is there for clusters of identical servers only; compare with a second model file")
    document = second.to_dict()
    for job in document["classes"]:
        if job["name"] in without:
            job |= NOTHING
    return load(document), tuple(without), label


def _rate(second: Model, rates: list[float], rate: float | None, load_a: float | None) -> float:
    """The first model's, unless no rate was asked for and the second has one of its own."""
    return second.rate if rate is None and load_a is None and second.rate is not None else rates[0]


def _there(model: Model, removed: tuple[str, ...]) -> list[int]:
    return [position for position, c in enumerate(model.classes) if c.label not in removed]
