"""Means of waits without a variance: services cut at T, and a single-server queue for what is cut off.

Where a service has no third moment the wait may have no variance, and no run is long enough for an interval of its
mean. Let sigma' = min(sigma, T) and x = sigma - sigma' >= 0, F_sigma what a job does to the workload and tau the gap
after it. F is monotone, F(W + c) = F(W) + c, and a service that is longer by x raises no entry by more than x.

**From below.** W', the workload of the cut services with the same needs and gaps, is at most W, as F grows with sigma.

**From above.** Split every gap into (1 - eps) tau and eps tau. Let W'' be the workload of the cut services with gaps
(1 - eps) tau, and V' = (V + x - eps tau)^+ Lindley's queue of what is cut off with gaps eps tau. If W <= W'' + V, entry
by entry, before a job, then

    F_sigma(W) <= F_sigma(W'' + V) = F_sigma(W'') + V <= F_sigma'(W'') + V + x,

and, as (y + z - tau)^+ <= (y - (1 - eps) tau)^+ + (z - eps tau)^+, again W <= W'' + V before the next one. All three
are empty long ago, and grow to their stationary laws as that time recedes. So E[W'] <= E[W] <= E[W''] + E[V] for every
entry, hence for the mean wait of every class. W'' needs a rate, 1 / (1 - eps) times the model's own, below the
threshold of the cut services, which is at least that of the model.

**E[V].** With independent pairs (x, tau), X = x - eps tau and E[X] < 0, let I = (V + X)^-, so that V' - I = V + X and
V' I = 0. Means give E[I] = -E[X], squares E[V'^2] + E[I^2] = E[V^2] + 2 E[V] E[X] + E[X^2], hence, as V and V' have the
same law,

    E[V] = (E[X^2] - E[I^2]) / (-2 E[X]) <= Var[X] / (-2 E[X]) <= (E[x^2] + eps^2 Var[tau]) / (2 (eps E[tau] - E[x]))

(Kingman, Biometrika 49, 1962). It was used that E[V^2] is finite, as it is if x is bounded; any x is the limit of
min(x, m), whose V grow to that of x. Where gaps are exponential, I is what is left of an exponential gap, itself
exponential with mean eps E[tau] and probability -E[X] / (eps E[tau]): E[I^2] = -2 E[X] eps E[tau], and the formula
gives E[V] = E[x^2] / (2 (eps E[tau] - E[x])), exactly (Pollaczek, Khinchine).

**The choice.** T is as high as a run of the size at hand can bear: it must see OFTEN services above T / 2, or the mean
of the cut services would be as doubtful as that of all. eps is where E[V], plus what waits grow by at the higher rate
(like those of a single server: to (1 - load) / (1 - load - eps) of what they were), is least. Any choice is right, as
long as it is made before the runs that use it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from loynes.model.arrivals import Poisson, Renewal
from loynes.model.cluster import Model
from loynes.model.fields import RAREST
from loynes.model.laws.bounded import Deterministic
from loynes.model.laws.law import Law, leaves
from loynes.model.laws.mixture import Mixture
from loynes.model.laws.truncated import between

# Moments that a service must have for the wait to have a variance.
FOR_VARIANCE = 3
# Services above half the cut that a run is expected to see.
OFTEN = 30
# What laws say of their own means and variances is right to this part of them.
EXACT = 1e-9
# Slacks to choose among, and the most of the spare time that one may take.
SLACKS, MOST_SLACK = 400, 0.9


@dataclass(frozen=True)
class Cut:
    """Where services are cut, and how what is cut off is bounded; without a slack nothing bounds it from above."""

    at: float  # T
    slack: float | None = None  # eps, the part of every gap that what is cut off is given
    extra: float | None = None  # E[V], at most
    why: str = ""  # there is no slack

    @property
    def details(self) -> dict[str, Any]:
        """What a result keeps of it."""
        sides = "lower" if self.slack is None else "both"
        known = {"at": self.at, "slack": self.slack, "extra": self.extra, "sides": sides}
        return known | ({"why": self.why} if self.why else {})

    def only_below(self, why: str) -> Cut:
        return Cut(self.at, why=why)


def has_variance(model: Model) -> bool:
    """Whether services have the moments that give waits a variance."""
    return model.highest_moment >= FOR_VARIANCE


def cut_services(model: Model, at: float) -> Model:
    """The model with services of at most so long, where they have no third moment: whole classes, or parts of them."""
    classes = tuple(c.model_copy(update={"service": _cut(c.service, at)}) for c in model.classes)
    return model.model_copy(update={"classes": classes})


def _cut(law: Law, at: float) -> Law:
    """min(sigma, T): below T the law on that condition, at T all that was above."""
    if law.highest_moment >= FOR_VARIANCE:
        return law
    pieces: list[tuple[float, Law]] = []
    for weight, leaf in leaves(law):
        if leaf.highest_moment >= FOR_VARIANCE:
            pieces.append((weight, leaf))
            continue
        top = _top(weight, leaf, at)
        beyond = float(leaf.above(top))
        pieces += [(weight * (1.0 - beyond), between(leaf, 0.0, top)), (weight * beyond, Deterministic(value=top))]
    weights, laws = zip(*pieces, strict=True)
    return Mixture(weights=weights, laws=laws)


def _top(weight: float, leaf: Law, at: float) -> float:
    """T, for a part of a law: no higher than a service can be drawn, and no lower than its mean."""
    return max(min(at, _where(leaf.above, min(2.0 * RAREST / weight, 0.5), leaf.mean)), leaf.mean)


def _where(falling: Callable[[float], Any], value: float, scale: float) -> float:
    """The least x, to nine digits or so, at which a falling function is down at a value."""
    low, high = scale, scale
    while float(falling(high)) > value:
        low, high = high, 2.0 * high
    while low > 1e-12 * scale and float(falling(low)) <= value:
        low, high = 0.5 * low, low
    for _ in range(32):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if float(falling(middle)) > value else (low, middle)
    return high


class CutOff(NamedTuple):
    """E[x] and E[x^2] of what is cut off a job's service; upper bounds, to as many digits as laws know themselves."""

    first: float
    second: float


