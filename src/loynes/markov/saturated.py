"""The saturated system as a Markov chain: there is always a next job, and jobs leave at the rate of the threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from loynes.arrays import Array, Ints
from loynes.errors import SamplingError
from loynes.markov.phases import Stages
from loynes.markov.states import Blocked

# Power iteration: the part of a step that is taken (a whole step would let Erlang phases swing for ever), and when to
# give up.
STEP = 0.75
MOST_STEPS = 200_000
LOOK_EVERY = 50
# Relative error of the answer to stop at.
TOLERANCE = 1e-13


@dataclass(frozen=True)
class Moves:
    """Transitions between blocked states, some through crews that fill up in no time.

    Rates `change` are those of phases, from state to state. A job leaves and the head still does not fit: rates `stay`,
    from state to state. It leaves and the head starts: rates `open`, from a state to a crew beside which the next job
    now shows its class; with probabilities `grow` it joins the crew, with `block` it does not fit and is the new head.
    """

    change: sp.csr_array
    stay: sp.csr_array
    open: sp.csr_array
    grow: sp.csr_array
    block: sp.csr_array
    leaving: Array  # per state: rate at which jobs leave
    total: Array  # per state: rate of all moves

    @classmethod
    def of(cls, states: Blocked) -> Moves:
        crews = states.crews
        change, stay, opened = Entries(), Entries(), Entries()
        leaving, changing = np.zeros(len(states)), np.zeros(len(states))
        for stage, rate in enumerate(crews.stages.stopping):
            here = np.flatnonzero(crews.count[states.crew, stage] > 0)
            speed = rate * crews.count[states.crew[here], stage]
            leaving[here] += speed
            for rows, speeds, left, head in _by_head(states, here, speed, stage):
                starts = crews.fits(head)[left]
                stay.add(rows[~starts], states.place[head, left[~starts]], speeds[~starts])
                for begun, share in beginnings(crews.stages, head):
                    joined = crews.changed(left[starts], None, begun)
                    opened.add(rows[starts], joined, share * speeds[starts])
        for stage, other in np.argwhere(crews.stages.change > 0):
            here = np.flatnonzero(crews.count[states.crew, stage] > 0)
            speed = crews.stages.change[stage, other] * crews.count[states.crew[here], stage]
            changing[here] += speed
            crew = crews.changed(states.crew[here], int(stage), int(other))
            change.add(here, states.place[states.head[here], crew], speed)
        grow, block = fillings(states)
        return cls(
            change.matrix(len(states), len(states)),
            stay.matrix(len(states), len(states)),
            opened.matrix(len(states), len(crews)),
            grow,
            block,
            leaving,
            leaving + changing,
        )


def fillings(states: Blocked) -> tuple[sp.csr_array, sp.csr_array]:
    """From each crew: with which probability the next job joins it, making another crew, or is blocked."""
    crews = states.crews
    grow, block = Entries(), Entries()
    for c, p in enumerate(crews.stages.probability):
        fits = crews.fits(c)
        room, stuck = np.flatnonzero(fits), np.flatnonzero(~fits)
        block.add(stuck, states.place[c, stuck], np.full(len(stuck), p))
        for begun, share in beginnings(crews.stages, c):
            grow.add(room, crews.changed(room, None, begun), np.full(len(room), p * share))
    return grow.matrix(len(crews), len(crews)), block.matrix(len(crews), len(states))


def _by_head(states: Blocked, rows: Ints, speed: Array, stage: int) -> Iterator[tuple[Ints, Array, Ints, int]]:
    """Departures from `stage`, by who is at the head: states, rates, crews left behind, head."""
    left = states.crews.changed(states.crew[rows], stage, None)
    for head in np.unique(states.head[rows]):
        same = states.head[rows] == head
        yield rows[same], speed[same], left[same], int(head)


def beginnings(stages: Stages, job_class: int) -> Iterator[tuple[int, float]]:
    """The stages that a job of a class may begin in, with their probabilities."""
    for stage in np.flatnonzero((stages.of_class == job_class) & (stages.initial > 0)):
        yield int(stage), float(stages.initial[stage])


class Entries:
    """Entries of a sparse matrix, gathered piece by piece."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Array]] = []

    def add(self, rows: Ints, columns: Ints, values: Array) -> None:
        if len(rows):
            self._parts.append((rows, columns, values))

    def matrix(self, rows: int, columns: int) -> sp.csr_array:
        if not self._parts:
            return sp.csr_array((rows, columns))
        i, j, x = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return sp.csr_array(sp.coo_array((x, (i, j)), shape=(rows, columns)))


