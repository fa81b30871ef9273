"""Why an answer can be trusted, in plain words; and the page of a certificate alone."""

from __future__ import annotations

import math

from loynes.report.content import Cell, Content, Grid, Sure, Tile, page_for
from loynes.report.waits import cluster_facts, how_of, intervals
from loynes.report.words import about, count, percent, sentence, small, times
from loynes.results.charts.certified import charts, tail
from loynes.results.quantity import quantity
from loynes.results.records.certified import Certified
from loynes.results.records.evaluation import Evaluation
from loynes.stationary.certificate import Certificate

LOWER = (
    "Without a certificate nothing bounds the workload from above: the waits below are lower bounds, "
    "and the truth may be higher than their intervals say."
)
BOUNDED = (
    "Two chains were driven by the same jobs, one started empty and one started above the long-run workload. The truth "
    "lies between them however short the run, and once they have met they are the truth itself. What “above” rests on "
    "is the certificate."
)
PERFECT = (
    "Every sample was followed from the past until a chain started empty and one started above the long-run workload "
    "had met. What “above” rests on is the certificate."
)
TWO_STARTS = (
    "Under this policy nothing bounds waits: they are estimates, event by event. Pairs of runs had the same jobs, one "
    "from an empty cluster and one from a loaded one, and were made longer until both gave the same within their "
    "intervals; every interval here holds those of both."
)
ASSUMED = (
    "Assumed: services have {moments}, which their laws say; and a Student bound for the mean of "
    "exp(theta Y) over independent blocks holds, which is sure to {sure:.6f}."
)
START_TERMS = (
    "Where all runs began without a job.",
    "Where all runs began with jobs in line or at work.",
    "What the beginning still does to the answer, pair by pair on the same jobs.",
)
TAILS = (1e-2, 1e-3, 1e-4, 1e-6)


def explained(certificate: Certificate | None, why: str, method: str, time_unit: str | None, *more: str) -> Sure:
    """Of an evaluation, or of samples; `why` there is no certificate."""
    if certificate is None:
        why = why or "the method used does not give one"
        return Sure([f"There is no certificate: {why}.", LOWER, *more])
    return Sure([PERFECT if method == "perfect" else BOUNDED, *more], terms(certificate, time_unit))


def estimated(evaluation: Evaluation) -> Sure:
    """Of an evaluation under a policy."""
    starts = evaluation.details["starts"]
    apart = "The two agree." if starts["agree"] else "The two do not agree: the numbers may be far off."
    rows = [(str(term), str(value), meaning) for (term, value), meaning in
            zip(evaluation.starts_summary.rows[1:4], START_TERMS, strict=True)]  # fmt: skip
    loaded = f"The loaded start: {starts['loaded_is']}."
    return Sure([TWO_STARTS, apart, loaded, intervals(evaluation.confidence, evaluation.replicas)], rows)


def terms(certificate: Certificate, time_unit: str | None) -> list[tuple[str, str, str]]:
    """Term, value, meaning."""
    c = certificate
    half = f", so half as likely every {_time(math.log(2.0) / c.theta, time_unit)}" if c.theta > 0 else ""
    rows = [
        (
            "theta",
            str(quantity(c.theta, "1/time", time_unit)) if time_unit else f"{c.theta:.6g}",
            f"How fast large workloads become unlikely: the chance of more than x falls like exp(−theta x){half}.",
        ),
        (
            "block",
            count(c.block, "job"),
            "Jobs are taken in blocks of this length. If a whole block needs less time than it takes to arrive, on "
            "average, the cluster as a whole lies below a simple queue whose customers are blocks. "
            f"This was checked on {count(c.blocks, 'block')} of its own.",
        ),
        (
            "drift",
            f"{c.drift:.4g}".replace("-", "−"),
            "Below zero: blocks go faster than they come, with room to spare.",
        ),
    ]
    if c.long is not None:
        rows += [
            (
                "long services",
                str(c.long),
                "From here on a class's services count as long. They are left out of the blocks and bounded by a queue "
                "of their own, to which every job brings one with a small chance.",
            ),
            (
                "rho",
                f"{c.long.rho:.4g}",
                "The load of that queue. Below 1, so that what long services bring, however long they are, has a law "
                "that can be sampled.",
            ),
        ]
    if c.burn_in is not None:
        meaning = "So many jobs were run and thrown away before anything was measured, in both chains."
        rows.append(("burn-in", count(c.burn_in, "job"), meaning))
    if c.distance is not None:
        meaning = (
            "The chance, at most, that a sample differs from one of the long run."
            if c.burn_in is None
            else "The share of pairs of chains that had not met after the burn-in: how far the state then can be from "
            "the long run. Where a pair is still apart, both its chains are counted, so the intervals stay right."
        )
        rows.append(("distance", f"{about(c.distance.estimate)}, at most {small(c.distance.high)}", meaning))
    return rows


