"""A log's arrivals as phases: in each, jobs of every class come at rates of their own.

Time is cut into equal bins. The phase of a bin is hidden, moves from bin to bin as a Markov chain, and in phase k the
jobs of class c in a bin are Poisson with mean rate[k, c] times the bin, independently. Rates and moves are fitted by
expectation maximisation (Baum and others 1970; for Markov-modulated Poisson processes Ryden 1996, here in bins). Short
jobs that come in bursts, or wide ones that come at night, are phases in which their classes have higher rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from loynes.arrays import Array, Ints
from loynes.errors import TraceError
from loynes.traces.trace import Trace

ROUNDS = 40
# A gain of log-likelihood, relative, that ends the rounds.
SETTLED = 1e-6
# A bin has about so many jobs, and is at least a minute and at most an hour long.
JOBS_A_BIN = 1.0
# Of a bin's rates, so that no class is impossible in a phase: this part of its overall rate.
FLOOR = 1e-3
# The least probability of a move that is kept.
RAREST = 1e-5


def phases_table(trace: Trace, group: Ints, phases: int) -> dict[str, Any]:
    """An arrival process of so many phases, as a model file has it: generator, rates, and a mix of classes in each."""
    width = float(np.clip(JOBS_A_BIN * trace.span / trace.jobs, 60.0, 3600.0))
    bins, classes = int(trace.span // width), int(group.max()) + 1
    if bins < 50 * phases:
        raise TraceError(f"{trace.source}: is too short for {phases} phases")
    place = (trace.submit // width).astype(np.int64)
    inside = place < bins
    counts = np.zeros((bins, classes))
    np.add.at(counts, (place[inside], group[inside]), 1.0)
    rate, move = fit_phases(counts, phases)
    generator = move / width
    generator -= np.diag(generator.sum(axis=1))
    total = rate.sum(axis=1)
    return {
        "process": "mmpp", "generator": generator.tolist(), "rates": (total / width).tolist(),
        "mix": (rate / total[:, None]).tolist(),
    }  # fmt: skip


def fit_phases(counts: Array, phases: int) -> tuple[Array, Array]:
    """Means of counts, [phase, class], and probabilities of moves from phase to phase, of which staying is the rest."""
    overall = counts.mean(axis=0)
    rate = _first_rates(counts, phases)
    move = np.full((phases, phases), 0.05 / max(phases - 1, 1))
    np.fill_diagonal(move, 0.95)
    start = np.full(phases, 1.0 / phases)
    before = -np.inf
    for _ in range(ROUNDS):
        rate = np.maximum(rate, FLOOR * overall)
        likely = counts @ np.log(rate).T - rate.sum(axis=1)
        top = likely.max(axis=1, keepdims=True)
        weight, moves, total = _passes(np.exp(likely - top), start, move)
        total += float(top.sum())
        rate = (weight.T @ counts) / weight.sum(axis=0)[:, None]
        move = moves / moves.sum(axis=1, keepdims=True)
        start = weight[0]
        if total - before < SETTLED * abs(total):
            break
        before = total
    rate = np.maximum(rate, FLOOR * overall)
    off = np.where(move < RAREST, 0.0, move)
    np.fill_diagonal(off, 0.0)
    if phases > 1:
        # Every phase can be left for the next, however rarely, so that all are reached.
        ring = np.roll(np.eye(phases), 1, axis=1) * RAREST
        off = np.maximum(off, ring)
    return rate, off


def _first_rates(counts: Array, phases: int) -> Array:
    """Bins by how busy the hours around them are, in as many groups."""
    width = min(max(4, len(counts) // 2000), 48)
    around = np.convolve(counts.sum(axis=1), np.ones(width) / width, mode="same")
    rank = np.argsort(np.argsort(around, kind="stable"), kind="stable") * phases // len(counts)
    return np.array([counts[rank == k].mean(axis=0) for k in range(phases)])


@njit(cache=True)
def _passes(likely, start, move):  # type: ignore[no-untyped-def]
    """Forwards and backwards through the bins: weights of phases, expected moves, log-likelihood."""
    count, phases = likely.shape
    forward, scale = np.empty((count, phases)), np.empty(count)
    for t in range(count):
        total = 0.0
        for k in range(phases):
            prior = start[k]
            if t > 0:
                prior = 0.0
                for i in range(phases):
                    prior += forward[t - 1, i] * move[i, k]
            forward[t, k] = prior * likely[t, k]
            total += forward[t, k]
        scale[t] = total
        for k in range(phases):
            forward[t, k] /= total
    moves = np.zeros((phases, phases))
    behind, before = np.ones(phases), np.empty(phases)
    weight = forward.copy()
    for t in range(count - 2, -1, -1):
        for i in range(phases):
            before[i] = 0.0
            for k in range(phases):
                part = move[i, k] * likely[t + 1, k] * behind[k] / scale[t + 1]
                moves[i, k] += forward[t, i] * part
                before[i] += part
        behind[:] = before
        for k in range(phases):
            weight[t, k] = forward[t, k] * behind[k]
    return weight, moves, np.log(scale).sum()
