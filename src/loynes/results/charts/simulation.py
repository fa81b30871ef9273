"""Charts of a simulation: the cluster over time, waits by class, and where the servers are."""

from __future__ import annotations

from collections.abc import Callable

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Moment
from loynes.results.charts.chart import Chart, Lines, Place, Span
from loynes.results.charts.evaluation import servers, waits
from loynes.results.charts.measures import units_of
from loynes.results.charts.register import charts_for
from loynes.results.charts.tails import tail_chart
from loynes.results.records.simulation import Simulation

# What is followed over time: label, and where a moment has it.
AT_MOMENTS: dict[str, Callable[[Moment], Estimate | None]] = {
    "mean wait of those who come": lambda m: m.wait,
    "median wait of those who come": lambda m: m.wait_p50,
    "p95 of the wait of those who come": lambda m: m.wait_p95,
    "jobs waiting": lambda m: m.jobs_waiting,
    "jobs in system": lambda m: m.jobs_in_system,
    "busy servers": lambda m: m.busy_servers,
    "HOL loss (servers)": lambda m: m.hol_loss,
}


@charts_for(Simulation)
def charts(result: Simulation) -> list[Chart]:
    title = f"{result.model.label}, rate {result.rate_words(result.rate, 4)} ({result.policy})"
    by_class = [
        waits(result, title, result.confidence),
        *tail_chart(result.tails, title, result.confidence),
        servers(units_of(result.model), result.system),
    ]
    return [*([over_time(result)] if len(result.moments) > 1 else []), *by_class]


def over_time(result: Simulation) -> Lines:
    """Everything that was followed; a picture has the mean wait, and the jobs waiting on the right."""
    last = max(moment.time for moment in result.moments)
    changes = [(c.since, last if c.until is None else min(c.until, last), c.label) for c in result.model.scenario or ()]
    at = f"{result.model.label}, rate {result.rate_words(result.rate, 4)}"
    return Lines(
        title="Over time",
        about="time",
        picture_title=f"{at}, {result.policy}, from {result.start}",
        note="Bands are intervals." + (" Shaded: changes of the scenario." if changes else ""),
        vary=("time",),
        measures=tuple(AT_MOMENTS),
        units=tuple("time" if "wait of those" in name else "" for name in AT_MOMENTS),
        across="time",
        series=(ALL_JOBS,),
        points=tuple(
            Place((moment.time,), tuple((get(moment),) for get in AT_MOMENTS.values())) for moment in result.moments
        ),
        first=(0, list(AT_MOMENTS).index("jobs waiting")),
        spans=tuple(Span(since, until, label) for since, until, label in changes if since < until),
        confidence=result.confidence,
    )
