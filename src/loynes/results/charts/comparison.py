"""Charts of a comparison: differences by class, second minus first."""

from __future__ import annotations

from collections.abc import Iterator

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.estimators.metrics import Metric
from loynes.estimators.pairs import Difference
from loynes.results.charts.chart import Chart, Row, Rows
from loynes.results.charts.measures import times_of
from loynes.results.charts.register import charts_for
from loynes.results.records.comparison import Comparison


@charts_for(Comparison)
def charts(result: Comparison) -> list[Chart]:
    a, b = result.called
    metrics = compared(result)
    rows = [Row(name, tuple(minus(one, metric) for metric in metrics)) for name, one in differences(result)]
    names = [metric.name for metric in metrics]
    return [
        Rows(
            title=f"{b} minus {a}",
            picture_title=f"{b} minus {a}",
            axis="difference",
            measures=tuple(metric.label for metric in metrics),
            units=tuple(metric.unit for metric in metrics),
            rows=tuple(rows),
            first=tuple(names.index(name) for name in ("wait.mean", "wait.p95") if name in names),
            together=False,
            pinned=1,
            zero=True,
            confidence=result.confidence,
            note=f"Below zero: less with “{b}”. Hollow marks: the interval holds zero, so there may be no difference.",
        )
    ]


def differences(result: Comparison) -> Iterator[tuple[str, Difference]]:
    """Of all jobs, then of every class that both have."""
    yield ALL_JOBS, result.overall
    yield from result.classes.items()


def compared(result: Comparison) -> list[Metric]:
    """The metrics whose differences are known."""
    return [metric for metric in times_of(result.a.overall) if minus(result.overall, metric) is not None]


def minus(difference: Difference, metric: Metric) -> Estimate | None:
    """The difference of a metric, if it is known."""
    what, _, stat = metric.name.partition(".")
    of = {"wait": difference.wait, "response": difference.response}
    return of[what].get(stat) if what in of else difference.no_wait
