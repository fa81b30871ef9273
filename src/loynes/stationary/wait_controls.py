"""What the jobs of each replica brought, beyond what they bring on average: controls of averages of waits.

Waits are long where jobs brought more than could be done, most of all where they were long already. Let y be the wait
that an observed arrival expects, and x the surplus until the next one: what jobs bring, in the time that a saturated
cluster takes for it, less the time that passes, less what that is on average, -d. Of a workload as high as y the square
becomes (y + x - d)^2 unless somebody idles, and in stationarity it stays the same on average. So along a path of a
single-server queue, from one observed arrival to the next,

    2 d y  =  2 y x + (x - d)^2 - (what idling takes from the square) - (growth of the square),

where the growth adds up to what it is at the ends of the path: but for idling, sums of y x, x and x^2 explain the sum
of y (Henderson and Glynn 2002; `docs/certified.md`). Their expectations are known for every cluster, from any start: y
is known before the jobs of the stretch are drawn, and these are independent of it. How much they explain a regression
finds.

Where services vary much, a few long ones bring most of the noise: a job of length s keeps others waiting for about s,
each of them about as long, so it adds about s^2 to a sum of waits. How many others depends on its need: then the
classes that bring most have a control each, all others one together.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.arrivals import POISSON, RENEWAL
from loynes.inputs.tables import JobTable
from loynes.kernels.controls import SEEN, SERVICES, Controls
from loynes.kernels.engine import Array
from loynes.kernels.tally import Tally
from loynes.model.arrivals import Renewal
from loynes.model.cluster import Model

# Classes whose squares have a control of their own, where services reach far.
MOST_ALONE = 8


class WaitControls:
    """Which sums chains are to add up, and how far these are from what they are expected to be."""

    def __init__(self, model: Model, table: JobTable, *, threshold: float, stride: int, far_reaching: bool) -> None:
        taken = np.array([np.add(model.demand(c), model.specific(c)) for c in model.classes])
        weight = (taken / np.array(model.units)).max(axis=1)
        probability = np.array([c.probability for c in model.classes])
        mean = np.array([c.service.mean for c in model.classes])
        second = mean**2 + np.array([c.service.variance for c in model.classes])
        # In time: saturated, the cluster takes 1 / threshold for a job.
        weight = weight / (threshold * float(probability @ (weight * mean)))
        squares = probability * weight * second
        alone = np.argsort(-squares, kind="stable")[: MOST_ALONE if far_reaching else 0]
        group = np.full(len(weight), len(alone))
        group[alone] = np.arange(len(alone))
        work, gap = float(probability @ (weight * mean)), _gap_variance(model, table)
        variance = float(probability @ (weight**2 * second)) - work**2 + (0.0 if gap is None else gap)
        # What controls are expected to be: the sums of each stretch; and, of the squares of services, of each job.
        self._expected = np.array([0.0, 0.0, stride * variance, *(stride * np.bincount(group, weights=squares))])
        # Without a third moment waits have no variance, nor have sums of them; and the error of a regression on them is
        # an average of their squares times those of residuals, which settles with a fourth moment only.
        self._kept = np.isfinite(self._expected)
        self._kept[SEEN] = model.highest_moment >= 4
        passing = 0.0 if gap is None else 1.0
        expected = stride * (work - passing * table.gap_mean)
        self.sums = Controls(weight, group, len(self._expected) - SERVICES, passing, expected)

    def deviations(self, tally: Tally) -> Array:
        """[row, control], averages over observed arrivals minus their expectations, the most useful first."""
        return np.asarray((tally.sums / tally.looks[:, None] - self._expected)[:, self._kept])


def _gap_variance(model: Model, table: JobTable) -> float | None:
    """Of gaps that are independent of one another; None of others."""
    if table.arrivals.sizes > 0 or table.arrivals.process not in (POISSON, RENEWAL):
        return None
    if isinstance(model.arrivals, Renewal):
        return float(model.arrivals.gap.variation**2) * table.gap_mean**2
    return table.gap_mean**2
