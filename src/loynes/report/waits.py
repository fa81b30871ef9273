"""Sentences and tiles about waits and servers, for pages of several kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from loynes.estimate import Estimate
from loynes.estimators.measures import System, Waits
from loynes.model.cluster import Model
from loynes.report.content import Tile
from loynes.report.words import about, between, count, duration, listed, percent, rate_scale
from loynes.results.base import ORDERS, Result
from loynes.results.charts.measures import HasWaits, kinds_of, units_of

UNNAMED = "Times are in the model's own unit, to which it gives no name."
Write = Callable[[float], str]


def unit_note(result: Result) -> list[str]:
    """That times have no unit, where that is so."""
    return [UNNAMED] if result.time_unit is None else []


def cluster_facts(model: Model, policy: str = "fcfs") -> list[str]:
    """Servers, classes, and the discipline, or the policy that takes its place."""
    order = ORDERS[model.order] if policy == "fcfs" else f"policy {policy}"
    sized = any(unit != 1 for unit in model.unit_sizes)
    return [model.size if sized else _size(units_of(model)), count(len(model.classes), "class", "classes"), order]


def _size(units: Mapping[str, float]) -> str:
    return ", ".join(f"{number:,.10g} {kind}" for kind, number in units.items())


def typical(waits: Waits, how: Write = about) -> str:
    """Half wait less than this, one in a hundred more than that."""
    half, most = waits.wait.p50.estimate, waits.wait.p99.estimate
    parts = []
    if math.isfinite(half):
        none = "at least half of all jobs do not wait at all"
        parts.append(none if half <= 0 else f"half of all jobs wait less than {how(half)}")
    if 0 < most < math.inf:
        parts.append(f"one in a hundred more than {how(most)}")
    return "; ".join(parts) or "there is no finite wait to report"


def extremes(classes: Mapping[str, Waits], how: Write = about) -> list[str]:
    """A sentence: which class waits longest, and which least."""
    means = {name: waits.wait.mean.estimate for name, waits in classes.items()}
    finite = {name: mean for name, mean in means.items() if math.isfinite(mean)}
    if len(finite) < 2:
        return []
    longest, least = (pick(finite, key=lambda name: finite[name]) for pick in (max, min))
    return [f"{longest} waits longest, {how(finite[longest])} on average; {least} least, {how(finite[least])}."]


def lost(losses: Mapping[str, Estimate], units: Mapping[str, float]) -> str:
    """1.65 of 20 servers; nothing where no loss is finite."""
    parts = [
        f"{about(loss.estimate)} of {units[kind]:,.10g} {kind}"
        for kind, loss in losses.items()
        if math.isfinite(loss.estimate)
    ]
    return listed(parts) if parts else ""


def losses(system: System, units: Mapping[str, float]) -> list[str]:
    """A sentence: how many servers blocking costs."""
    text = lost({kind: one.hol_loss for kind, one in kinds_of(system).items()}, units)
    return [f"{text} are lost to head-of-line blocking at any time."] if text else []


def tile(label: str, value: Estimate, confidence: float | None, unit: str = "", how: Write = about) -> list[Tile]:
    """A figure and its interval; nothing where it is not finite."""
    if not math.isfinite(value.estimate):
        return []
    ends = between(value, confidence, how).strip(" ()")
    return [Tile(label, how(value.estimate), " · ".join(text for text in (unit, ends) if text))]


def rate_tile(label: str, rate: Estimate | float, time_unit: str | None, digits: int = 4, detail: str = "") -> Tile:
    """A rate, and what it is a number of."""
    factor, name = rate_scale(float(rate), time_unit)
    return Tile(label, about(float(rate) * factor, digits), " · ".join(filter(None, (name, detail))))


def wait_tiles(result: HasWaits, system: System, confidence: float | None, how: Write = about) -> list[Tile]:
    """Mean and 99th percentile of the wait, and the loss of the servers that are short."""
    scarce = next((kind for kind, one in system.resources.items() if one.hol_loss == system.hol_loss), "servers")
    wait = result.overall.wait
    return [
        *tile("mean wait", wait.mean, confidence, how=how),
        *tile("99 in 100 wait at most", wait.p99, confidence, how=how),
        *tile("lost to blocking", system.hol_loss, confidence, f"{scarce} on average"),
    ]


def intervals(confidence: float, replicas: int | None = None) -> str:
    """A sentence: how sure intervals are, and how many replicas they come from."""
    base = "" if replicas is None else f" They come from {count(replicas, 'independent replica')}."
    return f"Each interval holds the true value with {percent(confidence, 7)} confidence.{base}"


def how_of(
    result: Result,
    *first: tuple[str, str],
    method: str = "",
    backend: str = "",
    confidence: float | None = None,
    jobs: int | None = None,
    model: Model | None = None,
) -> list[tuple[str, str]]:
    """Term and value: what the numbers depend on, and what they cost."""
    terms = {
        "method": method,
        "backend": backend,
        "seed": "" if result.seed is None else str(result.seed),
        "confidence": "" if confidence is None else percent(confidence, 7),
        "jobs computed": "" if jobs is None else about(jobs),
        "time taken": duration(result.seconds) if math.isfinite(result.seconds) else "",
        "model hash": "" if model is None else model.hash,
        "loynes": result.version,
    }
    return [*first, *((term, value) for term, value in terms.items() if value)]
