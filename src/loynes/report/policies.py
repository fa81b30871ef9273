"""The page of a comparison of policies: the same jobs under each, and what each can carry."""

from __future__ import annotations

from loynes.report.comparison import clear, size_of
from loynes.report.content import Content, Grid, Sure, page_for
from loynes.report.simulation import BIAS, EVENTS
from loynes.report.waits import cluster_facts, how_of, intervals, rate_tile, unit_note
from loynes.report.words import between, count, listed, percent, rates, times
from loynes.results.charts.policies import charts
from loynes.results.records.policies import PolicyComparison

LIMITS = (
    "What first come, first served can carry is the threshold of the recurrence. For the other policies it is an "
    "estimate: at many rates runs were watched for work that piles up. Its interval is a judgement, not a certificate."
)


@page_for(PolicyComparison)
def content(result: PolicyComparison) -> Content:
    paired = (
        f"Differences from {result.baseline} are taken on the same jobs, and known better than the waits themselves."
    )
    carried = [
        rate_tile(
            f"{name} can carry",
            limit.rate,
            result.time_unit,
            3,
            f"{percent(limit.rate.estimate / result.ideal)} of the ideal",
        )
        for name, limit in result.limits.items()
    ]
    jobs = sum(point.result.jobs for point in result.points if point.result is not None)
    return Content(
        kind="compare policies",
        title=f"{result.model.label}: {listed(list(result.policies))} on the same jobs",
        facts=[*cluster_facts(result.model)[:-1], count(len(result.policies), "policy", "policies")],
        summary=_sentences(result),
        tiles=carried[:6],
        charts=charts(result),
        grids=[
            *([Grid.of(result.limits_summary, "What each can carry")] if result.limits else []),
            *([Grid.of(result.summary, "Every rate and policy, all jobs")] if result.points else []),
        ],
        sure=Sure([EVENTS, BIAS, *([LIMITS] if result.limits else []), f"{intervals(result.confidence)} {paired}"]),
        models=[(result.model.label, result.model)],
        how=how_of(result, confidence=result.confidence, jobs=jobs, model=result.model),
    )


def _sentences(result: PolicyComparison) -> list[str]:
    sentences = []
    compared = [(point, point.difference) for point in result.points if point.difference is not None]
    last = max((point.load for point, _ in compared), default=0.0)
    for point, less in compared:
        if point.load == last:
            how = times(result.time_unit)
            size = f"{how(abs(less.estimate))}{between(size_of(less), result.confidence, how)}"
            moves = (
                f"{size} {'shorter' if less.estimate < 0 else 'longer'}" if clear(less) else "not told apart from it"
            )
            start = f"At {percent(last)} of what {result.baseline} can take"
            sentences.append(f"{start}, the mean wait under {point.policy} is {moves}.")
    carried = [f"{name} {rates(result.time_unit)(limit.rate.estimate)}" for name, limit in result.limits.items()]
    if carried:
        sentences.append(f"Each can carry: {', '.join(carried)}.")
    return [*sentences, "All policies had the very same jobs.", *unit_note(result)]
