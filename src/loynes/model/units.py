"""Times as people write and read them: "4 min", "1h 30m", "30 per hour" in; 19.6 h out.

A model may say in which unit its times are (`time_unit = "hours"`). Times in texts are then converted to that unit, and
answers are shown in the unit that reads best. All arithmetic is exact until the last rounding, so that a time in the
model's own unit is the number that was written.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

# Unit -> seconds. A year is 365 days, as in 8,760 hours; months are left out, since none is like the other.
SECONDS = {
    "milliseconds": Fraction(1, 1000),
    "seconds": Fraction(1),
    "minutes": Fraction(60),
    "hours": Fraction(3600),
    "days": Fraction(86400),
    "weeks": Fraction(7 * 86400),
    "years": Fraction(365 * 86400),
}
# Other names of the units; "m" is a minute, as in every scheduler's time limits.
NAMES = {name: name for name in SECONDS} | {name[:-1]: name for name in SECONDS} | {
    "ms": "milliseconds", "millis": "milliseconds", "msec": "milliseconds", "msecs": "milliseconds",
    "s": "seconds", "sec": "seconds", "secs": "seconds",
    "m": "minutes", "min": "minutes", "mins": "minutes",
    "h": "hours", "hr": "hours", "hrs": "hours",
    "d": "days", "w": "weeks", "wk": "weeks", "wks": "weeks", "y": "years", "yr": "years", "yrs": "years",
}  # fmt: skip
# How units are shown after a number, and from how many of them on they are used.
SHOWN = (("years", "years", 2), ("days", "days", 2), ("hours", "h", 2), ("minutes", "min", 2), ("seconds", "s", 1),
         ("milliseconds", "ms", 0))  # fmt: skip
PER = {"milliseconds": "ms", "seconds": "s", "minutes": "min", "hours": "h", "days": "day", "years": "year"}
# Rates below or from so many jobs per unit on are shown per another one.
FEWEST, MOST = 0.1, 1e4

# Words that Python takes for numbers: whoever asks refuses them with the range that a number must have.
NO_NUMBERS = ("nan", "inf", "infinity")
# A text that is longer is no time.
LONGEST = 100
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_PLAIN = re.compile(rf"[-+]?{_NUMBER}")
_PART = re.compile(rf"\s*({_NUMBER})\s*([a-zA-Z]+)\s*,?")
_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}):(\d{1,2}):(\d{1,2}(?:\.\d+)?)")
_RATE = re.compile(rf"\s*({_NUMBER})\s*(?:jobs?)?\s*(?:per|a|an|/)\s*(.+?)\s*", re.IGNORECASE)

WRITTEN = "a time is a number with a unit, such as 90s, 4 min, 1h 30m, 2 days or 1-12:00:00"


def unit_named(text: str) -> str:
    """The unit of this name; ValueError for any other word."""
    unit = NAMES.get(text) or NAMES.get(text.lower())
    if unit is None:
        raise ValueError(f"{text!r}: no unit of time; there are {', '.join(SECONDS)}")
    return unit


def is_plain_number(text: str) -> bool:
    return len(text) <= LONGEST and _PLAIN.fullmatch(text.strip()) is not None


def _exact_seconds(text: str) -> Fraction:
    """A time with a unit, in seconds: parts such as 1h 30m, or [days-]hours:minutes:seconds."""
    if len(text) > LONGEST:
        raise ValueError(f"{text[:20]!r}...: too long for a time; {WRITTEN}")
    if clock := _CLOCK.fullmatch(text.strip()):
        days, hours, minutes, seconds = (Fraction(part or 0) for part in clock.groups())
        return 86400 * days + 3600 * hours + 60 * minutes + seconds
    total, place = Fraction(0), 0
    while place < len(text.rstrip()):
        part = _PART.match(text, place)
        if part is None:
            raise ValueError(f"{text!r}: {WRITTEN}")
        total += Fraction(part[1]) * SECONDS[unit_named(part[2])]
        place = part.end()
    if not place:
        raise ValueError(f"{text!r}: {WRITTEN}")
    return total


def seconds_of(text: str) -> float:
    """A time in seconds; a number without a unit is seconds already."""
    return _rounded(Fraction(text.strip()) if is_plain_number(text) else _exact_seconds(text))


def time_in(text: str, unit: str | None) -> float:
    """A time in a unit; a number without one is in it already. Without a unit, a text with one means nothing."""
    if is_plain_number(text) or text.strip().lower().lstrip("+-") in NO_NUMBERS:
        return float(text)
    seconds = _exact_seconds(text)
    return _rounded(seconds / SECONDS[_known(text, unit)])


def rate_in(text: str, unit: str | None) -> float:
    """A rate, "30 per hour" or "30/h", in jobs per unit of time; a plain number is that already."""
    if is_plain_number(text) or text.strip().lower().lstrip("+-") in NO_NUMBERS:
        return float(text)
    form = _RATE.fullmatch(text) if len(text) <= LONGEST else None
    if form is None:
        raise ValueError(f"{text[:LONGEST]!r}: a rate is written like 30 per hour, 0.5/s or 2 jobs per 10 min")
    per = form[2] if form[2][0].isdigit() else f"1 {form[2]}"
    seconds = _exact_seconds(per)
    if not seconds:
        raise ValueError(f"{text!r}: nothing comes so many times in no time")
    return _rounded(Fraction(form[1]) / seconds * SECONDS[_known(text, unit)])


def _known(text: str, unit: str | None) -> str:
    if unit is None:
        raise ValueError(f'{text!r}: the model does not say its own unit; add time_unit = "hours" (or any other) to it')
    return unit


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a time that long is no number") from None


def shown_in(value: float, unit: str) -> tuple[float, str]:
    """The unit that a time reads best in: how many of it are one of `unit`, and its name after a number."""
    if not math.isfinite(value) or value == 0:
        # Nothing to choose by: the unit itself.
        return 1.0, next((name for full, name, _ in SHOWN if full == unit), unit)
    size = abs(value) * float(SECONDS[unit])
    full, name = next((full, name) for full, name, least in SHOWN if size >= least * SECONDS[full] or least == 0)
    return float(SECONDS[unit] / SECONDS[full]), name


def rate_shown_in(value: float, unit: str) -> tuple[float, str]:
    """The same of a rate: per unit itself, so that rates compare at sight, unless that makes a tiny or huge number.

    By what a rate is multiplied, and the name of the unit it is then per.
    """
    units = list(PER)
    if unit not in units or not math.isfinite(value) or value == 0:
        return 1.0, PER.get(unit, unit.removesuffix("s"))
    place, factor = units.index(unit), 1.0
    while abs(value) * factor < FEWEST and place + 1 < len(units):
        place += 1
        factor = float(SECONDS[units[place]] / SECONDS[unit])
    while abs(value) * factor >= MOST and place > 0:
        place -= 1
        factor = float(SECONDS[units[place]] / SECONDS[unit])
    return factor, PER[units[place]]
