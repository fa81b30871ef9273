"""The stability threshold from piles of doubling length (Algorithm 2 of the paper), with a bracket.

The pile's height grows by gamma a job, and the system is stable iff the arrival rate is below 1 / gamma. Started flat,
E[top of n jobs] / n >= gamma >= E[bottom] / n for every n (sub- and superadditivity, both by monotonicity), so that

    n / E[top]  <=  threshold  <=  n / E[bottom],

and independent replicas put ordinary intervals on both ends. The point estimate is the growth of the top over the
second half of the replicas, whose bias is far smaller than that of height / length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loynes.estimate import Estimate, half_width, ratio_of
from loynes.inputs.philox import STREAM_PILE
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.backends import backend as choose
from loynes.kernels.shape import look_every

REPLICAS = 32


@dataclass(frozen=True)
class Piles:
    """What the piles said: threshold with its bracket, servers lost to blocking in saturation, and the work done."""

    threshold: Estimate
    hol_loss: Estimate
    replicas: int
    length: int
    settled: bool  # False if max_jobs came before the precision

    @property
    def jobs(self) -> int:
        return self.replicas * self.length


def doubling(
    table: JobTable,
    needs: Needs,
    initial: int,
    *,
    precision: float,
    confidence: float,
    seed: int,
    max_jobs: float,
    backend: str = "auto",
    replicas: int = REPLICAS,
    progress: Callable[[float, str], None] | None = None,
) -> Piles:
    """Double the piles' length until two successive estimates and the bracket agree to `precision`.

    `table` is the saturated system's (no gaps); `initial` the first length, a multiple of the block length.
    """
    engine = choose(backend)
    H = np.zeros((replicas, table.servers))
    base, loss = np.zeros(replicas), np.zeros(replicas)
    n = initial
    engine.run_pile(table, needs, seed, STREAM_PILE, 0, n, H, base, loss)
    previous = n / float(np.mean(base + H[:, -1]))
    while True:
        top, loss_before = base + H[:, -1], loss.copy()
        engine.run_pile(table, needs, seed, STREAM_PILE, n, 2 * n, H, base, loss)
        growth = (base + H[:, -1] - top) / n
        # Server time lost a job over time a job: servers lost.
        hol_loss = ratio_of((loss - loss_before) / (n // look_every(table)), growth, confidence)
        n *= 2
        threshold = _bracket(1.0 / float(np.mean(growth)), n, base + H[:, -1], base, confidence)
        change = abs(threshold.estimate - previous) / threshold.estimate
        width = 2.0 * threshold.relative
        settled = change <= precision and width <= precision
        if progress is not None:
            # Noise falls with the square root of the work, so the share done is about (target / width)^2.
            text = f"threshold {threshold.estimate:.5g} in [{threshold.low:.5g}, {threshold.high:.5g}]"
            progress(1.0 if settled else min(0.99, (precision / width) ** 2), text)
        if settled or 2 * replicas * n > max_jobs:
            return Piles(threshold, hol_loss, replicas, n, settled)
        previous = threshold.estimate


def _bracket(estimate: float, n: int, top: np.ndarray, bottom: np.ndarray, confidence: float) -> Estimate:
    low = n / (float(np.mean(top)) + half_width(top, confidence))
    floor = float(np.mean(bottom)) - half_width(bottom, confidence)
    high = n / floor if floor > 0 else np.inf
    return Estimate(min(max(estimate, low), high), low, high)
