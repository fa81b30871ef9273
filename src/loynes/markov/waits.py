"""Waits of each class, exactly, from a solved queue.

P(wait > x) = Y exp(T x) u_c / (rate p_c) for class c, with Y the probabilities of blocked states and u_c the rates at
which waits of the class end (docs/exact.md has the proof). Seen through T's positive vector, exp(T x) is exp(-decay x)
times the transition probabilities of a chain over a time x. Those are computed for times that double, by squaring,
until they no longer depend on where the chain started; from there on P(wait > x) = C exp(-decay x). All of it is sums
of products of numbers that are at least 0: digits are right relatively, however small the probability.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from loynes.arrays import Array
from loynes.errors import LoynesError
from loynes.markov.queue import Solved

# Terms of the exponential's series at 1, and what the ends of a doubled time may differ by, relatively: its square, a
# doubling later, is rounding.
TERMS = 24
ALIKE = 1e-8
MOST_DOUBLINGS = 80
# Steps of bisection within a unit of time.
HALVINGS = 60
# Nothing smaller is told from 0.
SMALLEST = 1e-290


class Waits:
    """Of all classes, and (the last column of everything) of all jobs together."""

    def __init__(self, solved: Solved) -> None:
        self.solved, self.decay = solved, solved.decay.rate
        queue = solved.queue
        crews, stages = queue.crews, queue.crews.stages
        probability = stages.probability
        self._start = solved.blocked * solved.weight
        ends = solved.starts / solved.weight[:, None]
        whole = ends.sum(axis=1, keepdims=True)
        self._ends = np.hstack([ends / probability, whole / probability.sum()]) / queue.rate
        fits = [math.fsum(solved.free[crews.fits(c)]) for c in range(len(probability))]
        self.no_wait = np.array([*fits, math.fsum(probability * fits) / math.fsum(probability)])

    def moments(self) -> tuple[Array, Array]:
        """E[wait] and E[wait^2]: E[wait^k] = k! Y (-T)^-k u_c / (rate p_c)."""
        once = self.solved.waiting.solve(self._ends)
        return self._start @ once, 2.0 * (self._start @ self.solved.waiting.solve(once))

    @cached_property
    def constants(self) -> Array:
        """C of P(wait > x) ~ C exp(-decay x)."""
        return math.fsum(self._start) * (self._settled @ self._ends)

    @cached_property
    def doubt(self) -> float:
        """About the relative error of moments and constants, but for that of the decay rate.

        A residue of T's positive vector is an error of T's diagonal, which acts for as long as it takes to forget the
        start. Its mean would change the decay rate, which is known better, from elsewhere: it does not count.
        """
        residue = self.solved.residue - self._settled @ self.solved.residue
        total = self._unit * float(np.max(np.abs(residue)))
        for k, moved in enumerate(self._doublings):
            total += math.ldexp(self._unit, k) * float(np.max(np.abs(moved @ residue)))
        return total + len(residue) * 2.0**-53

    def exceeds(self, x: float) -> Array:
        """P(wait > x)."""
        if x >= self._settling:
            return self.constants * math.exp(-self.decay * x)
        steps, rest = divmod(x, self._unit)
        now = self._start
        for k, moved in enumerate(self._doublings):
            if int(steps) >> k & 1:
                now = now @ moved
        return (_poisson(rest / self._unit) @ self._series(now)) * math.exp(-self.decay * x)

    def tails(self, grid: Array) -> Array:
        """P(wait > x) at many x, by [x, column]: as `exceeds`, but all at once."""
        steps = np.floor(grid / self._unit)
        rest = grid / self._unit - steps
        now = np.tile(self._start, (len(grid), 1))
        for k, moved in enumerate(self._doublings[:-1]):
            rows = np.flatnonzero(np.floor(steps * 0.5**k) % 2 == 1)
            if rows.size:
                now[rows] = now[rows] @ moved
        found = np.zeros((len(grid), self._ends.shape[1]))
        chance = np.array([_poisson(x) for x in rest])
        for k in range(TERMS):
            found += chance[:, [k]] * (now @ self._ends)
            now = now @ self._jumps
        late = (grid >= self._settling)[:, None]
        return np.where(late, self.constants, found) * np.exp(-self.decay * grid)[:, None]

    def percentile(self, column: int, beyond: float) -> tuple[float, float]:
        """The x that a wait exceeds with that probability, and -d(ln P(wait > x))/dx there.

        Both are 0 where waits are not even positive that often.
        """
        ends = self._ends[:, column]
        if self._start @ ends <= beyond:
            return 0.0, 0.0
        settled = math.log(self.constants[column] / beyond) / self.decay
        if settled >= self._settling:
            return settled, self.decay
        now, x = self._start, 0.0
        for k, moved in reversed(list(enumerate(self._doublings))):
            step, later = math.ldexp(self._unit, k), now @ moved
            if (later @ ends) * math.exp(-self.decay * (x + step)) > beyond:
                now, x = later, x + step
        series = self._series(now)[:, column]
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            more = (_poisson(middle) @ series) * math.exp(-self.decay * (x + middle * self._unit)) > beyond
            low, high = (middle, high) if more else (low, middle)
        chance = _poisson(low)
        steepness = self.decay + (1.0 - (chance[:-1] @ series[1:]) / (chance @ series)) / self._unit
        return x + low * self._unit, float(steepness)

    @cached_property
    def _unit(self) -> float:
        """A time in which no state is left more than once, on average: a power of 2, so that times divide exactly."""
        fastest = max(float(self.solved.rates.sum(axis=1).max()), self.decay)
        return math.ldexp(1.0, -math.ceil(math.log2(fastest)))

    @cached_property
    def _jumps(self) -> Array:
        """Probabilities of the chain seen at the events of a Poisson process, one a unit of time on average."""
        jumps = self.solved.rates * self._unit
        jumps[np.diag_indices(len(jumps))] = np.maximum(1.0 - jumps.sum(axis=1), 0.0)
        return jumps

    @cached_property
    def _doublings(self) -> list[Array]:
        """Transition probabilities over 1, 2, 4, 8, ... units of time, up to where all rows are alike."""
        one = self._jumps
        two = one @ one
        powers = [np.eye(len(one)), one, two, two @ one]
        weights = _poisson(1.0)
        moved = np.zeros_like(one)
        for start in range(TERMS - 4, -1, -4):
            if start < TERMS - 4:
                moved = moved @ (two @ two)
            moved = moved + sum(w * power for w, power in zip(weights[start : start + 4], powers, strict=True))
        found = []
        alike = False
        for _ in range(MOST_DOUBLINGS):
            moved = moved / moved.sum(axis=1, keepdims=True)
            found.append(moved)
            if alike:
                return found
            least = np.maximum(moved.min(axis=0), SMALLEST)
            alike = bool(np.all(moved.max(axis=0) <= (1.0 + ALIKE) * least))
            moved = moved @ moved
        raise LoynesError(f"waits at rate {self.solved.queue.rate:g} take too long to forget where they began")

    @cached_property
    def _settling(self) -> float:
        """The time after which it no longer matters where a wait began."""
        return math.ldexp(self._unit, len(self._doublings) - 1)

    @cached_property
    def _settled(self) -> Array:
        """The chain's stationary probabilities."""
        return np.asarray(self._doublings[-1].mean(axis=0))

    def _series(self, now: Array) -> Array:
        """[k, column]: ends met after k jumps."""
        rows = []
        for _ in range(TERMS):
            rows.append(now @ self._ends)
            now = now @ self._jumps
        return np.array(rows)


def _poisson(mean: float) -> Array:
    """P(k events), k = 0, 1, ..., of a mean of at most 1."""
    k = np.arange(TERMS)
    return np.asarray(np.exp(-mean) * np.power(mean, k) / np.cumprod(np.maximum(k, 1.0)))
