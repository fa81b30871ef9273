"""Numbers out of a result's plain data; what is missing, null or not finite is None."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loynes.estimate import Estimate

Data = dict[str, Any]
# An estimate and its ends as a chart takes them; an end that is not finite is null.
Triple = list[float | None]

ALL = "all jobs"


@dataclass(frozen=True)
class Measure:
    """One column of numbers about a wait: what it is called, and where it is in the data of a class."""

    label: str
    path: tuple[str, ...]


TIMES = (
    Measure("mean wait", ("wait", "mean")),
    Measure("median wait", ("wait", "p50")),
    Measure("p95 of the wait", ("wait", "p95")),
    Measure("p99 of the wait", ("wait", "p99")),
)
MEASURES = (
    *TIMES,
    Measure("mean response", ("response", "mean")),
    Measure("p95 of the response", ("response", "p95")),
    Measure("p99 of the response", ("response", "p99")),
    Measure("share that does not wait", ("no_wait",)),
)
SYSTEM = (
    Measure("HOL loss (servers)", ("hol_loss",)),
    Measure("utilization", ("utilization",)),
    Measure("jobs waiting", ("jobs_waiting",)),
    Measure("jobs in system", ("jobs_in_system",)),
)


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def at(data: Any, *path: str) -> Any:
    """What lies at a path of keys, None where it ends early."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def leaf(data: Any, *path: str) -> Estimate | None:
    """The estimate at a path; None without a finite one. An end that is missing lies at infinity."""
    found = at(data, *path)
    if not isinstance(found, dict):
        value = number(found)
        return None if value is None else Estimate.exact(value)
    value, low, high = (number(found.get(name)) for name in ("estimate", "low", "high"))
    if value is None:
        return None
    return Estimate(value, -math.inf if low is None else low, math.inf if high is None else high)


def triple(value: Estimate | None) -> Triple | None:
    return None if value is None else [number(x) for x in (value.estimate, value.low, value.high)]


def classes_of(data: Any) -> dict[str, Any]:
    """The waits of every class by its name."""
    found = at(data, "classes")
    return found if isinstance(found, dict) else {}


def everyone(data: Data) -> Iterator[tuple[str, Any]]:
    """All jobs together, then every class: name and waits."""
    yield ALL, data.get("overall")
    yield from classes_of(data).items()


def exceeds_of(data: Data) -> tuple[Measure, ...]:
    """The P(wait > x) that were asked for."""
    asked = at(data, "overall", "exceeds")
    return tuple(Measure(f"wait > {x}", ("exceeds", x)) for x in asked) if isinstance(asked, dict) else ()


def units_of(data: Data) -> dict[str, float]:
    """How much the model has of every resource; `servers` where there is one kind."""
    definition = at(data, "model", "definition")
    kinds = at(definition, "resources") or {"servers": at(definition, "servers") or at(data, "model", "servers")}
    found = {str(kind): number(units) for kind, units in kinds.items()} if isinstance(kinds, dict) else {}
    return {kind: units for kind, units in found.items() if units}


def model_name(data: Any) -> str:
    return str(at(data, "model", "name") or "model")


def texts(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else []
