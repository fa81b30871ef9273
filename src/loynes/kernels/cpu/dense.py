"""The dense workload vector: values[0..s-1] ascending, followed by +inf to the end of the room.

A step takes whole registers, the last of which may reach past s, and reads up to s entries further: what is infinite
stays so.
"""

from __future__ import annotations

import numpy as np

from loynes.kernels.cpu.compiled import compiled, inlined
from loynes.kernels.cpu.memory import LANES, clamp


@compiled
def registers(s):
    """How many registers a vector takes."""
    return (s + LANES - 1) // LANES


def room(servers: int) -> int:
    """Entries that a vector takes, and what is read past its end: a whole number of registers."""
    return 2 * LANES * -(-servers // LANES)


@compiled
def put(values, W):
    """Take over a workload vector."""
    for i in range(W.size):
        values[i] = W[i]
    for i in range(W.size, values.size):
        values[i] = np.inf


@compiled
def advance(values, s, need, service, gap, begin, end, now):
    """Jobs begin .. end-1 of a block whose clock stands at `now`; returns the clock. One median an entry."""
    count = registers(s)
    for j in range(begin, end):
        a = need[j]
        v = max(now, values[np.uint64(a - 1)]) + service[j]
        clamp(values, np.int64(0), a, v, count)
        now += gap[j]
    return now


@compiled
def rebase(values, s, now):
    """End of a block: workloads seen from `now`."""
    for i in range(s):
        values[i] = max(0.0, values[i] - now)


@compiled
def lower(values, s):
    """End of a block of a pile: count from the bottom, which is returned."""
    bottom = values[0]
    for i in range(s):
        values[i] -= bottom
    return bottom


@inlined
def look(values, need, now, wait, loss):
    """Wait and HOL loss that an arrival of each need (ascending) would meet now.

    Level by level: raising the level from x to x' idles the servers already passed for x' - x each.
    """
    lost = 0.0
    level = max(now, values[0])
    passed = 0
    for k in range(need.size):
        for i in range(passed, need[k]):
            above = max(now, values[i])
            lost += i * (above - level)
            level = above
        passed = need[k]
        wait[k] = level - now
        loss[k] = lost


@compiled
def same(values, others, s):
    """Whether two vectors are equal. The last entries, which differ longest, first."""
    i = s - 1
    while i >= 0 and values[i] == others[i]:
        i -= 1
    return i < 0


@compiled
def get(values, W):
    """Write the workload vector out."""
    for i in range(W.size):
        W[i] = values[i]