def _moments(certificate: Certificate) -> str:
    return "exponential moments" if certificate.long is None else "a finite mean"


def of_several(evaluations: list[Evaluation]) -> Sure:
    """Of the evaluations that a sweep, a plan or a comparison is made of."""
    if not evaluations:
        return Sure(["Nothing was evaluated."])
    if all(one.is_estimate for one in evaluations):
        agree = sum(one.details["starts"]["agree"] for one in evaluations)
        share = f"In {agree} of {count(len(evaluations), 'evaluation')} shown the two starts agree."
        return Sure([TWO_STARTS, share, intervals(evaluations[0].confidence, evaluations[0].replicas)])
    certified = [one.certificate for one in evaluations if one.certificate is not None]
    every = len(certified) == len(evaluations)
    share = "Every evaluation has" if every else f"{len(certified)} of {len(evaluations)} evaluations have"
    reasons = sorted({one.why for one in evaluations if one.certificate is None and one.why})
    sentences = [
        f"{share} a certificate.",
        *([BOUNDED] if certified else []),
        *(f"Elsewhere there is none: {why}." for why in reasons),
        *([] if every else [LOWER]),
        intervals(evaluations[0].confidence, evaluations[0].replicas),
    ]
    burn_ins = [c.burn_in for c in certified if c.burn_in is not None]
    distances = [c.distance.high for c in certified if c.distance is not None]
    rows = []
    if burn_ins:
        least, most = min(burn_ins), max(burn_ins)
        span = count(most, "job") if least == most else f"{least:,} to {count(most, 'job')}"
        rows.append(("burn-in", span, "So many jobs were run and thrown away before anything was measured."))
    if distances:
        meaning = "How far the state after the burn-in can be from the long run, in the worst of the evaluations."
        rows.append(("distance", f"at most {small(max(distances))}", meaning))
    return Sure(sentences, rows)


@page_for(Certified)
def content(result: Certified) -> Content:
    c = result.certificate
    text = " ".join(result.footer.splitlines())
    return Content(
        kind="certify",
        title=f"{result.model.label}: what bounds the workload from above",
        facts=[*cluster_facts(result.model), f"rate {result.rate_words(result.rate)}", f"load {percent(result.load)}"],
        summary=[sentence(part) for part in text.split(". ")] if c else [f"There is no certificate: {result.why}."],
        tiles=[] if c is None else _tiles(c, result.time_unit),
        charts=charts(result),
        grids=[Grid.of(result.summary, "Figures"), *([] if c is None else [_quantiles(c, result.time_unit)])],
        sure=Sure([LOWER])
        if c is None
        else Sure([ASSUMED.format(sure=c.sure, moments=_moments(c))], terms(c, result.time_unit)),
        models=[(result.model.label, result.model)],
        how=how_of(result, model=result.model),
    )


def _levels(certificate: Certificate) -> tuple[str, list[tuple[float, float]]]:
    """What the bound is called, and for every chance the level that it exceeds with no more than that."""
    c = certificate
    levels = [(p, (math.log(1.0 / p) + (c.log_mgf if c.flat else 0.0)) / c.theta) for p in TAILS]
    return "Z" if c.flat else "V", levels


def _time(value: float, time_unit: str | None) -> str:
    return times(time_unit)(value) + ("" if time_unit else " units of time")


def _tiles(certificate: Certificate, time_unit: str | None) -> list[Tile]:
    name, levels = _levels(certificate)
    per = f"per {time_unit.removesuffix('s')} · " if time_unit else ""
    detail = "" if time_unit else "units of time"
    return [
        Tile("theta", f"{certificate.theta:.4g}", f"{per}decay of the bound"),
        *(Tile(f"{name}, but for a chance of {p:g}", f"≤ {times(time_unit)(x)}", detail) for p, x in levels[:2]),
    ]


def _quantiles(certificate: Certificate, time_unit: str | None) -> Grid:
    name, levels = _levels(certificate)
    rows = [[Cell.of(quantity(x, "time", time_unit)), Cell.of(tail(certificate, x))] for _, x in levels]
    return Grid("The bound", (name, "chance of more, at most"), rows)
