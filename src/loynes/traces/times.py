"""Times as logs write them: seconds, ISO stamps with and without an offset from UTC, and [DD-]HH:MM:SS."""

from __future__ import annotations

import math
from datetime import UTC, datetime, time
from functools import lru_cache

# What logs write where they have nothing to say.
NOTHING = frozenset({"", "unknown", "none", "n/a", "na", "null", "nan", "nat", "<na>", "invalid", "-/-"})
# Thirty thousand years, in seconds: no time in a log is longer, and differences keep a tenth of a millisecond.
LONGEST = 1e12
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


# Logs repeat days and times of day, and reading one is slow: each is read once, while there are not too many.
@lru_cache(maxsize=1 << 17)
def _day(text: str) -> float:
    """Seconds from 1970 to the beginning of a day."""
    return (datetime.fromisoformat(text) - _EPOCH).total_seconds()


@lru_cache(maxsize=1 << 17)
def _time_of_day(text: str) -> float:
    """Seconds of a time of day without an offset."""
    when = time.fromisoformat(text)
    if when.tzinfo is not None:
        raise ValueError("an offset, which is not for here")
    return 3600.0 * when.hour + 60.0 * when.minute + when.second + 1e-6 * when.microsecond


def number(text: str) -> float:
    """A number in plain digits; NaN for one of the words for nothing, ValueError for anything else."""
    try:
        value = float(text)
        if "_" not in text and not math.isnan(value):
            return value
    except ValueError:
        pass
    if text.strip().lower() in NOTHING:
        return math.nan
    raise ValueError(f"not a number: {text}")


def stamp(text: str) -> tuple[float, bool | None]:
    """Seconds since 1970 of a stamp or a number, and whether it had an offset from UTC (None: it was a number).

    A stamp without one is taken as UTC.
    """
    text = text.strip()
    if len(text) == 19 and text[10] == "T":
        try:
            return _day(text[:10]) + _time_of_day(text[11:]), False
        except ValueError:
            pass  # an offset, or no stamp at all
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return number(text), None
    if len(text) < 10 or "-" not in text:  # digits alone are seconds, though ISO would take eight of them for a date
        return number(text), None
    if when.tzinfo is None:
        return (when - _EPOCH).total_seconds(), False
    return (when - _EPOCH_UTC).total_seconds(), True


def duration(text: str) -> float:
    """Seconds of [DD-]HH:MM:SS[.fraction], of MM:SS, or of a plain number."""
    text = text.strip()
    if ":" not in text:
        return number(text)
    days, dash, clock = text.rpartition("-")
    if dash and not days.isdecimal():
        raise ValueError(f"not a duration: {text}")
    return (86400.0 * int(days) if dash else 0.0) + _clock(clock)


def _clock(text: str) -> float:
    """Seconds of HH:MM:SS, HH of any size, or MM:SS."""
    if len(text) == 8:
        try:
            return _time_of_day(text)
        except ValueError:
            pass  # more hours than a day has, or no duration at all
    parts = text.split(":")
    if len(parts) > 3 or not all(part.replace(".", "", 1).isdecimal() for part in parts):
        raise ValueError(f"not a duration: {text}")
    seconds = 0.0
    for part in parts:
        seconds = 60.0 * seconds + float(part)
    return seconds
