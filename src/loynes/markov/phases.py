"""The phases of all services, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array, Ints
from loynes.model.cluster import Model
from loynes.model.laws.phases import Phases

# Their rates are a matrix.
MOST_STAGES = 8192


@dataclass(frozen=True)
class Stages:
    """All phases of all classes in one list: what a job in service may be in."""

    units: Ints  # per resource
    probability: Array  # per class
    need: Ints  # [class, resource]
    of_class: Ints  # per stage
    initial: Array  # per stage: the probability that a job of its class begins there
    change: Array  # [stage, stage]: rates between stages, 0 on the diagonal
    stopping: Array  # per stage

    @property
    def stage_need(self) -> Ints:
        return self.need[self.of_class]

    @classmethod
    def of(cls, model: Model, most: int = MOST_STAGES) -> Stages | str:
        """The stages of a model, at most so many, or why it has none."""
        most = min(most, MOST_STAGES)
        if not model.plain and model.order != "fcfs":
            return f"exact answers are for discipline 'fcfs', not {model.order!r}"
        if any(any(model.specific(c)) for c in model.classes):
            return "exact answers are for jobs that take any servers, not specific ones"
        if model.alike:
            return "exact answers are for jobs that do not depend on one another, not for sessions"
        if not model.independent:
            return "exact answers are for classes that do not depend on the arrival process"
        chains, count = [], 0
        for c in model.classes:
            least = c.service.phase_count
            if least > MOST_STAGES:
                return (
                    f"class {c.label!r} has a {c.service.law} service of {least:.6g} phases, whose rates would take "
                    f"{8 * float(least) ** 2 / 2**30:.3g} GiB; at most {MOST_STAGES} phases are taken"
                )
            phases = c.service.as_phases()
            if phases is None:
                return f"class {c.label!r} has a {c.service.law} service, which is not of phase type"
            chains.append(_used(phases))
            count += len(chains[-1].initial)
            if count > most:
                return f"services have more than {most} stages together, and the saturated chain as many states"
        # scipy.linalg has a word for this, and takes longer to load than a model to be judged.
        generator, begin = np.zeros((count, count)), 0
        for p in chains:
            end = begin + len(p.initial)
            generator[begin:end, begin:end] = p.generator
            begin = end
        return cls(
            np.array(model.units, dtype=np.int64),
            np.array([c.probability for c in model.classes]),
            np.array([model.demand(c) for c in model.classes], dtype=np.int64),
            np.repeat(np.arange(len(chains)), [len(p.initial) for p in chains]),
            np.concatenate([p.initial for p in chains]),
            generator - np.diag(np.diag(generator)),
            np.concatenate([p.stopping for p in chains]),
        )

    @property
    def time(self) -> Array:
        """Per stage: the mean time that a job of its class spends there."""
        generator = self.change - np.diag(self.change.sum(axis=1) + self.stopping)
        return np.asarray(np.linalg.solve(-generator.T, self.initial))


def _used(phases: Phases) -> Phases:
    """Without phases that no job is ever in: every state of the chains is then reached from every other."""
    used = phases.initial > 0
    fresh = used
    while np.any(fresh):
        fresh = ~used & np.any(phases.generator[fresh] > 0, axis=0)
        used = used | fresh
    if used.all():
        return phases
    return Phases(phases.initial[used], phases.generator[np.ix_(used, used)])
