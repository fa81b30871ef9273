"""Services without exponential moments: the long ones set apart, and a single-server queue above what they bring.

Let t_c be a threshold for each class and r, independent of everything, have P(r > x) = max over c of
P(sigma_c > max(x, t_c)). Given its class, a service is in law at most s + r, s a service given that it is at most t_c:
one that is longer than t_c is replaced by a short one plus itself. A service that is longer by r raises a pile by at
most r (`rare`), so a block's pile Y is at most Y' + (sum of its K values of r), Y' the pile of the short services,
independent of them. For any a > 0, the allowance for each job, the majorant's supremum over the past splits:

    sup_n sum_{j<=n} (Y_j - A_j)  <=  sup_n sum_{j<=n} (Y'_j + K a - A_j)  +  sup_m sum_{k<=m} (r_k - a).

The first is bounded as ever, by blocks of short services whose gaps are shorter by the allowance. The second is the
wait in a single-server queue to which a service r comes every a, q = P(r > 0) of them above 0. Between two that are, a
geometric number of intervals of length a pass: in law at least an exponential time with rate nu = -ln(1 - q) / a, as
P(geometric > m) = (1 - q)^m = exp(-nu a m). So it lies below the workload of an M/G/1 queue with services r given
r > 0, which is known for every law with a finite mean (Pollaczek, Khinchine): the sum G of n independent residual
services, density P(r > x) / E[r], with probability (1 - rho) rho^n, rho = nu E[r | r > 0] < 1.

So the stationary workload lies in law below V + G + (pile of one block), V at most exponential with rate theta, the
three independent of one another: the upper start of the sandwich. For perfect samples a level is wanted: the long
services of the last block itself can be counted to G, at the price of one more allowance, so that
V + Y' + K a + G lies above, too; and P(G > x) <= sum over n of (1 - rho) rho^n n P(residual > x / n), since one of
n summands must exceed x / n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.cells import UpperCells
from loynes.inputs.philox import long_uniform, words
from loynes.inputs.tables import JobTable, class_probabilities
from loynes.model.cluster import Model
from loynes.model.laws.truncated import Truncated
from loynes.stationary.certificate import LongServices

Array = NDArray[np.float64]

# Parts of the spare time of a job that its allowance may be, and shares of services that may be long, to choose among.
ALLOWANCES = (0.1, 0.2, 0.3, 0.45)
SHARES = np.geomspace(0.1, 1e-9, 25)
MOST_RHO = 0.8
# Of the sum of residual services, what is left out when its size is compared with that of the rest.
FAR = 1e-3
# A law reaches far if so much of it lies beyond so many of its means.
FAR_SHARE, FAR_MEANS = 1e-9, 60.0
# Terms of a bound that are smaller than this, together, are counted as 1.
NEGLIGIBLE = 1e-300
# More values than this are put together, into so few, where only a guess is wanted.
MANY, FEW = 200_000, 4_096
# Exponents beyond this are as good as infinite.
LARGEST = 600.0


class Laws(UpperCells):
    """The services of the classes that may have long ones."""

    def __init__(self, table: JobTable, eligible: NDArray[np.bool_]) -> None:
        super().__init__(table, np.flatnonzero(eligible))
        self.above = [np.cumsum(weight[::-1])[::-1] for weight in self.weight]  # of each value and those that follow

    def thresholds(self, share: float) -> Array:
        """Of each class, the least value that at most this share of its services exceeds."""
        least = []
        for value, above in zip(self.value, self.above, strict=True):
            first = np.searchsorted(-above, -share, side="left")  # of those that may be long
            least.append(value[max(int(first) - 1, 0)])
        return np.array(least)

    def short(self, thresholds: Array, weight: Array) -> tuple[Array, Array]:
        """The values of short services, and their masses if a class has this weight; few values in place of many."""
        counts = [len(value) for value in self.value]
        values = np.concatenate(self.value)
        kept = values <= np.repeat(thresholds, counts)
        masses, values = (np.repeat(weight, counts) * np.concatenate(self.weight))[kept], values[kept]
        if len(values) > MANY:
            logs = np.log(np.maximum(values, 1e-12 * values.max()))
            sums, _ = np.histogram(logs, FEW, weights=masses)
            means, _ = np.histogram(logs, FEW, weights=masses * values)
            masses, values = sums[sums > 0], means[sums > 0] / sums[sums > 0]
        return masses, values

    def decay(self, masses: Array, values: Array, spare: float) -> float:
        """theta with the sum of masses x (exp(theta value) - 1 - theta value) = theta spare."""
        from scipy.optimize import brentq

        def excess(log_theta: float) -> float:
            theta = math.exp(log_theta)
            return float(masses @ (np.expm1(theta * values) / theta - values)) - spare

        longest = float(values.max())
        low, high = math.log(1e-12 / longest), math.log(LARGEST / longest)
        return math.exp(low if excess(low) > 0 else high if excess(high) < 0 else brentq(excess, low, high, xtol=0.05))

    def long(self, thresholds: Array) -> tuple[Array, Array]:
        """P(r > x) as a step function: ends x[0] = 0 < x[1] < ..., and its values from x[i] up to x[i + 1]."""
        kept = np.concatenate([value > t for value, t in zip(self.value, thresholds, strict=True)])
        values, above = np.concatenate(self.value)[kept], np.concatenate(self.above)[kept]
        x, place = np.unique(np.append(0.0, values), return_inverse=True)
        # A value is exceeded, or reached, with the probability `above` of its class; below it by no less.
        reached = np.zeros(len(x))
        np.maximum.at(reached, place[1:], above)
        return x, np.maximum.accumulate(reached[::-1])[::-1][1:]


class Residuals:
    """The law of G, the sum of residual long services, for P(r > x) = tail[i] from x[i] up to x[i + 1]."""

    def __init__(self, x: Array, tail: Array, allowance: float) -> None:
        self.x = x
        # Integral of the tail from x[i] on; the tail is 0 beyond the last.
        self.beyond = np.append(np.cumsum((tail * np.diff(x))[::-1])[::-1], 0.0)
        self.share, self.mean = float(tail[0]) if tail.size else 0.0, float(self.beyond[0])
        self.rho = -math.log1p(-self.share) / allowance * self.mean / self.share if self.share > 0 else 0.0

    def exceeds(self, x: Array) -> Array:
        """P(residual > x)."""
        return np.asarray(np.interp(x, self.x, self.beyond) / self.mean)

    def inverse(self, u: Array) -> Array:
        """The residual that is exceeded with probability u."""
        return np.interp(u * self.mean, self.beyond[::-1], self.x[::-1])

    def typical(self) -> float:
        """The mean of G but for its far tail: to compare choices by."""
        far = float(self.inverse(np.array(FAR)))
        grid = np.append(self.x[self.x < far], far)
        mean = float(np.trapezoid(self.exceeds(grid), grid))
        return self.rho / (1.0 - self.rho) * mean

    def sample(self, seed: int, stream: int, replicas: int) -> Array:
        """G of each replica: counters from -2 on (the one before is the exponential's)."""
        total, index = np.zeros(replicas), -2
        rows = np.arange(replicas)
        if self.rho == 0.0:
            return total
        while rows.size:
            one, two, three, four = words(seed, stream, rows, np.full(len(rows), index))
            another = long_uniform(one, two) < self.rho
            rows = rows[another]
            total[rows] += self.inverse(long_uniform(three, four)[another])
            index -= 1
        return total

    def level(self, probability: float) -> float:
        """A level that G exceeds with at most this probability."""
        if self.rho == 0.0:
            return 0.0
        from scipy.optimize import brentq

        count = np.arange(1, max(2, math.ceil(math.log(NEGLIGIBLE) / math.log(self.rho))))
        weight = (1.0 - self.rho) * self.rho**count * count

        def excess(log_x: float) -> float:
            return float(weight @ self.exceeds(math.exp(log_x) / count)) - probability

        low, high = math.log(max(self.x[1], 1e-300)) - 40.0, math.log(self.x[-1] * count[-1] + 1.0)
        return math.exp(brentq(excess, low, high)) * (1.0 + 1e-9) if excess(low) > 0 else math.exp(low)


def far_reaching(table: JobTable) -> NDArray[np.bool_]:
    """The classes whose longest services are so many times the mean that they are better set apart."""
    laws = Laws(table, np.ones(len(table.need), np.bool_))
    means = [float(weight @ value) for value, weight in zip(laws.value, laws.weight, strict=True)]
    return np.asarray(laws.thresholds(FAR_SHARE) > FAR_MEANS * np.array(means))


def enough_jobs(table: JobTable, part: float, often: float) -> float:
    """Jobs among which so many services are expected that are as long as those that bring this part of the second
    moment of the work, and longer ones."""
    laws = Laws(table, np.ones(len(table.need), np.bool_))
    need = table.need / table.servers
    share = class_probabilities(table)
    value = np.concatenate(laws.value)
    mass = np.concatenate([p * weight for p, weight in zip(share, laws.weight, strict=True)])
    brought = mass * value**2 * np.repeat(need, [len(one) for one in laws.value])
    order = np.argsort(-value)
    longest = np.cumsum(brought[order]) <= part * brought.sum()
    return often / max(float(mass[order][longest].sum()), often * 1e-18)


def choose(table: JobTable, model: Model, spare: float, eligible: NDArray[np.bool_]) -> LongServices | None:
    """Thresholds and allowance for which V and G together are about smallest; None if no choice keeps rho below 1.

    spare: time a job beyond what it needs, 1 / rate - 1 / threshold. The decay of V is guessed as that of a single
    server (which it is for s = 1): a job of need a raises a pile of s servers by a / s of its length on average.
    """
    laws, best, least = Laws(table, eligible), None, math.inf
    weight = (class_probabilities(table) * table.need / table.servers)[laws.classes]
    for share in SHARES:
        thresholds = laws.thresholds(float(share))
        steps, short = laws.long(thresholds), laws.short(thresholds, weight)
        for part in ALLOWANCES:
            residuals = Residuals(*steps, part * spare)
            if residuals.rho < MOST_RHO:
                size = 1.0 / laws.decay(*short, (1.0 - part) * spare) + residuals.typical()
                if size < least:
                    labels = [model.classes[c].label for c in laws.classes]
                    by_class = {label: float(t) for label, t in zip(labels, thresholds, strict=True)}
                    best = LongServices(by_class, residuals.share, part * spare, residuals.rho)
                    least = size
    return best


def short_services(model: Model, long: LongServices) -> Model:
    """The model whose services are never longer than their class's threshold: on that condition."""
    classes = tuple(
        c.model_copy(update={"service": Truncated(of=c.service, high=long.thresholds[c.label])})
        if c.label in long.thresholds
        else c
        for c in model.classes
    )
    return model.model_copy(update={"classes": classes})


def residuals_of(model: Model, table: JobTable, long: LongServices) -> Residuals:
    """The law of G again, from what a certificate keeps."""
    laws = Laws(table, np.array([c.label in long.thresholds for c in model.classes]))
    thresholds = np.array([long.thresholds[model.classes[c].label] for c in laws.classes])
    return Residuals(*laws.long(thresholds), long.allowance)
