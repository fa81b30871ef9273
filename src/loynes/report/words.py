"""Numbers in words: as many digits as a sentence can bear."""

from __future__ import annotations

import math
from collections.abc import Callable

from loynes.estimate import Estimate
from loynes.model.units import rate_shown_in, shown_in
from loynes.results.table import shown

NONE = "–"


def about(value: float, digits: int = 3) -> str:
    """Three digits, with commas; millions and billions by name."""
    if not math.isfinite(value):
        return NONE
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(value) >= size:
            return f"{value / size:.{digits}g} {name}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.10g}".replace("-", "−") if abs(rounded) >= 1e-4 or rounded == 0 else f"{rounded:g}"


def times(unit: str | None) -> Callable[[float], str]:
    """What writes times that are in a unit: with the one they read best in; as plain numbers where none is named."""
    if unit is None:
        return about

    def written(value: float) -> str:
        factor, name = shown_in(value, unit)
        return f"{about(value * factor)} {name}" if math.isfinite(value) else NONE

    return written


def rate_scale(value: float, unit: str | None) -> tuple[float, str]:
    """By what a rate is multiplied to be read best, and what it is then a number of."""
    if unit is None or not math.isfinite(value):
        return 1.0, "jobs a unit of time"
    factor, name = rate_shown_in(value, unit)
    return factor, f"jobs per {name}"


def rates(unit: str | None, digits: int = 3) -> Callable[[float], str]:
    """The same of rates, in jobs."""

    def written(value: float) -> str:
        factor, name = rate_scale(value, unit)
        return f"{about(value * factor, digits)} {name}"

    return written


def percent(share: float, digits: int = 3) -> str:
    return f"{100 * share:.{digits}g}%" if math.isfinite(share) else NONE


def count(value: float, one: str, many: str | None = None) -> str:
    """1 server, 20 servers."""
    return f"{value:,.10g} {one if value == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Seconds in the unit that people would use."""
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if abs(seconds) >= 2 * size:
            return f"{about(seconds / size)} {name}"
    return f"{about(seconds)} seconds"


def cell(value: Estimate) -> str:
    """An estimate in a table; a dash where it is not finite."""
    return minus(shown(value)) if math.isfinite(value.estimate) else NONE


def minus(text: str) -> str:
    """The text of a number with a minus sign before it in place of a hyphen."""
    return text.replace("-", "−") if text.startswith("-") else text


def small(chance: float) -> str:
    """An upper bound of a probability."""
    return f"{chance:.2g}" if chance < 1 else "1"


def sentence(text: str) -> str:
    """With a capital letter and one full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def between(value: Estimate, confidence: float | None, how: Callable[[float], str] = about) -> str:
    """The interval in brackets, nothing where the value is exact."""
    if value.low == value.high:
        return ""
    sure = "" if confidence is None else f"{percent(confidence, 7)}: "
    match math.isfinite(value.low), math.isfinite(value.high):
        case True, True:
            low, high = _apart(value.low, value.high) if how is about else (how(value.low), how(value.high))
            return f" ({sure}{low} to {high})"
        case True, False:
            return f" ({sure}at least {how(value.low)})"
        case False, True:
            return f" ({sure}at most {how(value.high)})"
    return " (no interval)"


def _apart(low: float, high: float) -> tuple[str, str]:
    """Both ends with as many digits as tell them apart."""
    for digits in (3, 4, 5, 6):
        ends = [f"{float(f'{x:.{digits}g}'):,.10g}" for x in (low, high)]
        apart = float(f"{high:.{digits}g}") - float(f"{low:.{digits}g}")
        if abs(apart - (high - low)) <= 0.1 * (high - low):
            break
    small = max(abs(low), abs(high)) < 1e-4 or max(abs(low), abs(high)) >= 1e6
    texts = [f"{low:.4g}", f"{high:.4g}"] if small else ends
    return texts[0].replace("-", "−"), texts[1].replace("-", "−")


def step(before: float, after: float, change: float) -> tuple[str, str]:
    """A change, and from what to what, all to the same decimal place, so that they add up as they are shown.

    The change has three digits. Where it is not the difference of the two, but for rounding (they may be known from
    other averages than the change itself), the two are left out.
    """
    if not all(map(math.isfinite, (before, after, change))) or change == 0.0:
        sign = "+" if change > 0 else ""
        return f"{sign}{about(change)}", f"{about(before)} → {about(after)}"
    places = min(max(2 - math.floor(math.log10(abs(change))), 0), 9)
    ends = [round(x, places) for x in (before, after)]
    shown = round(ends[1] - ends[0], places)
    if abs(shown - change) > 1.01 * 10.0**-places:
        return f"{'+' if change > 0 else ''}{about(change)}", ""
    texts = [f"{x:,.{places}f}".replace("-", "−") for x in (shown, *ends)]
    return f"{'+' if shown > 0 else ''}{texts[0]}", f"{texts[1]} → {texts[2]}"


def listed(names: list[str], most: int = 4) -> str:
    """a, b and c; the rest counted."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} others"]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
