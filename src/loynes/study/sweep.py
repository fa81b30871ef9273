"""The same question at many rates, or of a model changed in many ways."""

from __future__ import annotations

import itertools
import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from loynes.errors import LoynesWarning, UnstableError, UsageError
from loynes.kernels.backends import backend as choose
from loynes.model import Model, load
from loynes.results.reading import read_result
from loynes.results.sweep import Point, Sweep
from loynes.study.evaluate import METHODS, evaluate
from loynes.study.options import check_common, check_discipline
from loynes.study.progress import Part, Progress, heard_by, silent
from loynes.study.runfolder import answered, finish, journal_of
from loynes.study.spread import spread_over

MOST_POINTS = 10_000
# What a run's folder says was asked.
RECORDED = ("loads", "rates", "vary", "method", "precision", "samples", "exceeds", "confidence", "replicas",
            "max_jobs", "seed", "backend")  # fmt: skip


def values_of(text: str, name: str) -> list[Any]:
    """Values as they are written: 0.1:0.9:0.2 (both ends included), or 1,2,5; what is no number stays text."""
    if not text.strip():
        raise UsageError(f"{name}: no values; write first:last:step or a,b,c")
    if text.count(":") == 2:
        try:
            first, last, step = (Decimal(part.strip()) for part in text.split(":"))
        except InvalidOperation:
            raise UsageError(f"{name} {text!r}: a range is written first:last:step, all numbers") from None
        if not (first.is_finite() and last.is_finite() and step.is_finite() and step > 0 and last >= first):
            raise UsageError(f"{name} {text!r}: the step must be above 0, and the last value not below the first")
        if (last - first) / step > MOST_POINTS:
            raise UsageError(f"{name} {text!r}: more than {MOST_POINTS} values")
        count = int((last - first) / step) + 1
        return [_number(str(first + k * step)) for k in range(count)]
    return [_number(part.strip()) for part in text.split(",")]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def sweep(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    loads: str | Iterable[float] | None = None,
    rates: str | Iterable[float] | None = None,
    vary: Mapping[str, str | Iterable[Any]] | None = None,
    method: str = "sandwich",
    precision: float = 0.02,
    samples: int | None = None,
    exceeds: Iterable[float] = (),
    confidence: float = 0.99,
    replicas: int | None = None,
    max_jobs: float | None = None,
    discipline: str | None = None,
    seed: int = 1,
    backend: str = "auto",
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> Sweep:
    """Waits and losses at many points, each as `evaluate` gives them, all with the same seed.

    `loads` are fractions of each point's own threshold, `rates` jobs per unit of time; one of them, or the model's own
    rate. `vary` changes the model: {"classes.T15.service.mean": [5, 10]}. All combinations are evaluated. Values are
    lists, or texts as on the command line ("0.1:0.95:0.05", "1,2,5"). The same seed at every point means the same jobs
    as far as models have them in common, so that differences between points are smaller than their intervals say.
    A point that is unstable has no result, and says why. With a `folder` every point is a run of its own in it.
    """
    began = time.perf_counter()
    if loads is not None and rates is not None:
        raise UsageError("give loads or rates, not both")
    lists = {name: values(name, given) for name, given in (("load", loads), ("rate", rates)) if given is not None}
    changed = {path: values(path, given) for path, given in (vary or {}).items()}
    if not lists and not changed:
        raise UsageError("nothing to sweep: give loads, rates or something to vary")
    for name, given in lists.items():
        if not all(isinstance(x, int | float) for x in given):
            raise UsageError(f"{name}s: must be numbers")
    loads, rates, vary = lists.get("load"), lists.get("rate"), changed
    exceeds = [float(x) for x in exceeds]
    options = {name: value for name, value in locals().items() if name in RECORDED}
    if method not in METHODS:
        raise UsageError(f"method {method!r}: must be one of {', '.join(METHODS)}")
    check_common(
        precision=precision, confidence=confidence, seed=seed, replicas=replicas, samples=samples, max_jobs=max_jobs
    )
    check_discipline(discipline)
    model = load(model).with_discipline(discipline)
    axes = changed | lists
    count = 1
    for given in axes.values():
        count *= len(given)
    if count > MOST_POINTS:
        raise UsageError(f"{count} points: at most {MOST_POINTS}")
    configs = [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
    # Every model is made before anything runs: a wrong path or value is refused at once.
    models = [_changed(model, {path: config[path] for path in changed}) for config in configs]
    if answered(folder, "sweep", model, options):
        found: Sweep = read_result(folder or "")
        return found
    ask: dict[str, Any] = {
        name: options[name]
        for name in (
            "method",
            "precision",
            "samples",
            "exceeds",
            "confidence",
            "replicas",
            "max_jobs",
            "seed",
            "backend",
        )
    }
    points: list[Point] = []
    with (
        spread_over(executor),
        heard_by(progress),
        journal_of(folder, "sweep", model, options) as journal,
        python_warnings.catch_warnings(),
    ):
        python_warnings.simplefilter("ignore", LoynesWarning)  # every point keeps its own
        choose(backend)
        for number, (config, one) in enumerate(zip(configs, models, strict=True)):
            asked = {name: config[name] for name in ("load", "rate") if name in config}
            place = None if journal is None else Path(journal.path).parent / "points" / f"{number:05d}"
            watch = _part_of(progress, number, len(configs), config)
            watch(0.0, "")
            try:
                points.append(Point(config, evaluate(one, **asked, **ask, folder=place, progress=watch)))
            except UnstableError as error:
                points.append(Point(config, None, str(error)))
    warnings = _warnings(points)
    result = Sweep(model, tuple(axes), tuple(points), confidence, seed, time.perf_counter() - began, warnings=warnings)
    finish(folder, result)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return result


def values(name: str, given: str | Iterable[Any]) -> list[Any]:
    """Values that are written as on the command line, or listed."""
    found = values_of(given, name) if isinstance(given, str) else [_plain(value) for value in given]
    if not found:
        raise UsageError(f"{name}: no values")
    return found


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _changed(model: Model, changes: Mapping[str, Any]) -> Model:
    texts = [f"{path}={value}" for path, value in changes.items()]
    return load(model, texts)


def _part_of(progress: Progress, number: int, count: int, config: Mapping[str, Any]) -> Progress:
    """A point's progress as a part of the whole."""
    where = ", ".join(f"{name.rsplit('.', 1)[-1]} {value}" for name, value in config.items())
    return Part(progress, number / count, 1 / count, f"{number + 1} of {count}: {where}")


def _warnings(points: list[Point]) -> tuple[str, ...]:
    """What points warn of, each text once, with how many say so; unstable ones first."""
    texts: dict[str, int] = {}
    for point in points:
        for text in point.result.warnings if point.result else ("unstable",):
            head = text.split(" (")[0] if text != "unstable" else text
            texts[head] = texts.get(head, 0) + 1
    unstable = texts.pop("unstable", 0)
    said = (f"{unstable} of {len(points)} points are unstable: no result there",) if unstable else ()
    return said + tuple(f"{count} of {len(points)} points: {text}" for text, count in texts.items())
