"""Densities of waits, from the histograms that chains keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.execution.context import Context
from loynes.kernels.tally import bin_edges
from loynes.model import Model
from loynes.questions.evaluate import Evaluate, evaluated
from loynes.results.records.evaluation import Evaluation

# Bins of the histogram (128 an octave) to one of the density.
TOGETHER = 32

Density = list[tuple[float, float, float]]  # from, to, density


def densities(model: str | Model, *, context: Context, **options: Any) -> tuple[Evaluation, dict[str, Density]]:
    """The evaluation at a rate, and per class the density of the wait over intervals, no wait at all left out."""
    result, methods, outcome = evaluated(Evaluate.of(model, **options), context, as_seen=True)
    tally = outcome.tallies[0]
    edges = bin_edges(1.0 / tally.per_unit)
    counts = tally.bins.sum(axis=0, dtype=np.float64)
    counts[:, 0] -= tally.none.sum(axis=0)
    looks = float(tally.looks.sum())
    first = np.arange(0, counts.shape[1], TOGETHER)
    low, high = edges[first], edges[np.minimum(first + TOGETHER, len(edges) - 1)]
    shares = np.add.reduceat(counts, first, axis=1) / looks / (high - low)
    by_class = {}
    for position, c in enumerate(result.model.classes):
        share = shares[methods.needs.of_class[position]]
        last = int(np.flatnonzero(share)[-1]) + 1 if share.any() else 0
        by_class[c.label] = [(float(low[k]), float(high[k]), float(share[k])) for k in range(last)]
    return result, by_class
