"""Pages of answers from a log: waits, what each size promises, and cases beside each other."""

from __future__ import annotations

import math

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS
from loynes.report.content import Content, Grid, Sure, Tile, page_for
from loynes.report.objectives import objective_grids, verdicts
from loynes.report.sensitivity import effects_grid, effects_tiles
from loynes.report.waits import extremes, how_of, losses, typical, wait_tiles
from loynes.report.words import about, between, count, duration, percent, sentence
from loynes.results.charts.logs import case_charts, charts, plan_charts
from loynes.results.charts.sensitivity import charts as effects_charts
from loynes.results.records.advice import LogAdvice
from loynes.results.records.log_cases import LogCases, LogComparison, LogSweep
from loynes.results.records.log_evaluation import LogEvaluation
from loynes.results.records.log_plan import LogPlan
from loynes.results.records.sensitivity import LogSensitivity
from loynes.results.tables import system_table

DATA = (
    "Figures are those of the log itself. Their intervals say where they lie in the long run, given this log: what its "
    "length leaves open. Only more of log narrows them. They come from resamples, other logs put together from "
    "stretches of this one's days; they are estimated, not proved."
)
ASSUMED = (
    "The future is taken to be like the log, but for what was changed: users submit what they submitted, however long "
    "they wait."
)
PROBABILITY = (
    "A probability is about the log: had these days been others, or more, another answer might have come out. It says "
    "how much of a figure's interval lies within the objective; of several objectives together it is at least so high."
)
DIFFERENCES = (
    "All cases run on the same resamples, and the intervals of differences are those of resamples one by one: they are "
    "narrower than the waits themselves would let one think."
)


@page_for(LogEvaluation)
def content(result: LogEvaluation) -> Content:
    return Content(
        kind="evaluate",
        title=f"{result.model.name}: what the log can tell",
        facts=_facts(result),
        summary=[*verdicts(result.objectives), *_sentences(result)],
        tiles=wait_tiles(result, result.system, result.confidence, duration),
        charts=charts(result),
        grids=[
            *objective_grids(result.objectives, result.objectives_summary),
            Grid.of(result.summary, f"Waits by class, in {result.unit[1]}", pinned=1),
            Grid.of(system_table(result.system), "The cluster"),
            Grid.of(result.doubt_summary, f"How sure the mean wait is, in {result.unit[1]}"),
        ],
        sure=Sure([DATA, _resamples(result), ASSUMED]),
        how=_how(result),
    )


@page_for(LogPlan)
def plan_content(result: LogPlan) -> Content:
    answer = result.meets
    return Content(
        kind="plan",
        title=f"{result.model.name}: how {'much' if result.vary == 'scale' else 'many'} it takes",
        facts=_facts(answer)[1:],
        summary=[sentence(result.statement), *_sentences(answer)],
        tiles=[
            Tile(result.vary, f"{result.answer:,.6g}", f"with probability {about(result.at_answer)}"),
            *(
                Tile(
                    goal.text,
                    (duration if goal.unit == "time" else about)(goal.value.estimate),
                    f"met with probability {about(goal.probability)}",
                )
                for goal in result.objectives[:3]
            ),
        ],
        charts=plan_charts(result),
        grids=[
            Grid.of(result.summary, "Values that were tried"),
            Grid.of(result.goals_summary, f"At {result.named(result.answer)}"),
            Grid.of(answer.summary, f"Waits at {result.named(result.answer)}, in {answer.unit[1]}", pinned=1),
        ],
        sure=Sure([PROBABILITY, DATA, _resamples(answer), ASSUMED]),
        how=_how(answer),
    )


@page_for(LogSweep)
def sweep_content(result: LogSweep) -> Content:
    return _cases(result, "sweep")


@page_for(LogComparison)
def comparison_content(result: LogComparison) -> Content:
    return _cases(result, "compare")


@page_for(LogAdvice)
def advice_content(result: LogAdvice) -> Content:
    return _cases(result, "advise")


@page_for(LogSensitivity)
def sensitivity_content(result: LogSensitivity) -> Content:
    return Content(
        kind="sensitivity",
        title=result.title,
        facts=[count(result.model.servers, "server"), f"under {result.policy}", count(result.days, "day")],
        summary=[sentence(result.statement)],
        tiles=effects_tiles(result, result.confidence),
        charts=effects_charts(result, result.confidence),
        grids=[effects_grid(result)],
        sure=Sure([DATA, DIFFERENCES, ASSUMED]),
        how=how_of(
            result, ("log", result.model.source), method="resampled log", confidence=result.confidence, jobs=result.jobs
        ),
    )


def _cases(result: LogCases, kind: str) -> Content:
    first, *others = result.cases
    unit = result.unit[1]
    mean = first.result.overall.wait.mean
    sentences = [f"{first.name}: jobs wait {_with(mean, result.confidence)} on average."]
    for case in others[:3]:
        minus = case.differences[ALL_JOBS]["wait.mean"]
        sentences.append(f"{case.name}: {_less_or_more(minus, result.confidence)}.")
    more = [Grid.of(result.classes_summary, f"Mean waits by class, in {unit}")] if len(result.tables) > 1 else []
    return Content(
        kind=kind,
        title=f"{result.model.name}: {count(len(result.cases), 'case')}",
        facts=[count(first.result.days, "day"), f"{first.result.resamples} resamples"],
        summary=sentences,
        tiles=[],
        charts=case_charts(result),
        grids=[Grid.of(result.summary, f"Cases, in {unit}"), *more],
        sure=Sure([DATA, DIFFERENCES, _resamples(first.result), ASSUMED]),
        how=how_of(result, ("log", result.model.source), method="resampled log", confidence=result.confidence),
    )


def _facts(result: LogEvaluation) -> list[str]:
    return [
        count(result.model.servers, "server"), f"under {result.policy}", count(result.days, "day"), *result.changes,
    ]  # fmt: skip


def _sentences(result: LogEvaluation) -> list[str]:
    mean, ahead = result.overall.wait.mean, result.ahead.overall.wait.mean
    believed = result.details.get("believed")
    period = f"The next {result.days} days may be off that, if they are like these{between(ahead, None, duration)}."
    return [
        f"Jobs like those of this log wait {_with(mean, result.confidence)} on average.",
        sentence(typical(result.overall, duration)),
        *([period] if math.isfinite(ahead.low) or math.isfinite(ahead.high) else []),
        *extremes(result.classes, duration),
        *losses(result.system, {"servers": result.model.servers}),
        *([f"The scheduler believes in {believed}."] if believed else []),
    ]


def _with(value: Estimate, confidence: float) -> str:
    return f"{duration(value.estimate)}{between(value, confidence, duration)}"


def _less_or_more(minus: Estimate, confidence: float) -> str:
    if not math.isfinite(minus.estimate):
        return "there is no finite difference to report"
    ends = between(minus, confidence, duration)
    if minus.estimate == 0:
        return f"no difference{ends}"
    return f"{duration(abs(minus.estimate))} {'less' if minus.estimate < 0 else 'more'}, as a difference{ends}"


def _resamples(result: LogEvaluation) -> str:
    return (
        f"There are {result.resamples} resamples of {result.days} days, in stretches of {about(result.block)} on "
        f"average; {percent(result.below)} of them wait less than the log itself."
    )


def _how(result: LogEvaluation) -> list[tuple[str, str]]:
    return how_of(
        result, ("log", result.model.source), method=result.method, confidence=result.confidence, jobs=result.jobs
    )
