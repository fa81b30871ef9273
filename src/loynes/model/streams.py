"""Arrivals and classes together: one modulated process for all jobs, with the classes each phase brings.

A class may have arrivals of its own. Streams of phase type side by side are again one modulated process, whose phase
says where every stream stands and, for the mark, which of them the last job came from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array
from loynes.model import modulation
from loynes.model.arrivals import Batch, Modulated, Periodic, Poisson, Process, Renewal, Sessions

MOST_TOGETHER = 512


@dataclass(frozen=True, eq=False)  # models that hold one are compared by their fields
class Chain:
    """A modulated process: rates without and with an arrival, and, where classes depend on it, [phase, class]."""

    d0: Array
    d1: Array
    mix: Array | None = None


@dataclass(frozen=True, eq=False)
class PhaseMix:
    """Classes that depend on a phase, or on a slot of a cycle: how often jobs find each, and [phase, class]."""

    found: Array
    mix: Array

    @property
    def classes(self) -> Array:
        """The probability of each class among arriving jobs."""
        return np.asarray(self.found @ self.mix)


def mix_of(process: Process, chain: Chain | None) -> PhaseMix | None:
    """How classes depend on arrivals, None where they do not."""
    if isinstance(process, Periodic) and process.mix is not None:
        rates = np.array(process.rates)
        return PhaseMix(rates / rates.sum(), np.array(process.mix))
    if chain is None or chain.mix is None:
        return None
    return PhaseMix(modulation.at_arrivals(chain.d0, chain.d1), chain.mix)


def chain_of(process: Process) -> Chain | None:
    """The chain behind a process, None if it has none (gaps are independent, or recorded)."""
    if isinstance(process, Batch | Sessions):
        return chain_of(process.of)
    if isinstance(process, Modulated):
        return Chain(*process.matrices, None if process.mix is None else np.array(process.mix))
    return None


def together(streams: Sequence[Process]) -> Chain:
    """Streams of their own, one a class, as one process."""
    _check_size(stream.gap.phase_count if isinstance(stream, Renewal) else 1 for stream in streams)
    parts = [_matrices(f"classes[{position}].arrivals.gap", stream) for position, stream in enumerate(streams)]
    phases = _check_size(len(d0) for d0, _ in parts)
    quiet, marked = modulation.superposed(parts)
    count = len(parts)
    what = modulation.problem(quiet, sum(marked, np.zeros(quiet.shape)))
    if what is not None:
        raise ValueError(f"classes: their arrivals together: {what}")
    # Phase (j, c): all streams stand at j, and the last job came from stream c.
    d0 = np.kron(quiet, np.eye(count))
    d1 = sum(
        (np.kron(rates, np.outer(np.ones(count), np.eye(count)[c])) for c, rates in enumerate(marked)),
        np.zeros(d0.shape),
    )
    return Chain(np.asarray(d0, np.float64), np.asarray(d1, np.float64), np.tile(np.eye(count), (phases, 1)))


def _check_size(phases: Iterable[int]) -> int:
    """How many phases streams have together, each with so many; too many are refused."""
    each = list(phases)
    together = math.prod(each)
    if together * len(each) > MOST_TOGETHER:
        raise ValueError(
            f"classes: their arrivals have {float(together):.12g} phases together; phases times classes must be at "
            f"most {MOST_TOGETHER} (a larger cv of a fit law has fewer)"
        )
    return together


def _matrices(where: str, stream: Process) -> tuple[Array, Array]:
    """A stream as a modulated process, at its own speed."""
    rate = stream.jobs_rate
    assert rate is not None
    if isinstance(stream, Poisson):
        return np.array([[-rate]]), np.array([[rate]])
    if isinstance(stream, Renewal):
        phases = stream.gap.as_phases()
        if phases is None:
            problem = f"{where}: gaps of a {stream.gap.law} law cannot be superposed"
            raise ValueError(f"{problem}; say {{ law = 'fit', mean, cv }} with a cv above 0, such as 0.5")
        d0, d1 = phases.generator, np.outer(phases.stopping, phases.initial)
    else:
        assert isinstance(stream, Modulated)
        d0, d1 = stream.matrices
    written = stream.own_rate
    assert written is not None
    return d0 * (rate / written), d1 * (rate / written)
