"""The phases of all services, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array, Ints
from loynes.model.classes import JobClass
from loynes.model.cluster import Model
from loynes.model.laws.phases import Phases

# Their rates are a matrix.
MOST_STAGES = 8192
# So few are made in no time.
QUICK = 256


@dataclass(frozen=True)
class Places:
    """What jobs in service take, in whatever phase: enough to count the states of a chain before it is made."""

    units: Ints  # per resource
    need: Ints  # [class, resource]
    of_class: Ints  # per stage

    @property
    def stage_need(self) -> Ints:
        return self.need[self.of_class]

    @classmethod
    def least(cls, model: Model) -> Places:
        """Of as many stages as a model has at least."""
        units, need = _demands(model)
        return cls(units, need, np.repeat(np.arange(len(need)), [c.service.phase_count for c in model.classes]))


@dataclass(frozen=True)
class Stages(Places):
    """All phases of all classes in one list: what a job in service may be in."""

    probability: Array  # per class
    initial: Array  # per stage: the probability that a job of its class begins there
    change: Array  # [stage, stage]: rates between stages, 0 on the diagonal
    stopping: Array  # per stage

    @classmethod
    def none(cls, model: Model, most: int = MOST_STAGES) -> str:
        """Why a model has no stages, or more than so many, as far as it is known before they are made; or nothing."""
        if not model.plain and model.order != "fcfs":
            return f"exact answers are for discipline 'fcfs', not {model.order!r}"
        if any(any(model.specific(c)) for c in model.classes):
            return "exact answers are for jobs that take any servers, not specific ones"
        if model.alike:
            return "exact answers are for jobs that do not depend on one another, not for sessions"
        if not model.independent:
            return "exact answers are for classes that do not depend on the arrival process"
        least = [c.service.phase_count for c in model.classes]
        for c, phases_there in zip(model.classes, least, strict=True):
            if phases_there > MOST_STAGES:
                return (
                    f"class {c.label!r} has a {c.service.law} service of {phases_there:.6g} phases, whose rates would "
                    f"take {8 * float(phases_there) ** 2 / 2**30:.3g} GiB; at most {MOST_STAGES} phases are taken"
                )
        if sum(least) > min(most, MOST_STAGES):
            return _too_many(most)
        quick = (c for c, count in zip(model.classes, least, strict=True) if count <= QUICK)
        return next((_not_phases(c) for c in quick if c.service.as_phases() is None), "")

    @classmethod
    def of(cls, model: Model, most: int = MOST_STAGES) -> Stages | str:
        """The stages of a model, at most so many, or why it has none."""
        if why := cls.none(model, most):
            return why
        chains, count = [], 0
        for c in model.classes:
            phases = c.service.as_phases()
            if phases is None:
                return _not_phases(c)
            chains.append(_used(phases))
            count += len(chains[-1].initial)
            if count > min(most, MOST_STAGES):
                return _too_many(most)
        # scipy.linalg has a word for this, and takes longer to load than a model to be judged.
        generator, begin = np.zeros((count, count)), 0
        for p in chains:
            end = begin + len(p.initial)
            generator[begin:end, begin:end] = p.generator
            begin = end
        return cls(
            *_demands(model),
            np.repeat(np.arange(len(chains)), [len(p.initial) for p in chains]),
            np.array([c.probability for c in model.classes]),
            np.concatenate([p.initial for p in chains]),
            generator - np.diag(np.diag(generator)),
            np.concatenate([p.stopping for p in chains]),
        )

    @property
    def time(self) -> Array:
        """Per stage: the mean time that a job of its class spends there."""
        generator = self.change - np.diag(self.change.sum(axis=1) + self.stopping)
        return np.asarray(np.linalg.solve(-generator.T, self.initial))


def _not_phases(job_class: JobClass) -> str:
    return f"class {job_class.label!r} has a {job_class.service.law} service, which is not of phase type"


def _too_many(most: int) -> str:
    most = min(most, MOST_STAGES)
    return f"services have more than {most} stages together, and the saturated chain as many states"


def _demands(model: Model) -> tuple[Ints, Ints]:
    """The units of every resource, and what a job of each class needs of them."""
    return (np.array(model.units, dtype=np.int64), np.array([model.demand(c) for c in model.classes], dtype=np.int64))


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
