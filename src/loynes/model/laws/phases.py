"""Laws of phase type as phases: the time until a small Markov chain stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loynes.model.laws.exponential import Erlang, Exponential, Hyperexponential
from loynes.model.laws.fit import Fit
from loynes.model.laws.law import Law
from loynes.model.laws.mixture import Mixture
from loynes.model.laws.phase_type import Coxian, PhaseType

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
        case Exponential():
            return Phases(np.ones(1), np.full((1, 1), -1.0 / law.mean))
        case Erlang():
            rate = law.phases / law.mean
            return Phases(np.eye(1, law.phases)[0], rate * (np.eye(law.phases, k=1) - np.eye(law.phases)))
        case Hyperexponential():
            return Phases(np.array(law.probabilities), np.diag(-1.0 / np.array(law.means)))
        case Fit() if 0 < law.cv < 1:
            # One chain for both Erlang laws: the shorter one begins a phase later.
            k, fewer = law.phases, law.fewer
            initial = (1.0 - fewer) * np.eye(1, k)[0] + fewer * np.eye(1, k, 1)[0]
            return Phases(initial, (k - fewer) / law.mean * (np.eye(k, k=1) - np.eye(k)))
        case PhaseType() | Coxian():
            return Phases(*law.phases)
        case Mixture() | Fit():
            weights, inner = zip(*law.parts, strict=True)
            parts = [phases_of(part) for part in inner]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            initial = np.concatenate([w * part.initial for w, part in zip(weights, known, strict=True)])
            return Phases(initial, _side_by_side([part.generator for part in known]))
    return None


def _side_by_side(blocks: list[Array]) -> Array:
    """A block-diagonal matrix."""
    size = sum(len(block) for block in blocks)
    whole, at = np.zeros((size, size)), 0
    for block in blocks:
        whole[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return whole
