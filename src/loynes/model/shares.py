"""How often jobs of every class come: as the classes say, or as arrivals make it."""

from __future__ import annotations

import math

from loynes.model.arrivals import Arrivals, Modulated, Poisson
from loynes.model.classes import UNSAID, JobClass
from loynes.model.fields import RAREST
from loynes.model.misfits import Misfits
from loynes.model.streams import chain_of, mix_of


def with_probabilities(classes: tuple[JobClass, ...], arrivals: Arrivals) -> tuple[JobClass, ...]:
    """The classes with their probabilities: as they say, or as their arrivals make them."""
    derived = _derived(classes, arrivals)
    if derived is None:
        unsaid = Misfits()
        for position, job_class in enumerate(classes):
            if job_class.probability == UNSAID:
                unsaid.found.append((f"classes[{position}].probability: is missing", ()))
        if unsaid.found:
            raise unsaid
        return classes
    for position, (job_class, p) in enumerate(zip(classes, derived, strict=True)):
        if job_class.probability not in (UNSAID, p) and abs(job_class.probability - p) > 1e-6:
            where = f"classes[{position}].probability = {job_class.probability:g}"
            raise ValueError(f"{where}: the arrivals make it {p:.6g}; leave it out")
        if p < RAREST:
            raise ValueError(f"classes[{position}]: its probability, {p:.2g}, must be at least 2^-31")
    return tuple(c.model_copy(update={"probability": p}) for c, p in zip(classes, derived, strict=True))


def _derived(classes: tuple[JobClass, ...], arrivals: Arrivals) -> list[float] | None:
    """What arrivals say of the classes' probabilities; None if nothing."""
    has_stream = [c.arrivals is not None for c in classes]
    if any(has_stream):
        if not all(has_stream):
            raise ValueError(
                f"classes[{has_stream.index(False)}].arrivals: is missing; all classes have their own, or none"
            )
        if not isinstance(arrivals, Poisson):
            raise ValueError("arrivals: only a rate may be said beside the classes' own arrivals")
        rates = [c.arrivals.jobs_rate for c in classes if c.arrivals is not None]
        for position, c in enumerate(classes):
            if rates[position] is None:
                raise ValueError(f"classes[{position}].arrivals.rate: is missing")
            if isinstance(c.arrivals, Modulated) and c.arrivals.mix is not None:
                raise ValueError(f"classes[{position}].arrivals.mix: means nothing, the class is known")
        known = [rate for rate in rates if rate is not None]
        return [rate / math.fsum(known) for rate in known]
    by_phase = mix_of(arrivals, chain_of(arrivals))
    if by_phase is None:
        return None
    if by_phase.mix.shape[1] != len(classes):
        raise ValueError(f"arrivals.mix: must have a column for each of the {len(classes)} classes")
    return [float(p) for p in by_phase.classes]
