"""Charts of one log in several cases: waits of all jobs, who gains and who pays, and the line over time."""

from __future__ import annotations

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.results.charts.chart import Chart, Lines, Place, Row, Rows
from loynes.results.charts.measures import SYSTEM, named, time_axis, times_of, waits_of
from loynes.results.charts.register import charts_for
from loynes.results.records.replay_cases import Gains, ReplayCases
from loynes.results.times import unit_of


@charts_for(ReplayCases)
def charts(result: ReplayCases) -> list[Chart]:
    size, unit = result.unit
    return [*_classes(result, size, unit), _cases(result, size, unit), *_sizes(result), *_gains(result)]


def _cases(result: ReplayCases, size: float, unit: str) -> Rows:
    shown = waits_of(result.cases[0].result.overall)
    rows = [
        Row(case.name, tuple(metric.get(case.result.overall).scaled(1.0 / size) for metric in shown))
        for case in result.cases
    ]
    return Rows(
        title="Cases",
        picture_title=result.title,
        about="cases",
        axis=time_axis("wait", unit),
        measures=tuple(metric.column for metric in shown),
        rows=tuple(rows),
        first=(0, min(2, len(shown) - 1)),
        offer_log=True,
        note="Waits of all jobs in every case. They are exact for these jobs.",
    )


def _classes(result: ReplayCases, size: float, unit: str) -> list[Chart]:
    """Every class's mean wait in every case."""
    names = list(dict.fromkeys(name for case in result.beside for name in case.result.classes))
    if len(result.cases) < 2:
        return []

    def values(name: str) -> tuple[Estimate | None, ...]:
        every = [{ALL_JOBS: case.result.overall, **case.result.classes}.get(name) for case in result.beside]
        return tuple(None if one is None else one.wait.mean.scaled(1.0 / size) for one in every)

    return [
        Rows(
            title="Who gains, and who pays",
            picture_title=f"{result.model.name}: mean waits by {result.by}",
            about="classes",
            axis=time_axis("mean wait", unit),
            measures=tuple(case.name for case in result.beside),
            rows=tuple(Row(name, values(name)) for name in (ALL_JOBS, *names)),
            pinned=1,
            offer_log=True,
            note="Mean waits of every class in every case. They are exact for these jobs.",
        )
    ]


def _gains(result: ReplayCases) -> list[Chart]:
    """How much less or more each class waits than in the first case; by size, where classes are something else."""
    found = []
    for by_size in (False, True):
        others = [(case.name, case.by_size if by_size else case.gains) for case in result.beside[1:]]
        names = list(dict.fromkeys(name for _, gains in others for name in gains))
        if not names:
            continue
        size, unit = unit_of(max(abs(gain.wait) for _, gains in others for gain in gains.values()))

        def value(gain: Gains | None, size: float = size) -> Estimate | None:
            return None if gain is None else Estimate.exact(gain.wait / size)

        rows = tuple(Row(name, tuple(value(gains.get(name)) for _, gains in others)) for name in names)
        what = "need" if by_size else result.by
        found.append(
            Rows(
                title=f"Waits minus those under “{result.cases[0].name}”, by {what}",
                picture_title=f"{result.model.name}: mean wait minus that under {result.cases[0].name}, by {what}",
                about="gains by size" if by_size else "gains",
                axis=time_axis("difference of mean waits", unit),
                measures=tuple(name for name, _ in others),
                rows=rows,
                zero=True,
                note="Below zero: those who gain. Job by job, of the jobs that are in both cases.",
            )
        )
    return list(found)


def _sizes(result: ReplayCases) -> list[Chart]:
    """Against the number of servers, a line a policy."""
    sizes = list(dict.fromkeys(case.config.get("servers") for case in result.cases))
    if len(sizes) < 2 or None in sizes:
        return []
    policies = list(dict.fromkeys(case.config.get("policy", case.result.policy) for case in result.cases))
    at = {(case.config["servers"], case.config.get("policy", case.result.policy)): case.result for case in result.cases}
    times = times_of(result.cases[0].result.overall)
    points = tuple(
        Place(
            (float(size),),
            (
                *(tuple(metric.get(at[size, policy].overall) for policy in policies) for metric in times),
                *(tuple(metric.get(at[size, policy].system) for policy in policies) for metric in SYSTEM),
            ),
        )
        for size in sizes
        if size is not None
    )
    return [
        Lines(
            title="How it changes with the number of servers",
            picture_title=result.title,
            about="servers",
            note="Every point is a replay of the same jobs, but for those that do not fit.",
            vary=("servers",),
            measures=tuple(named(metric) for metric in (*times, *SYSTEM)),
            units=tuple(metric.unit for metric in (*times, *SYSTEM)),
            names="Policies",
            series=tuple(policies),
            points=points,
            confidence=None,
        )
    ]
