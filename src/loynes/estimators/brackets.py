"""Measures between chains from below and from above that have not met.

L <= W <= U, entry by entry: the stationary workload W lies between those of two chains, and so does the mean of
whatever grows with the workload. A variance and the HOL loss do not grow with it, but each is a difference of two means
that do, f - g. It is at least f of the lower chain minus g of the upper one, and at most the reverse.

- Variance of a wait: f = E[W^2], g = E[W]^2. So E[L^2] - E[U]^2 <= variance <= E[U^2] - E[L]^2.
- Variance of a response, services independent of waits given the class: that of the wait, that of the service, and
  2 sum_k p_k (m_k - m) E[W_k], with p_k the probability of need k, m_k the mean service of its jobs and m that of all.
  A term goes to f where m_k > m, else to g. Of a single class there is none.
- HOL loss of identical servers: a job that needs a of them idles (a - 1) W[a-1] - sum_{i<a-1} W[i]. With f the first
  part, the loss lies between that of the upper chain minus (f_U - f_L) and that of the lower one plus (f_U - f_L).
- HOL loss of n servers of a kind, jobs strictly in turn: sum_i (start - W[i])^+, and the start grows with the workload.
  It is at most sum_i (start_U - L[i])^+, which is at most the lower chain's loss plus n (start_U - start_L); likewise
  below. With one kind of servers n - 1 does, as the last server that a job waits for never idles for it.

Both ends are means over independent replicas, in which the chains are paired, so each has an ordinary interval; the
bracket goes from the low end of the one to the high end of the other. Where jobs are not strictly in turn, losses and
waits are not seen at the same arrivals, and the HOL loss has the hull of both chains' intervals instead (`hulls`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loynes.arrays import Array
from loynes.estimate import Estimate, mean_of, variance_from
from loynes.estimators import chains as from_chains
from loynes.estimators.chains import Mixture, mixture_of
from loynes.estimators.measures import NOTHING_MORE, Measures, Spread, System, Waits, Wanted, bracket, system_of
from loynes.estimators.regression import AS_THEY_ARE, Regression
from loynes.inputs.tables import Needs
from loynes.kernels.tally import Tally
from loynes.model.cluster import Model

# Of chains from below and of chains from above, on the same jobs.
Sides = tuple[Tally, Tally]


def measures(
    model: Model,
    rate: float,
    needs: Needs,
    sides: Sides,
    confidence: float,
    wanted: Wanted = NOTHING_MORE,
    responses: Sides | None = None,
    regression: Regression = AS_THEY_ARE,
) -> Measures:
    """Of tallies of waits from both sides, and of responses where a job's service hangs together with its wait; both
    regressed on the same controls."""
    seen = responses or (None, None)
    grid = from_chains.grid_of(*sides)
    below, above = (
        from_chains.measures(model, rate, needs, tally, confidence, wanted, of_responses, False, regression, grid)
        for tally, of_responses in zip(sides, seen, strict=True)
    )
    hull = bracket(below, above)

    def waits(of: Waits, share: dict[int, float]) -> Waits:
        return _with_variances(of, mixture_of(model, needs, share), sides, responses, confidence, regression)

    positions = {c.label: position for position, c in enumerate(model.classes)}
    return Measures(
        overall=waits(hull.overall, {position: c.probability for position, c in enumerate(model.classes)}),
        classes={name: waits(of, {positions[name]: 1.0}) for name, of in hull.classes.items()},
        system=_with_losses(hull, model, rate, needs, sides, confidence, regression),
        tails=hull.tails,
    )


def hulls(model: Model) -> list[str]:
    """The metrics that are not bracketed while chains are apart, by name."""
    if model.plain or model.order == "fcfs":
        return []
    return ["hol_loss", *(f"{kind}.hol_loss" for kind in model.kinds if model.by_resource)]


def loss_columns(model: Model, needs: Needs, sides: Sides) -> tuple[Array, Array] | None:
    """A lower and an upper bound of the HOL loss a job, each by [replica, kind]; None where neither is known."""
    servers = idled(model, needs)
    if servers is None:
        return None
    below, above = sides
    later = _a_look(above, above.wait * needs.weight) - _a_look(below, below.wait * needs.weight)
    return _a_look(above, above.loss) - later @ servers, _a_look(below, below.loss) + later @ servers


def idled(model: Model, needs: Needs) -> Array | None:
    """How many servers of each kind a job that starts later can idle, by [need, kind]; None where nobody knows."""
    if hulls(model):
        return None
    if model.plain:
        return np.asarray((needs.need - 1.0)[:, None])
    return np.tile(np.array(model.units) - float(len(model.units) == 1), (len(needs.need), 1))


def _with_losses(
    hull: Measures, model: Model, rate: float, needs: Needs, sides: Sides, confidence: float, regression: Regression
) -> System:
    columns = loss_columns(model, needs, sides)
    if columns is None:
        return hull.system
    ends = [[mean_of(regression(column), confidence) for column in side.T] for side in columns]
    losses = [_between(0.5 * (low.estimate + high.estimate), low, high) for low, high in zip(*ends, strict=True)]
    found = system_of(model, rate, hull.overall.wait.mean, hull.overall.response.mean, losses)
    kinds = {kind: replace(one, hol_loss=found.resources[kind].hol_loss) for kind, one in hull.system.resources.items()}
    return replace(hull.system, hol_loss=found.hol_loss, resources=kinds)


def _with_variances(
    of: Waits, mix: Mixture, sides: Sides, responses: Sides | None, confidence: float, regression: Regression
) -> Waits:
    wait = replace(of.wait, variance=_variance(of.wait, sides, mix.weight, confidence, regression))
    if not np.isfinite(mix.service_2):
        return replace(of, wait=wait)
    if responses is not None:
        variance = _variance(of.response, responses, mix.weight, confidence, regression)
    else:
        longer = mix.cross - 2.0 * mix.service_1 * mix.weight  # 2 p_k (m_k - m)
        own = mix.service_2 - mix.service_1**2
        variance = _variance(of.response, sides, mix.weight, confidence, regression, longer, own)
    return replace(of, wait=wait, response=replace(of.response, variance=variance))


def _variance(
    hull: Spread,
    sides: Sides,
    weight: Array,
    confidence: float,
    regression: Regression,
    more: Array | None = None,
    own: float = 0.0,
) -> Estimate:
    """Of a mixture of columns: the estimate of both chains, between bounds of E[X^2] - E[X]^2 + more @ E[X] + own."""
    first = [_a_look(tally, tally.wait) for tally in sides]
    second = [_a_look(tally, tally.square) @ weight + own for tally in sides]

    def end(growing: int, falling: int) -> Estimate:
        linear = second[growing]
        if more is not None:
            linear = linear + first[growing] @ np.maximum(more, 0.0) + first[falling] @ np.minimum(more, 0.0)
        return variance_from(first[falling] @ weight, linear, confidence, regression)

    return _between(hull.variance.estimate, end(0, 1), end(1, 0))


def _a_look(tally: Tally, sums: Array) -> Array:
    return np.asarray(sums / tally.looks[:, None])


def _between(centre: float, low: Estimate, high: Estimate) -> Estimate:
    return Estimate(centre, min(low.low, centre), max(high.high, centre))