def cut_off(model: Model, at: float) -> CutOff:
    """From sigma = sigma' + x, and sigma^2 = sigma'^2 + 2 T x + x^2, as x is 0 unless sigma' is T."""
    first = second = 0.0
    for probability, weight, leaf in _heavy(model):
        top = _top(weight, leaf, at)
        beyond, below = float(leaf.above(top)), between(leaf, 0.0, top)
        kept = (1.0 - beyond) * below.mean + beyond * top
        kept_2 = (1.0 - beyond) * (below.variance + below.mean**2) + beyond * top**2
        whole_2 = leaf.variance + leaf.mean**2
        x = max(leaf.mean - kept, 0.0)
        first += probability * weight * (x + EXACT * leaf.mean)
        second += probability * weight * (max(whole_2 - kept_2 - 2.0 * top * x, 0.0) + EXACT * whole_2)
    return CutOff(first, second)


def _heavy(model: Model) -> list[tuple[float, float, Law]]:
    """The parts of services without a third moment: the probability of the class, that of the part in it, its law."""
    parts = [(c.probability, weight, leaf) for c in model.classes for weight, leaf in leaves(c.service)]
    return [part for part in parts if part[2].highest_moment < FOR_VARIANCE]


def mean_wait(cut_off: CutOff, slack: float, rate: float, gap_variance: float = 0.0) -> float:
    """E[V] of exponential gaps, exactly; of others of this variance an upper bound. Infinite if unstable."""
    spare = slack / rate - cut_off.first
    return (cut_off.second + slack**2 * gap_variance) / (2.0 * spare) if spare > 0 else math.inf


def choose(model: Model, rate: float, threshold: float, wait: float, jobs: float) -> Cut:
    """Where to cut for runs of so many jobs, and the slack for a rate below a threshold; `wait` is about the mean."""
    at = _highest(model, jobs)
    gaps = gap_variance(model, rate)
    if gaps is None or not math.isfinite(gaps) or model.highest_moment < 2:
        return Cut(at, why=_no_upper_side(model, gaps))
    off, spare = cut_off(model, at), 1.0 - rate / threshold
    low, high = rate * off.first, MOST_SLACK * spare
    if not low < high:
        return Cut(at, why="what is cut off needs more time than there is to spare: the run is too short for this load")
    slacks = np.geomspace(max(low, 1e-6 * high), high, SLACKS)
    extra = np.array([mean_wait(off, float(slack), rate, gaps) for slack in slacks])
    best = int(np.argmin(extra + wait * slacks / (spare - slacks)))
    return Cut(at, float(slacks[best]), float(extra[best]))


def gap_variance(model: Model, rate: float) -> float | None:
    """What stands for Var[tau] in the bound of E[V]; 0 for Poisson arrivals, None where gaps are not independent."""
    own = [c.arrivals for c in model.classes if c.arrivals is not None]
    if isinstance(model.arrivals, Poisson) and all(isinstance(stream, Poisson) for stream in own):
        return 0.0
    if isinstance(model.arrivals, Renewal) and not own:
        return model.arrivals.gap.variance / (model.arrivals.gap.mean * rate) ** 2
    return None


def _no_upper_side(model: Model, gaps: float | None) -> str:
    if model.highest_moment < 2:
        return "a service has no second moment, so that the mean wait may be infinite"
    if gaps is None:
        return (
            "gaps are not independent of one another, and there is no bound for the mean wait of what is cut off in "
            "a single-server queue with such gaps"
        )
    return "gaps have no variance, so that there is no bound for the mean wait of what is cut off"


def _highest(model: Model, jobs: float) -> float:
    """The highest T of which a run of so many jobs sees OFTEN services above T / 2."""
    heavy = _heavy(model)

    def seen(at: float) -> float:
        return jobs * math.fsum(p * weight * float(leaf.above(0.5 * at)) for p, weight, leaf in heavy)

    least = min(leaf.mean for _, _, leaf in heavy)
    return max(_where(seen, OFTEN, least), least)
