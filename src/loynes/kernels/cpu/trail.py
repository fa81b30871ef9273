"""The trail of the arrival process into the past: where it stands at the ends of blocks, from job 0 backwards.

Going back is the only way to know; the trail is kept, so that a longer past begins where the last one ended. Arrivals
without a memory leave none.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.tables import JobTable
from loynes.kernels.cpu.arrivals import has_memory, step_back
from loynes.kernels.cpu.compiled import compiled
from loynes.kernels.cpu.variants import PlainTable, SimpleTable, chosen_by_type, typed
from loynes.kernels.reference import BLOCK


@compiled
def new_trail(place):
    """Only the place at job 0."""
    trail = np.empty(1, np.int64)
    trail[0] = place
    return trail


@chosen_by_type
def extend_trail(table, seed, stream, replica, n, block, trail):
    """The trail as far as job -n."""
    return _extend_trail(typed(table), seed, stream, replica, n, block, trail)


@compiled
def _extend_trail(table, seed, stream, replica, n, block, trail):
    return extend_trail(table, seed, stream, replica, n, block, trail)


@extend_trail.variant(SimpleTable, PlainTable)
def _as_it_is(table, seed, stream, replica, n, block, trail):
    return trail


@extend_trail.variant(JobTable)
def _extended(table, seed, stream, replica, n, block, trail):
    known, wanted = trail.size, n // BLOCK
    if known >= wanted or not has_memory(table.arrivals):
        return trail
    longer = np.empty(wanted, np.int64)
    longer[:known] = trail
    for k in range(known, wanted):
        if block.flag[0]:
            longer[k] = 0
            continue
        longer[k] = step_back(table, seed, stream, replica, -k * BLOCK, longer[k - 1], block)
    return longer


@compiled
def trail_at(trail, first):
    """The place after the block that begins at job first < 0; 0 where there is no trail."""
    k = -first // BLOCK - 1
    return trail[k] if k < trail.size else 0
