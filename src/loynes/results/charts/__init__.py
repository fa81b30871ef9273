"""Charts of results: records that a page's script and matplotlib draw alike."""

from typing import Any

from loynes.errors import UsageError
from loynes.results.base import Result
from loynes.results.charts import (
    certified,
    check,
    comparison,
    evaluation,
    exact,
    fitted,
    plan,
    policies,
    replay,
    samples,
    simulation,
    sweep,
    threshold,
)
from loynes.results.charts.chart import Chart
from loynes.results.charts.register import CHARTS

__all__ = ["Chart", "charts_of"]
_FILLED = (certified, check, comparison, evaluation, exact, fitted, plan, policies, replay, samples, simulation, sweep,
           threshold)  # fmt: skip


def charts_of(result: Result, **options: Any) -> list[Chart]:
    """The charts of any result, the first of which is its picture; a sweep has options."""
    charts = CHARTS.make(result, **options)
    if charts is None:
        raise UsageError("there is no picture of this kind of result")
    return charts