@dataclass(frozen=True)
class Saturated:
    """What the saturated system does in the long run."""

    threshold: float  # jobs a unit of time
    busy: Array  # per resource
    throughput: Array  # per class
    states: int
    steps: int


def solve(states: Blocked) -> Saturated:
    """By power iteration on the chain seen at its moves, through the crews that fill up in no time."""
    moves = Moves.of(states)
    fill = splu(sp.csc_array((sp.eye_array(len(states.crews)) - moves.grow).T), "NATURAL", diag_pivot_thresh=0.0)
    between = moves.change + moves.stay
    stay, opened, block = (sp.csr_array(m.T) for m in (between, moves.open, moves.block))
    flow = np.full(len(states), 1.0 / len(states))
    last = math.inf
    for step in range(1, MOST_STEPS + 1):
        time = flow / moves.total
        after = stay @ time + block @ fill.solve(opened @ time)
        after /= after.sum()
        if step % LOOK_EVERY == 0:
            change = float(np.abs(after - flow).sum())
            # Changes fall geometrically, so what is still to come is change x ratio / (1 - ratio) a look.
            ratio = min((change / last) ** (1.0 / LOOK_EVERY), 1.0) if math.isfinite(last) else 1.0
            if change == 0.0 or (ratio < 1.0 and change / (1.0 - ratio) <= TOLERANCE):
                return _summary(states, moves, after / moves.total, step)
            # At the floor of rounding, nothing more is gained.
            if change <= 1e-14 and ratio >= 0.999:
                return _summary(states, moves, after / moves.total, step)
            last = change
        flow = (1.0 - STEP) * flow + STEP * after
    raise SamplingError(f"the saturated chain of {len(states)} states had not converged after {MOST_STEPS} steps")


def solve_sparse(states: Blocked) -> Saturated:
    """The same by one sparse factorisation, which fills up quickly: a check for a few thousand states."""
    moves, n, k = Moves.of(states), len(states), len(states.crews)
    whole = sp.block_array(
        [
            [moves.change + moves.stay - sp.diags_array(moves.total), moves.open],
            [moves.block, moves.grow - sp.eye_array(k)],
        ]
    )
    balance = sp.csr_array(whole.T)
    # The balance equations have one too many, and a free scale: give the fullest state weight 1, drop its equation.
    fixed = int(np.argmax(states.crews.used[states.crew].sum(axis=1)))
    keep = np.delete(np.arange(n + k), fixed)
    part = sp.csc_array(balance[keep])
    rest = splu(sp.csc_array(part[:, keep])).solve(-part[:, [fixed]].toarray().ravel())
    return _summary(states, moves, np.insert(rest, fixed, 1.0)[:n], 0)


def _summary(states: Blocked, moves: Moves, time: Array, steps: int) -> Saturated:
    time = time / math.fsum(time)
    stages, crews = states.crews.stages, states.crews
    busy = np.array([math.fsum(time * used) for used in crews.used[states.crew].T])
    by_stage = np.array([math.fsum(time * crews.count[states.crew, j]) for j in range(len(stages.of_class))])
    throughput = np.zeros(len(stages.need))
    np.add.at(throughput, stages.of_class, by_stage * stages.stopping)
    return Saturated(
        threshold=math.fsum(time * moves.leaving), busy=busy, throughput=throughput, states=len(states), steps=steps
    )
