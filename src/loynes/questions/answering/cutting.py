"""Means without a variance, bracketed by two more runs with services cut (see `stationary.cut`).

The run as it is comes first and has half of all jobs; where to cut is chosen by how long it was. The two that follow
have random numbers of their own, so that what was chosen by the first does not depend on them. From below: chains from
empty, which are below stationarity however short. From above: a sandwich at the higher rate, with a certificate of its
own, of which the upper chains count.
"""

from __future__ import annotations

from dataclasses import replace

from loynes.estimators import cuts
from loynes.estimators.regression import AS_THEY_ARE
from loynes.execution.context import Context
from loynes.kernels.tally import Tally
from loynes.model import Model
from loynes.questions.answering.evaluating import Outcome
from loynes.questions.answering.methods import Methods
from loynes.questions.answering.thresholds import fewest_moments
from loynes.stationary.cut import Cut, choose, cut_services

# Of all work, the run as it is, and the two with services cut: their shares, and where these begin.
PLAIN, BELOW, ABOVE = 0.5, 0.2, 0.3
# Of the jobs of the run as it is, those of each of the two.
PART = 0.5
# Seeds are below 2^64; half of them away lies another.
OTHER_SEED = 1 << 63


def plain_run(methods: Methods) -> Methods:
    """The same with the share of work that is the run's as it is."""
    most = PLAIN * methods.max_jobs
    question = methods.q.model_copy(update={"max_jobs": most})
    return replace(methods, q=question, context=methods.context.part(0.0, PLAIN))


def bracketed(methods: Methods, plain: Outcome, context: Context) -> Outcome:
    """The outcome of a run, its means bracketed; `context` is that of the whole work."""
    model, rate = methods.model, methods.rate
    stride = context.engine.look_every(methods.table)
    looks = plain.details.get("observed_arrivals", plain.jobs // stride)
    samples = max(1, int(PART * looks))
    wait = plain.measures.overall.wait.mean.estimate
    cut = choose(model, rate, methods.judged.threshold.low, wait, samples * stride)
    shorter = cut_services(model, cut.at)
    question = methods.q.model_copy(
        update={
            "model": shorter,
            "samples": samples,
            "max_jobs": 0.5 * methods.max_jobs,
            "seed": methods.q.seed ^ OTHER_SEED,
        }
    )
    chains = (plain.replicas, plain.details["burn_in"]) if plain.method == "sandwich" else (None, None)
    below_context = context.part(PLAIN, BELOW, f"services cut at {cut.at:.4g}, from below")
    below = replace(methods, q=question, context=below_context).forward(*chains)
    jobs = plain.jobs + below.jobs
    above: tuple[Tally, float] | None = None
    of_above = AS_THEY_ARE
    slack, extra = cut.slack, cut.extra
    if slack is not None and extra is not None:
        above_context = context.part(PLAIN + BELOW, ABOVE, f"services cut at {cut.at:.4g}, from above")
        judged = replace(methods.judged, rate=rate / (1.0 - slack))
        run = replace(methods, q=question, judged=judged, context=above_context)
        found = run.sandwich(plain.replicas if plain.method == "sandwich" else None, methods.q.burn_in)
        jobs += found.jobs
        if found.certificate is None:
            cut = cut.only_below(f"at the rate {judged.rate:.6g} that it takes there is no certificate: {found.why}")
        else:
            above, of_above = (found.tallies[-1], extra), found.regression
    measures = cuts.measures(
        plain.measures,
        model,
        rate,
        methods.needs,
        below.tallies[0],
        above,
        methods.q.confidence,
        (below.regression, of_above),
    )
    return replace(
        plain,
        measures=measures,
        jobs=jobs,
        details=plain.details | {"cut": cut.details},
        warnings=(*plain.warnings, _said(model, rate, cut)),
    )


def _said(model: Model, rate: float, cut: Cut) -> str:
    """What a reader must be told; what comes before the first bracket is the same for all rates."""
    text = (
        f"{fewest_moments(model)}the mean wait has no variance to take an interval from: means are bracketed by cutting"
        f" services, a wide bracket (cut at T = {cut.at:.4g}; "
    )
    if cut.slack is None or cut.extra is None:
        return text + f"lower end from services cut at T; no upper end: {cut.why})"
    return text + (
        f"lower end from services cut at T, upper end from these at the rate {rate / (1.0 - cut.slack):.6g} plus "
        f"{cut.extra:.4g} for what is cut off)"
    )
