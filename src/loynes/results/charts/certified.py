"""Chart of a certificate: how unlikely large workloads are, at most."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Lines, Place
from loynes.results.charts.register import charts_for
from loynes.stationary.certificate import Certificate, NoCertificate

POINTS = 61
# The bound is drawn down to this probability.
LEAST = 1e-6
QUEUE = "V is the wait in a simple queue of blocks of jobs: V and one more block together lie above the workload."
LEVEL = "Z is a level that lies above the workload of all servers."


@charts_for(Certificate)
def charts(result: Certificate) -> list[Chart]:
    """The tail P(V > x) <= exp(-theta x) of the queue that lies above the workload, over x."""
    start = result.log_mgf if result.flat else 0.0
    last = (start - math.log(LEAST)) / result.theta
    points = [last * k / (POINTS - 1) for k in range(POINTS)]
    what = "Z" if result.flat else "V"
    bound = f"exp({start:.4g} − {result.theta:.4g} x)" if result.flat else f"exp(−{result.theta:.4g} x)"
    return [
        Lines(
            title="How fast large workloads become unlikely",
            picture_title=f"A bound of the workload's tail: {bound}",
            note=LEVEL if result.flat else QUEUE,
            vary=("x",),
            measures=(f"P({what} > x), at most",),
            series=("bound",),
            points=tuple(Place((x,), ((Estimate.exact(tail(result, x)),),)) for x in points),
            log=True,
            marks=False,
        )
    ]


def tail(certificate: Certificate, x: float) -> float:
    """The bound of P(V > x), or of P(Z > x) where the bound is a level for all servers."""
    return min(1.0, math.exp((certificate.log_mgf if certificate.flat else 0.0) - certificate.theta * x))


@charts_for(NoCertificate)
def no_charts(result: NoCertificate) -> list[Chart]:
    return []
