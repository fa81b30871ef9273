"""Densities of waits, from the histograms that chains keep."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loynes.kernels.backends import backend as choose
from loynes.kernels.tally import bin_edges
from loynes.model import Model
from loynes.model import load as read
from loynes.results.records import Evaluation
from loynes.study.evaluate import ran
from loynes.study.options import check_common
from loynes.study.progress import Progress, heard_by, silent
from loynes.study.spread import spread_over

# Bins of the histogram (128 an octave) to one of the density.
TOGETHER = 32

Density = list[tuple[float, float, float]]  # from, to, density


def densities(
    model: str | Path | Mapping[str, Any] | Model,
    *,
    rate: float | None = None,
    load: float | None = None,
    precision: float = 0.01,
    confidence: float = 0.99,
    max_jobs: float | None = None,
    seed: int = 1,
    backend: str = "auto",
    executor: Any = None,
    progress: Progress = silent,
) -> tuple[Evaluation, dict[str, Density]]:
    """The evaluation at a rate, and per class the density of the wait over intervals, no wait at all left out."""
    began = time.perf_counter()
    check_common(precision=precision, confidence=confidence, seed=seed, max_jobs=max_jobs)
    with spread_over(executor), heard_by(progress):
        choose(backend)
        found, run, done = ran(
            read(model), rate=rate, load=load, method="sandwich", precision=precision, samples=None, exceeds=(),
            confidence=confidence, replicas=None, burn_in=None, confirmations=None, initial_length=None, delta=None,
            max_jobs=max_jobs, seed=seed, backend=backend, began=began, progress=progress,
        )  # fmt: skip
    tally = done.tallies[0]
    edges = bin_edges(1.0 / tally.per_unit)
    counts = tally.bins.sum(axis=0, dtype=np.float64)
    counts[:, 0] -= tally.none.sum(axis=0)
    looks = float(tally.looks.sum())
    first = np.arange(0, counts.shape[1], TOGETHER)
    low, high = edges[first], edges[np.minimum(first + TOGETHER, len(edges) - 1)]
    shares = np.add.reduceat(counts, first, axis=1) / looks / (high - low)
    seen = {}
    for position, c in enumerate(found.model.classes):
        share = shares[run.needs.of_class[position]]
        last = int(np.flatnonzero(share)[-1]) + 1 if share.any() else 0
        seen[c.label] = [(float(low[k]), float(high[k]), float(share[k])) for k in range(last)]
    return found, seen
