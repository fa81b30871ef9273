"""Chart of a certificate: how unlikely large workloads are, at most."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.results.charts.chart import Chart, Lines, Place
from loynes.results.charts.measures import time_axis
from loynes.results.charts.register import charts_for
from loynes.results.records.certified import Certified
from loynes.stationary.certificate import Certificate

POINTS = 61
# The bound is drawn down to this probability.
LEAST = 1e-6
QUEUE = "V is the wait in a simple queue of blocks of jobs: V and one more block together lie above the workload."
LEVEL = "Z is a level that lies above the workload of all servers."
LONG = " It bounds the short services; what long ones bring is added."


@charts_for(Certified)
def charts(result: Certified) -> list[Chart]:
    return [] if result.certificate is None else bound(result.certificate)


def bound(certificate: Certificate) -> list[Chart]:
    """The tail P(V > x) <= exp(-theta x) of the queue that lies above the workload, over x."""
    start = certificate.log_mgf if certificate.flat else 0.0
    last = (start - math.log(LEAST)) / certificate.theta
    points = [last * k / (POINTS - 1) for k in range(POINTS)]
    what = "Z" if certificate.flat else "V"
    text = f"exp({start:.4g} − {certificate.theta:.4g} x)" if certificate.flat else f"exp(−{certificate.theta:.4g} x)"
    return [
        Lines(
            title="How fast large workloads become unlikely",
            picture_title=f"A bound of the workload's tail: {text}",
            note=(LEVEL if certificate.flat else QUEUE) + ("" if certificate.long is None else LONG),
            vary=("x",),
            labels=(time_axis("x"),),
            across="time",
            measures=(f"P({what} > x), at most",),
            series=("bound",),
            points=tuple(Place((x,), ((Estimate.exact(tail(certificate, x)),),)) for x in points),
            log=True,
            marks=False,
        )
    ]


def tail(certificate: Certificate, x: float) -> float:
    """The bound of P(V > x), or of P(Z > x) where the bound is a level for all servers."""
    return min(1.0, math.exp((certificate.log_mgf if certificate.flat else 0.0) - certificate.theta * x))
