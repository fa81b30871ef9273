"""Charts of a plan: every objective against its bound, at all values that were tried."""

from __future__ import annotations

from dataclasses import replace

from loynes.estimate import Estimate
from loynes.results.charts.chart import Bound, Chart, Limit, Lines, Place, Row, Rows, decades
from loynes.results.charts.evaluation import servers, waits
from loynes.results.charts.measures import units_of
from loynes.results.charts.register import charts_for
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.plan import Goal, Plan


@charts_for(Plan)
def charts(result: Plan) -> list[Chart]:
    at = result.named(result.answer)
    by_class = waits(result.meets, f"{result.model.label}: waits at {at}", result.confidence)
    use = servers(units_of(result.meets.model), result.meets.system)
    detail = [replace(chart, title=f"{chart.title} at {at}") for chart in (by_class, use)]
    several = [_together(result)] if len(result.objectives) > 1 else []
    return [_curve(result), *several, *detail]


def places(result: Plan) -> list[tuple[str, float, Evaluation | None]]:
    """Where objectives were judged: what the place is, the value of what is varied, and the evaluation there."""
    beside = []
    if result.fails_at is not None:
        beside.append(("beside the answer", result.fails_at, result.fails))
    beside.append(("the answer", result.answer, result.meets))
    if result.next is not None:
        beside.append(("one further", value_at(result, result.next), result.next))
    return beside


def value_at(result: Plan, there: Evaluation) -> float:
    """Of what is varied, in an evaluation."""
    return there.rate if result.vary == "rate" else float(units_of(there.model)[result.noun])


def value_of(goal: Goal, place: str) -> Estimate | None:
    """An objective's quantity at a place."""
    return {"beside the answer": goal.fails, "the answer": goal.meets, "one further": goal.next}[place]


def at_least(goal: Goal) -> bool:
    """Whether the quantity must not fall below its bound; all others must not exceed it."""
    return goal.text.strip().startswith("no_wait")


def verdict(goal: Goal, value: Estimate) -> str:
    """Whether an objective's own interval meets its bound: met, not met, or cannot be told."""
    good, bad = value.high <= goal.bound, value.low > goal.bound
    if at_least(goal):
        good, bad = value.low >= goal.bound, value.high < goal.bound
    return "met" if good else "not met" if bad else "cannot be told"


def _curve(result: Plan) -> Lines:
    """Every objective's quantity, and the mean wait, at every value that was tried."""
    points = tuple(
        Place(
            (look.value,),
            tuple((value,) for value in (*(look.objectives or [None] * len(result.objectives)), look.wait)),
            look.why or "no answer",
        )
        for look in result.curve
    )
    first = [point.values[0][0] for point in points]
    return Lines(
        title=f"What every {'rate' if result.vary == 'rate' else 'size'} gives",
        picture_title=result.statement,
        about="curve",
        note="All values that were tried, at the closest look at each. Bands are intervals: the whole interval must "
        "lie on the shaded side of the bound.",
        vary=(result.noun,),
        measures=(*(quantity(goal) for goal in result.objectives), "mean wait"),
        units=(*(goal.unit for goal in result.objectives), "time"),
        across="jobs/time" if result.vary == "rate" else "",
        names="",
        series=("value",),
        points=points,
        bounds=(*(Bound(goal.bound, at_least(goal)) for goal in result.objectives), None),
        limits=(Limit(result.answer, "the answer:"),),
        log=decades([*first, Estimate.exact(result.objectives[0].bound)]),
        confidence=result.confidence,
    )


def quantity(goal: Goal) -> str:
    """What an objective is about, without its bound."""
    return goal.text.rpartition(">" if at_least(goal) else "<")[0].strip() or goal.text


def _together(result: Plan) -> Rows:
    """Every objective as a part of its bound: what lies below 1 is met."""

    def share(goal: Goal, value: Estimate | None) -> Estimate | None:
        if value is None or goal.bound == 0:
            return None
        if not at_least(goal):
            return value.scaled(1.0 / goal.bound)
        ends = (goal.bound / x if x > 0 else float("inf") for x in (value.estimate, value.high, value.low))
        return Estimate(*ends)

    rows = [
        Row(result.named(at), tuple(share(goal, value_of(goal, place)) for goal in result.objectives))
        for place, at, there in places(result)
        if there is not None
    ]
    return Rows(
        title="Objectives over their bounds",
        picture_title=result.statement,
        axis="value / bound",
        measures=tuple(goal.text for goal in result.objectives),
        rows=tuple(rows),
        bound=1.0,
        confidence=result.confidence,
        note="At most 1 is met."
        + (" Of what must be at least so much: bound / value." if any(map(at_least, result.objectives)) else ""),
    )
