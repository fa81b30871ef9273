"""What the jobs of each replica brought, beyond what they bring on average: controls of averages of waits.

A queue's waits are long where more work came than time passed, most of all while they were long already. Let y be the
wait that an observed arrival expects, and x the work that jobs bring until the next one (in time: work over the rate at
which a saturated cluster does it) less the time that passes. Of the height of the workload, which y is, the square
becomes (y + x)^2 while nobody idles, and in stationarity it does not grow on average: 2 E[y] E[x] + E[x^2] + (what
idling adds) = 0. Along a path that is a sum with a martingale, 2 y (x - E[x]) + x^2 - E[x^2], and in a single-server
queue all but the ends of the path and the idling is explained by it (Henderson and Glynn 2002; `docs/certified.md`).

Whether a cluster follows that height or not, the sums have expectation 0, from any start: y is known before the jobs of
the stretch are drawn, and they are independent of it. A regression finds how much they explain. Their order is that of
what they are expected to explain, for few replicas allow few of them.

Where services vary much, a few long ones bring most of the noise: a job of length x keeps others waiting for about x,
each of them about as long, so it adds about x^2 to a sum of waits. How many others depends on its need: then the
classes that bring most, weighted by the part of the servers that they need, have a control each, all others one
together.
"""

from __future__ import annotations

import numpy as np

from loynes.inputs.arrivals import POISSON, RENEWAL
from loynes.inputs.tables import JobTable
from loynes.kernels import controls as columns
from loynes.kernels.controls import Controls
from loynes.kernels.engine import Array
from loynes.kernels.tally import Tally
from loynes.model.arrivals import Renewal
from loynes.model.cluster import Model

# Classes whose squares have a control of their own, where services reach far.
MOST_ALONE = 8
# Sums of what jobs bring: alone, times the wait that is seen, times its square.
OF_WORK = (columns.WORK, columns.SEEN_WORK, columns.FAR_WORK)
OF_TIME = (columns.TIME, columns.SEEN_TIME, columns.FAR_TIME)


class WaitControls:
    """Which sums chains are to add up, and how far these are from what they are expected to be."""

    def __init__(self, model: Model, table: JobTable, *, threshold: float, stride: int, far_reaching: bool) -> None:
        taken = np.array([np.add(model.demand(c), model.specific(c)) for c in model.classes])
        weight = (taken / np.array(model.units)).max(axis=1)
        probability = np.array([c.probability for c in model.classes])
        mean = np.array([c.service.mean for c in model.classes])
        second = mean**2 + np.array([c.service.variance for c in model.classes])
        squares = probability * weight * second
        alone = np.argsort(-squares, kind="stable")[: MOST_ALONE if far_reaching else 0]
        group = np.full(len(weight), len(alone))
        group[alone] = np.arange(len(alone))
        self._squares = np.bincount(group, weights=squares)
        self._work = float(probability @ (weight * mean))
        self._work_variance = float(probability @ (weight**2 * second)) - self._work**2
        self._time_variance = _gap_variance(model, table)
        self._stride, self._scale = stride, 1.0 / (threshold * self._work)
        # The wait that is seen, and its square, times what jobs bring: where that has a variance, and is not too wild.
        self._powers = 2 if not far_reaching else int(model.highest_moment > 3)
        self.sums = Controls(weight, group, len(self._squares), stride * self._work, stride * table.gap_mean)

    def deviations(self, tally: Tally) -> Array:
        """[row, control], averages over observed arrivals minus their expectations, the most useful first."""
        a = (tally.sums / tally.looks[:, None]).T
        work, time = a[list(OF_WORK[: 1 + self._powers])], a[list(OF_TIME[: 1 + self._powers])]
        squares = a[columns.SQUARES :] / self._stride - self._squares[:, None]
        crossed, work_work = a[columns.WORK_TIME], a[columns.WORK_WORK] - self._stride * self._work_variance
        if self._time_variance is None:
            found = [*work[:2], work_work, *squares, *work[2:], crossed]
        else:
            net = self._scale * work - time
            time_time = a[columns.TIME_TIME] - self._stride * self._time_variance
            net_net = self._scale**2 * work_work - 2.0 * self._scale * crossed + time_time
            found = [*net[:2], net_net, *squares, *net[2:], *work, work_work, crossed]
        return np.array([one for one in found if np.isfinite(one).all()]).T


def _gap_variance(model: Model, table: JobTable) -> float | None:
    """Of gaps that are independent of one another; None of others."""
    if table.arrivals.sizes > 0 or table.arrivals.process not in (POISSON, RENEWAL):
        return None
    if isinstance(model.arrivals, Renewal):
        return float(model.arrivals.gap.variation**2) * table.gap_mean**2
    return table.gap_mean**2
