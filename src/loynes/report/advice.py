"""The page of what each policy would give."""

from __future__ import annotations

import math

from loynes.report.content import Content, Grid, Sure, page_for
from loynes.report.simulation import BIAS, EVENTS
from loynes.report.waits import cluster_facts, how_of, intervals, unit_note
from loynes.report.words import count, listed, times
from loynes.results.charts.advice import charts
from loynes.results.records.advice import Advice

JUDGED = (
    "A policy is called unstable where work piled up between the middle and the end of the runs, more than chance "
    "explains. That is a judgement: close to what a policy can carry it may be wrong either way."
)


@page_for(Advice)
def content(result: Advice) -> Content:
    jobs = sum(one.result.jobs for one in result.choices if one.result is not None)
    return Content(
        kind="advise",
        title=result.title,
        facts=[*cluster_facts(result.model)[:-1], count(len(result.choices), "policy", "policies")],
        summary=_sentences(result),
        tiles=[],
        charts=charts(result),
        grids=[Grid.of(result.summary, "Every policy, the best first")],
        sure=Sure([EVENTS, BIAS, JUDGED, intervals(result.confidence)]),
        models=[(result.model.label, result.model)],
        how=how_of(result, confidence=result.confidence, jobs=jobs, model=result.model),
    )


def _sentences(result: Advice) -> list[str]:
    best, how = result.choices[0], times(result.time_unit)
    sentences = []
    if best.result is None or best.state != "stable":
        sentences.append("No policy is stable here.")
    else:
        mean = best.result.overall.wait.mean.estimate
        wait = f": jobs wait {how(mean)} on average" if math.isfinite(mean) else ""
        sentences.append(f"{best.policy} is first by {result.metric}{wait}. But: {best.caveat}.")
        if result.level:
            sentences.append(f"Not told apart from it, as intervals meet: {listed(list(result.level))}.")
    unstable = [one.policy for one in result.choices if one.state == "unstable"]
    if unstable:
        sentences.append(f"Unstable here, as far as runs can tell: {listed(unstable)}.")
    return [*sentences, "All policies had the very same jobs.", *unit_note(result)]
