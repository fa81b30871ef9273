"""Means between runs of cut services: W' <= W <= W'' + V (see `stationary.cut`).

Means of waits and what follows from them lie between those of W' and of W'' + V: responses, whose services are known,
and jobs waiting and in the system (Little). Besides:

- Variances may be infinite, and are open above. E[W^2] is at least E[W'^2], so a variance is at least that minus the
  square of the highest mean. Of a response it is at least that and its service's own; of the responses of all jobs, at
  least the mean of the services' own variances, class by class.
- HOL loss: a job idles f - g, both of which grow with the workload (`brackets`), so it is at most f of W'' + V minus g
  of W', and at least the reverse. V is the same for all servers and idles none. Each end is the sum of two independent
  means, so each of these is surer: together they are as sure as asked for. Where f is not known, or there is no W'',
  all that remains is that no more can idle than there is.
"""

from __future__ import annotations

import math
from dataclasses import replace

from loynes.arrays import Array
from loynes.estimate import Estimate, mean_of
from loynes.estimators.brackets import idled
from loynes.estimators.chains import Mixture, mixture_of
from loynes.estimators.measures import Measures, System, Waits, system_of
from loynes.estimators.regression import AS_THEY_ARE, Regression
from loynes.inputs.tables import Needs
from loynes.kernels.tally import Tally
from loynes.model.cluster import Model

# Of the run from below, and of that from above.
Regressions = tuple[Regression, Regression]


def measures(
    plain: Measures,
    model: Model,
    rate: float,
    needs: Needs,
    below: Tally,
    above: tuple[Tally, float] | None,
    confidence: float,
    regressions: Regressions = (AS_THEY_ARE, AS_THEY_ARE),
) -> Measures:
    """Measures of a run as it is, with its means between those of W', and of W'' and E[V], where there is one; both are
    regressed on controls of their own."""

    def bracketed(of: Waits, share: dict[int, float]) -> Waits:
        mix = mixture_of(model, needs, share)
        mean = _between(of.wait.mean.estimate, *_ends(mix.weight, below, above, confidence, regressions))
        square = mean_of(regressions[0](below.square @ mix.weight / below.looks), confidence)
        least = max(square.low - mean.high**2, 0.0)
        own = math.fsum(p * model.classes[position].service.variance for position, p in share.items())
        of_response = _of_response(of, mix, own, least if len(share) == 1 else 0.0)
        return replace(
            of,
            wait=replace(of.wait, mean=mean, variance=_between(of.wait.variance.estimate, least, math.inf)),
            response=replace(of.response, mean=mean.shifted(mix.service_1), variance=of_response),
        )

    overall = bracketed(plain.overall, {position: c.probability for position, c in enumerate(model.classes)})
    by_class = {c.label: bracketed(plain.classes[c.label], {position: 1.0}) for position, c in enumerate(model.classes)}
    system = _system(plain.system, overall, model, rate, needs, below, above, confidence, regressions)
    return Measures(overall, by_class, system, plain.tails)


def _ends(
    weight: Array, below: Tally, above: tuple[Tally, float] | None, confidence: float, regressions: Regressions
) -> tuple[float, float]:
    low = max(mean_of(regressions[0](below.wait @ weight / below.looks), confidence).low, 0.0)
    if above is None:
        return low, math.inf
    high = mean_of(regressions[1](above[0].wait @ weight / above[0].looks), confidence).high
    # Nobody was seen to wait, which is no proof that nobody does.
    return low, high + above[1] if high > 0 else math.inf


def _of_response(of: Waits, mix: Mixture, own: float, least: float) -> Estimate:
    if not math.isfinite(mix.service_2):
        return Estimate.exact(math.inf)
    return _between(of.response.variance.estimate, own + least, math.inf)


def _system(
    plain: System,
    overall: Waits,
    model: Model,
    rate: float,
    needs: Needs,
    below: Tally,
    above: tuple[Tally, float] | None,
    confidence: float,
    regressions: Regressions,
) -> System:
    seen = [one.hol_loss.estimate / rate for one in plain.resources.values()] or [plain.hol_loss.estimate / rate]
    servers = idled(model, needs)
    # Jobs that need one server each idle none.
    most = 0.0 if servers is not None and not servers.any() else math.inf
    losses = [_between(loss, 0.0, most) for loss in seen]
    if above is not None and servers is not None:
        upper, extra = above
        lower, higher = regressions
        sure = 0.5 * (1.0 + confidence)  # of each of two means
        f = [(tally.wait * needs.weight) @ servers / tally.looks[:, None] for tally in (below, upper)]
        g = [of - tally.loss / tally.looks[:, None] for of, tally in zip(f, (below, upper), strict=True)]
        more = [float(extra * x) for x in needs.weight @ servers]
        losses = [
            _between(
                loss,
                mean_of(lower(f[0][:, kind]), sure).low - mean_of(higher(g[1][:, kind]), sure).high - more[kind],
                mean_of(higher(f[1][:, kind]), sure).high + more[kind] - mean_of(lower(g[0][:, kind]), sure).low,
            )
            for kind, loss in enumerate(seen)
        ]
    return system_of(model, rate, overall.wait.mean, overall.response.mean, losses)


def _between(centre: float, low: float, high: float) -> Estimate:
    """The estimate of the run as it is, moved to the nearer end if it lies outside."""
    return Estimate(min(max(centre, low), high), low, high)
