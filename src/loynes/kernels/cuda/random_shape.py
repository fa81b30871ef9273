"""The shape of a pile under random assignment: one thread a replica where servers are few, else one warp."""

from __future__ import annotations

import numpy as np

from loynes.inputs.tables import JobTable, class_probabilities
from loynes.kernels.cuda.compiled import MOST_IN_THREAD, MOST_SHARED, RANDOM_THREAD, RANDOM_WARP, Shape
from loynes.kernels.cuda.walked import Arriving


def shape_of_random(table: JobTable, blockers: int = 0, *, bits: int = 32, form: int | None = None) -> Shape:
    s = table.servers
    distinct, position = np.unique(table.need, return_inverse=True)
    odds = np.bincount(position, weights=class_probabilities(table))
    if form is None:
        form = RANDOM_THREAD if s <= MOST_IN_THREAD[bits] else RANDOM_WARP
    threads, lanes = 128, 1 if form == RANDOM_THREAD else 32
    # Room for four blocks, if that leaves each a warp.
    while threads > 32 and s * threads // lanes * bits // 8 > MOST_SHARED // 4:
        threads //= 2
    return Shape(
        bits=bits,
        form=form,
        servers=s,
        class_need=tuple(int(need) for need in table.need),
        by_odds=tuple(int(need) for need in distinct[np.argsort(-odds, kind="stable")]),
        branches=len(table.recipe),
        blockers=blockers,
        simple=table.simple,
        saturated=True,
        threads=threads,
        segments=1,
        arriving=Arriving.of(table),
    )
