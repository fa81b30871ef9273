"""Times and rates as people read them: 19.6 h, 36 jobs/h; files keep the numbers in the model's own unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loynes.estimate import Estimate
from loynes.model.units import rate_shown_in, shown_in

# What a unit of time can be part of.
KINDS = ("time", "time²", "jobs/time", "1/time")
# How tables and pages call a unit that nobody named.
UNNAMED = "time units"
# The unit of all times in job logs.
LOG_UNIT = "seconds"


@dataclass(frozen=True)
class Quantity:
    """A cell of a table: a number or an estimate in a unit of time, shown in the unit that reads best."""

    value: Estimate | float
    kind: str
    unit: str

    @property
    def shown(self) -> tuple[Estimate | float, str]:
        """The value in the unit it is shown in, and that unit's name."""
        factor, name = scale_of(self.value, self.kind, self.unit)
        scaled = self.value.scaled(factor) if isinstance(self.value, Estimate) else self.value * factor
        return scaled, name

    def __str__(self) -> str:
        scaled, name = self.shown
        exact = not isinstance(scaled, Estimate) or scaled.low == scaled.high
        text = number(float(scaled)) if exact else str(scaled)
        return text if text == "0" or not math.isfinite(float(scaled)) else f"{text} {name}"


def scale_of(value: Estimate | float, kind: str, unit: str) -> tuple[float, str]:
    """By what a number is multiplied to be read best, and the name of the unit it is then in."""
    size = float(value)
    if isinstance(value, Estimate) and math.isfinite(value.low) and math.isfinite(value.high):
        size = max(abs(size), value.half_width)
    match kind:
        case "jobs/time":
            factor, name = rate_shown_in(size, unit)
            return factor, f"jobs/{name}"
        case "1/time":  # a rate of decay: in the model's own unit, since it is compared with nothing else
            return 1.0, f"per {unit.removesuffix('s')}"
        case "time²":
            factor, name = shown_in(math.sqrt(abs(size)) if math.isfinite(size) else size, unit)
            return factor * factor, f"{name}²"
    return shown_in(size, unit)


def number(value: float) -> str:
    """Four digits: what is exact has more in the files."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    return f"{float(f'{value:.4g}'):,.10g}" if 1e-4 <= abs(value) < 1e7 or value == 0 else f"{value:.4g}"


def quantity(value: object, kind: str, unit: str | None) -> object:
    """The cell of a value: with its unit where there is one and the value has that kind, else as it is."""
    if unit is None or kind not in KINDS or isinstance(value, bool):
        return value
    known: Estimate | float | None = float(value) if isinstance(value, int | float) else None
    known = value if isinstance(value, Estimate) else known
    return value if known is None else Quantity(known, kind, unit)


def time_text(value: float, unit: str | None, digits: int = 4) -> str:
    """A time in a sentence, with its unit where there is one."""
    if unit is None or not math.isfinite(value):
        return f"{value:.{digits}g}"
    factor, name = shown_in(value, unit)
    return f"{value * factor:.{digits}g} {name}"


def rate_text(value: float, unit: str | None, digits: int = 6) -> str:
    """A rate in a sentence: 1.3575, or 30 per h where there is a unit."""
    if unit is None or not math.isfinite(value):
        return f"{value:.{digits}g}"
    factor, name = rate_shown_in(value, unit)
    return f"{value * factor:.{digits}g} per {name}"
