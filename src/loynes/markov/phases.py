"""Services as phase-type laws: the time until a small Markov chain stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from loynes.model import laws
from loynes.model.cluster import Model
from loynes.model.law import Law
from loynes.model.phase_laws import Coxian, PhaseType

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Phases:
    """Initial probabilities and rates between phases; what a row lacks to 0 is its rate of stopping."""

    initial: Array
    generator: Array

    @property
    def stopping(self) -> Array:
        return np.asarray(np.maximum(-self.generator.sum(axis=1), 0.0))


def phases_of(law: Law) -> Phases | None:
    """A law as phases, exactly; None if it is not of phase type."""
    match law:
        case laws.Exponential():
            return Phases(np.ones(1), np.full((1, 1), -1.0 / law.mean))
        case laws.Erlang():
            rate = law.phases / law.mean
            return Phases(np.eye(1, law.phases)[0], rate * (np.eye(law.phases, k=1) - np.eye(law.phases)))
        case laws.Hyperexponential():
            return Phases(np.array(law.probabilities), np.diag(-1.0 / np.array(law.means)))
        case laws.Fit() if 0 < law.cv < 1:
            # One chain for both Erlang laws: the shorter one begins a phase later.
            k, fewer = law.phases, law.fewer
            initial = (1.0 - fewer) * np.eye(1, k)[0] + fewer * np.eye(1, k, 1)[0]
            return Phases(initial, (k - fewer) / law.mean * (np.eye(k, k=1) - np.eye(k)))
        case PhaseType() | Coxian():
            return Phases(*law.phases)
        case laws.Mixture() | laws.Fit():
            weights, inner = zip(*law.parts, strict=True)
            parts = [phases_of(part) for part in inner]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            initial = np.concatenate([w * part.initial for w, part in zip(weights, known, strict=True)])
            return Phases(initial, block_diag(*(part.generator for part in known)))
    return None


@dataclass(frozen=True)
class Stages:
    """All phases of all classes in one list: what a job in service may be in."""

    units: NDArray[np.int64]  # per resource
    probability: Array  # per class
    need: NDArray[np.int64]  # [class, resource]
    of_class: NDArray[np.int64]  # per stage
    initial: Array  # per stage: the probability that a job of its class begins there
    change: Array  # [stage, stage]: rates between stages, 0 on the diagonal
    stopping: Array  # per stage

    @property
    def stage_need(self) -> NDArray[np.int64]:
        return self.need[self.of_class]

    @classmethod
    def of(cls, model: Model) -> Stages | str:
        """The stages of a model, or why it has none."""
        if not model.plain and model.order != "fcfs":
            return f"exact answers are for discipline 'fcfs', not {model.order!r}"
        if any(any(model.specific(c)) for c in model.classes):
            return "exact answers are for jobs that take any servers, not specific ones"
        found = []
        for c in model.classes:
            phases = phases_of(c.service)
            if phases is None:
                return f"class {c.label!r} has a {c.service.law} service, which is not of phase type"
            found.append(phases)
        generator = block_diag(*(p.generator for p in found))
        return cls(
            np.array(model.units, dtype=np.int64),
            np.array([c.probability for c in model.classes]),
            np.array([model.demand(c) for c in model.classes], dtype=np.int64),
            np.repeat(np.arange(len(found)), [len(p.initial) for p in found]),
            np.concatenate([p.initial for p in found]),
            generator - np.diag(np.diag(generator)),
            np.concatenate([p.stopping for p in found]),
        )
