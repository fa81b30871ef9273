"""What a reader must know of a model's waits before trusting their intervals."""

from __future__ import annotations

from loynes.model import Model


def moment_warnings(model: Model) -> tuple[str, ...]:
    """A finite k-th moment of the wait needs a finite (k+1)-th of the service; an interval needs twice the moment."""
    highest = model.highest_moment
    if highest >= 5:
        return ()
    which = next(c.label for c in model.classes if c.service.highest_moment == highest)
    start = f"class {which!r}: the service has finite moments only up to {int(highest)}, so "
    if highest < 2:
        return (start + "the mean wait may be infinite, and no mean, variance or interval of it can be trusted",)
    if highest < 3:
        return (start + "the interval of the mean wait cannot be trusted, and the variance may be infinite",)
    return (start + "the interval of the wait's variance cannot be trusted",)
