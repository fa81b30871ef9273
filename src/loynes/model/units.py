"""Durations as people write them."""

from __future__ import annotations

import math
import re

# Seconds in a unit, by the names that people use for it.
UNITS = {
    "ms": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip
WRITTEN = re.compile(r"([0-9.eE+-]*?[0-9.])\s*([a-z]*)")


def seconds_of(text: str) -> float:
    """30s, 5min, 2h, 1d, or a plain number of seconds."""
    parts = WRITTEN.fullmatch(text.strip())
    unit = UNITS.get(parts[2] or "s") if parts else None
    try:
        seconds = float(parts[1]) * unit if parts and unit else math.nan
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise ValueError(f"{text!r}: must be a duration such as 30s, 5min, 2h or 1d, or a number of seconds")
    return seconds
