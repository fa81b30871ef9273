"""The multiserver-job recurrence in NumPy, to be read and to be compared with.

W[0..s-1], ascending: time until each server is free, as an arriving job sees it. The job needs `a` servers for a time
`sigma`; the next one arrives `tau` later. Its wait is W[a-1]. (Baccelli, Olliaro, Ajmone Marsan, Marin, arXiv
2601.20653.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints

# Jobs are cut into blocks at multiples of BLOCK, the same for every run that passes through them, and time is kept
# relative to a block's start: the computed step is then monotone in W, bit for bit (see `advance_block`).
BLOCK = 64


def sorted_step(W: Array, a: int, sigma: float, tau: float) -> Array:
    """The paper's form: the a least loaded servers all become free sigma after the last of them; sort; let tau pass."""
    after = W.copy()
    after[:a] = W[a - 1] + sigma
    return np.maximum(np.sort(after) - tau, 0.0)


def clamp_step(W: Array, a: int, sigma: float, tau: float) -> Array:
    """The same without a sort: entry i becomes the median of W[i], v = W[a-1] + sigma and W[i+a] (inf past the end)."""
    v = W[a - 1] + sigma
    shifted = np.concatenate([W[a:], np.full(a, np.inf)])
    after: Array = np.maximum(np.minimum(shifted, np.maximum(v, W)) - tau, 0.0)
    return after


def advance_block(W: Array, need: Ints, service: Array, gap: Array) -> tuple[Array, Array, Array]:
    """One block of jobs: the workload after it, and each job's wait and HOL loss.

    Times count from the block's start; `now` is the arrival of the current job and does not depend on W, and rounding
    is monotone, so W <= W' entrywise before implies it after, exactly. An idle server's entry is any time up to `now`,
    when it became free, until the block's end makes it 0.
    The HOL loss of a job is the sum over its servers of start - max(now, W[i]): server time idled by waiting for it.
    """
    W = W.copy()
    now = 0.0
    wait, loss = np.empty(len(need)), np.empty(len(need))
    for j, a in enumerate(need):
        start = max(now, W[a - 1])
        wait[j] = start - now
        loss[j] = np.sum(start - np.maximum(now, W[:a]))
        v = start + service[j]
        shifted = np.concatenate([W[a:], np.full(a, np.inf)])
        W = np.minimum(shifted, np.maximum(v, W))
        now += gap[j]
    return np.maximum(W - now, 0.0), wait, loss


def slopes_block(
    W: Array, D: Array, need: Ints, job_class: Ints, service: Array, gap: Array
) -> tuple[Array, Array, Array, Array]:
    """One block of jobs with derivatives: W and D after it, and each job's wait and its derivatives.

    D[i, c] is the derivative of W[i] by the logarithm of class c's mean service, D[i, -1] that by the logarithm of the
    mean gap: all services of the class, or all gaps, are stretched by the same factor. Every entry of W is a sum of
    services and gaps along one path, and its derivatives are the sums of each kind on that path: a job starts when it
    arrives or when the last of its servers is free, whichever is later, and inherits the derivatives of that moment.
    An idle server's workload is 0 whatever is stretched. All derivatives of an entry add up to the entry itself.
    """
    W, D = W.copy(), D.copy()
    arrival = np.zeros(D.shape[1])  # the derivatives of `now`: gaps are all there is to it
    wait, slope = np.empty(len(need)), np.empty((len(need), D.shape[1]))
    for j, a in enumerate(need):
        now = arrival[-1]
        start, inherited = (W[a - 1], D[a - 1].copy()) if W[a - 1] > now else (now, arrival.copy())
        wait[j], slope[j] = start - now, inherited - arrival
        W[:a], D[:a] = start + service[j], inherited
        D[:a, job_class[j]] += service[j]
        order = np.argsort(W, kind="stable")
        W, D = W[order], D[order]
        arrival[-1] += gap[j]
    after = np.maximum(W - arrival[-1], 0.0)
    return after, np.where(after[:, None] > 0, D - arrival, 0.0), wait, slope


def kinds_block(
    W: list[Array], demand: Ints, specific: list[list[Ints]], service: Array, gap: Array, strict: bool
) -> tuple[list[Array], Array, Array]:
    """One block of jobs that need several kinds of servers, W[kind] ascending; each job's wait and HOL loss by kind.

    Job j takes demand[j, kind] servers, the least loaded beside its specific ones, which are at the places
    specific[j][kind] of the ordered vector. Under strict order nobody starts before the job ahead: what a job leaves
    is free no sooner than it starts. Its HOL loss is what servers idle for its sake: those it takes, or, strictly, all.
    """
    W = [w.copy() for w in W]
    now = floor = 0.0
    wait, loss = np.empty(len(service)), np.zeros((len(service), len(W)))
    for j in range(len(service)):
        taken = [_taken(len(w), demand[j, kind], specific[j][kind]) for kind, w in enumerate(W)]
        start = max([now, floor] + [float(np.max(w[its])) for w, its in zip(W, taken, strict=True) if its.any()])
        wait[j] = start - now
        for kind, its in enumerate(taken):
            free = np.maximum(max(now, floor), W[kind])
            loss[j, kind] = np.sum(np.maximum(start - free, 0.0) if strict else (start - free)[its])
            rest = W[kind][~its]
            W[kind] = np.sort(np.concatenate([rest, np.full(its.sum(), start + service[j])]))
        if strict:
            floor = start
            W = [np.maximum(w, floor) for w in W]
        now += gap[j]
    return [np.maximum(w - now, 0.0) for w in W], wait, loss


def _taken(servers: int, demand: int, specific: Ints) -> NDArray[np.bool_]:
    """Which places of an ordered vector a job takes."""
    taken = np.zeros(servers, dtype=np.bool_)
    taken[specific] = True
    taken[np.flatnonzero(~taken)[:demand]] = True
    return taken


def pile_block(H: Array, base: float, need: Ints, service: Array) -> tuple[Array, float]:
    """The saturated system: no gaps, nothing is clipped. Heights are `base` + H, with H[0] = 0 at blocks' ends."""
    H, _, _ = advance_block(H, need, service, np.zeros(len(need)))
    return H - H[0], base + H[0]


def random_step(H: Array, a: int, sigma: float, picks: Ints) -> tuple[Array, float]:
    """Random assignment on a pile, servers in any order: the heights after the job, and its HOL loss.

    Servers are swapped to the front as `picks` says (see `inputs.jobs.picks`): those of the job, or the others if it
    needs more than half.
    """
    H = H.copy()
    for i, pick in enumerate(picks):
        H[i], H[pick] = H[pick], H[i]
    its = slice(0, a) if len(picks) == a else slice(len(picks), None)
    start = float(np.max(H[its]))
    loss = float(np.sum(start - H[its]))
    H[its] = start + sigma
    return H, loss
