"""Closed forms: thresholds and waits that need no chain.

Thresholds:
- every job needs one server: nothing is ever blocked;
- needs 1 and s, the small jobs of one exponential or deterministic law: a big job leaves the pile flat, so the
  threshold is that of one cycle, p (mean of the big jobs + makespan of the small jobs between two of them);
- all jobs exponential with the same mean m: threshold = 1 / (m E[1/N]), where N is how many jobs, drawn one after the
  other, fit on the servers together (Rumyantsev and Morozov, 2017).

Waits: M/M/s (Erlang C) and M/G/1 (Pollaczek and Khinchine).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loynes.model.cluster import Model
from loynes.model.laws import Deterministic, Exponential

Array = NDArray[np.float64]

# Up to so many servers, jobs that fit together are counted one by one.
MOST_BY_JOBS = 1024


@dataclass(frozen=True)
class Formula:
    """A value and the name of what gave it."""

    name: str
    value: float


@dataclass(frozen=True)
class WaitFormula:
    """Waits of all jobs alike."""

    name: str
    mean: float
    no_wait: float
    variance: float | None = None  # None where the formula does not say
    # P(wait > x) = constant exp(-decay x), for M/M/s.
    decay: float | None = None
    constant: float | None = None

    def exceeds(self, x: float) -> float | None:
        """P(wait > x)."""
        if self.decay is None or self.constant is None:
            return None
        return self.constant * math.exp(-self.decay * x)

    def percentile(self, beyond: float) -> float | None:
        """The x that a wait exceeds with that probability."""
        if self.decay is None or self.constant is None:
            return None
        return max(math.log(self.constant / beyond), 0.0) / self.decay


def threshold(model: Model) -> Formula | None:
    """The threshold in closed form, where one is known."""
    if not model.plain:
        return None
    if all(model.need(c) == 1 for c in model.classes):
        return Formula("every job needs one server", model.ideal)
    if all(model.need(c) == model.servers for c in model.classes):
        return Formula("every job needs all servers", model.ideal)
    if not model.independent:
        return None
    return _one_or_all(model) or _equal_means(model)


def _one_or_all(model: Model) -> Formula | None:
    small = [c for c in model.classes if model.need(c) == 1]
    big = [c for c in model.classes if model.need(c) == model.servers]
    if len(small) + len(big) < len(model.classes) or len({c.service for c in small}) != 1:
        return None
    p = math.fsum(c.probability for c in big)
    q, law, s = math.fsum(c.probability for c in small), small[0].service, model.servers
    if isinstance(law, Exponential):
        # The j-th last of the small jobs to finish takes mean / min(j, s); P(at least j of them) = q^j.
        j = np.arange(1, s + 1)
        makespan = law.mean * (math.fsum(q**j / j) + q ** (s + 1) / (p * s))
        name = "needs 1 and s, exponential small jobs"
    elif isinstance(law, Deterministic):
        makespan = law.mean * q / -math.expm1(s * math.log(q))
        name = "needs 1 and s, deterministic small jobs"
    else:
        return None
    alone = math.fsum(c.probability * c.service.mean for c in big)
    return Formula(name, 1.0 / (alone + p * makespan))


def _equal_means(model: Model) -> Formula | None:
    laws = {c.service for c in model.classes}
    if len(laws) != 1 or not isinstance(law := next(iter(laws)), Exponential):
        return None
    needs = np.zeros(model.servers + 1)
    for c in model.classes:
        needs[model.need(c)] += c.probability
    total = _job_by_job(needs) if model.servers <= MOST_BY_JOBS else _server_by_server(needs)
    return Formula("exponential services of equal means (product form)", 1.0 / (law.mean * total))


def _job_by_job(needs: Array) -> float:
    """E[1/N], N the number of jobs that fit: P(n jobs fit) from the law of the sum of n needs; N >= 1 always."""
    servers, smallest = len(needs) - 1, int(np.flatnonzero(needs)[0])
    together, fit, total = needs.copy(), 1.0, 0.0
    for n in range(1, servers // smallest + 1):
        following = np.convolve(together, needs)[: servers + 1] if fit > 0 else np.zeros(1)
        more = math.fsum(following)
        total += (fit - more) / n
        together, fit = following, more
    return total


def _server_by_server(needs: Array) -> float:
    """The same for many servers, in as many steps.

    Let S_n be the sum of n needs, and l(k) the sum over n of P(S_n = k) / n. N = n iff S_n <= s < S_n + the next need,
    so E[1/N] is the sum over needs a of P(a) (l(s - a + 1) + ... + l(s)). With F the generating function of a need,
    that of l is L = -ln(1 - F), and L' = F' + F L' says: k l(k) = k P(k) + sum over a of P(a) (k - a) l(k - a). All
    terms are positive, so nothing cancels.
    """
    servers, need = len(needs) - 1, np.flatnonzero(needs)
    likely, before = needs[need], int(need[-1])
    times_k = np.zeros(before + servers + 1)  # k l(k), after as many zeros as the largest need
    for k in range(1, servers + 1):
        times_k[before + k] = k * needs[k] + likely @ times_k[before + k - need]
    one = times_k[before + 1 :] / np.arange(1, servers + 1)
    return math.fsum(p * math.fsum(one[servers - a :]) for a, p in zip(need, likely, strict=True))


def wait(model: Model, rate: float) -> WaitFormula | None:
    """Waits in closed form, where they are known; the rate is below the threshold."""
    if not model.plain:
        return None
    s = model.servers
    laws = {c.service for c in model.classes}
    load = rate / model.ideal
    whole = all(model.need(c) == s for c in model.classes)
    if len(laws) == 1 and isinstance(law := next(iter(laws)), Exponential) and (whole or threshold_is_plain(model)):
        s = 1 if whole else s
        blocking = 1.0
        for k in range(1, s + 1):
            blocking = rate * law.mean * blocking / (k + rate * law.mean * blocking)
        spare = s / law.mean - rate
        waiting = blocking / (spare * law.mean / s + load * blocking)
        variance = waiting * (2.0 - waiting) / (spare * spare)
        return WaitFormula("Erlang C (M/M/s)", waiting / spare, 1.0 - waiting, variance, spare, waiting)
    if whole:
        second = math.fsum(c.probability * (c.service.variance + c.service.mean**2) for c in model.classes)
        mean = rate * second / (2.0 * (1.0 - load)) if math.isfinite(second) else math.inf
        return WaitFormula("Pollaczek-Khinchine (M/G/1)", mean, 1.0 - load)
    return None


def threshold_is_plain(model: Model) -> bool:
    """Every job needs one server."""
    return all(model.need(c) == 1 for c in model.classes)
