"""Times for people: the unit in which seconds are read best."""

from __future__ import annotations

# From so many seconds on, times are read best in units of so many.
UNITS = ((3 * 86400.0, 86400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (300.0, 60.0, "minutes"))


def unit_of(longest: float) -> tuple[float, str]:
    """The unit that times up to so many seconds are read best in: its seconds, its name."""
    return next(((size, name) for least, size, name in UNITS if longest >= least), (1.0, "seconds"))


# As times are typed: so many of the largest of these that divide them.
TYPED = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def typed(seconds: float) -> str:
    """A time as it is typed: 24h, 30min, 90s."""
    size, name = next((one for one in TYPED if seconds % one[0] == 0), TYPED[-1])
    return f"{seconds / size:g}{name}"
