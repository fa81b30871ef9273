"""Service objectives: 'p95(wait) <= 600', 'mean(wait[T1]) <= 5', read, checked and judged.

Only what falls as servers are added, or as the rate falls, can be an objective, since the search leans on it: means,
percentiles and tails of waits and responses, the probability of no wait, utilization, and numbers of jobs. A variance
or the HOL loss may rise and fall again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.model import Model
from loynes.results.records import Evaluation

PERCENTILES = ("p50", "p90", "p95", "p99")
SYSTEM = ("utilization", "jobs_in_system", "jobs_waiting")
POSSIBLE = (
    "mean, p50, p90, p95 and p99 of wait and response, as in p95(wait), any other percentile of the wait, p99.9(wait), "
    "P(wait > x), no_wait, each also of a class, p95(wait[NAME]); "
    "utilization, jobs_in_system, jobs_waiting"
)

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_CLASS = r"(?:\[(?P<of>.+)\])?"
_FORMS = (
    re.compile(rf"(?P<stat>mean|p\d+(?:\.\d+)?)\s*\(\s*(?P<what>wait|response)\s*{_CLASS}\s*\)"),
    re.compile(rf"P\s*\(\s*(?P<what>wait)\s*{_CLASS}\s*>\s*(?P<x>{_NUMBER})\s*\)"),
    re.compile(rf"(?P<what>no_wait)\s*{_CLASS}"),
    re.compile(rf"(?P<what>{'|'.join(SYSTEM)})"),
)
_WHOLE = re.compile(rf"(?P<left>.+?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<bound>{_NUMBER})\s*")


@dataclass(frozen=True)
class Objective:
    """A quantity that must not exceed its bound (or, for no_wait, not fall below it)."""

    text: str
    what: str  # wait, response, no_wait, or a name of SYSTEM
    stat: str  # mean, p95, tail (P(wait > x)), or nothing
    of: str  # a class, or nothing for all jobs
    bound: float
    x: float = 0.0  # of a tail

    def value(self, result: Evaluation) -> Estimate:
        """What the objective is about, in a result that was asked for `exceeds`."""
        if self.what in SYSTEM:
            found: Estimate = getattr(result.system, self.what)
            return found
        waits = result.classes[self.of] if self.of else result.overall
        if self.what == "no_wait":
            return waits.no_wait
        if self.stat == "tail":
            return waits.exceeds[self.x]
        of: Estimate = getattr(getattr(waits, self.what), self.stat)
        return of

    @property
    def exceeds(self) -> tuple[float, ...]:
        """What must be asked for."""
        return (self.x,) if self.stat == "tail" else ()

    @property
    def at_least(self) -> bool:
        return self.what == "no_wait"

    def verdict(self, result: Evaluation) -> int:
        """1: met, -1: not, 0: cannot be told."""
        value = self.value(result)
        if self.at_least:
            return 1 if value.low >= self.bound else -1 if value.high < self.bound else 0
        return 1 if value.high <= self.bound else -1 if value.low > self.bound else 0

    def unreachable(self, model: Model, rate: float) -> str:
        """Why not even a system in which nobody waits meets it; nothing if it does."""
        alone = self._unwaited(model, rate)
        if alone is None:
            return ""
        met = alone >= self.bound if self.at_least else alone <= self.bound
        return "" if met else f"{self.text}: cannot be met: even if no job had to wait it would be {alone:.6g}"

    def _unwaited(self, model: Model, rate: float) -> float | None:
        shares = [(c.probability, c.service) for c in model.classes if not self.of or c.label == self.of]
        total = sum(p for p, _ in shares)
        mean = sum(p * law.mean for p, law in shares) / total
        match self.what, self.stat:
            case "response", "mean":
                return mean
            case "response", _:
                q = float(self.stat[1:]) / 100.0
                below = sum(p * float(np.asarray(law.cdf(self.bound))) for p, law in shares) / total
                return None if below >= q else _quantile(shares, total, q)
            case "jobs_in_system", _:
                return rate * mean
            case "utilization", _:
                return None
            case "no_wait", _:
                return 1.0
        return 0.0


def _quantile(shares: Sequence[tuple[float, Any]], total: float, q: float) -> float:
    low, high = 0.0, 1.0

    def reached(x: float) -> bool:
        return bool(sum(p * float(np.asarray(law.cdf(x))) for p, law in shares) / total >= q)

    while not reached(high) and high < 1e300:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def objectives_of(texts: Iterable[str], model: Model) -> tuple[Objective, ...]:
    """Read objectives; a wrong one is refused with what would be right."""
    found = tuple(_read(text, model) for text in texts)
    if not found:
        raise UsageError(f"no objective: give --slo 'p95(wait) <= 600' (possible: {POSSIBLE})")
    return found


def _read(text: str, model: Model) -> Objective:
    whole = _WHOLE.fullmatch(text.strip())
    if whole is None:
        raise UsageError(f"objective {text!r}: must be written like 'p95(wait) <= 600' or 'mean(wait[T1]) <= 5'")
    left, bound = whole["left"].strip(), float(whole["bound"])
    form = next((m for m in (pattern.fullmatch(left) for pattern in _FORMS) if m), None)
    if form is None:
        if re.match(r"(variance|hol_loss)", left):
            raise UsageError(
                f"objective {text!r}: {left} need not fall with more servers, so it cannot be searched for"
            )
        raise UsageError(f"objective {text!r}: {left!r} is not known; there are {POSSIBLE}")
    parts = form.groupdict()
    what, stat, of, x = parts["what"], parts.get("stat") or "", (parts.get("of") or "").strip(), 0.0
    if of and of not in [c.label for c in model.classes]:
        raise UsageError(f"objective {text!r}: no class {of!r}; there are {', '.join(c.label for c in model.classes)}")
    wanted = (">=", ">") if what == "no_wait" else ("<=", "<")
    if whole["sign"] not in wanted:
        raise UsageError(f"objective {text!r}: must be written with {wanted[0]}")
    if not 0 <= bound < float("inf"):
        raise UsageError(f"objective {text!r}: the bound must be a finite number of at least 0")
    if parts.get("x") is not None:
        stat, x = "tail", float(parts["x"])
        if x < 0:
            raise UsageError(f"objective {text!r}: a wait is never below 0")
    if (stat == "tail" or what in ("no_wait", "utilization")) and bound > 1:
        raise UsageError(f"objective {text!r}: a probability or a share is at most 1")
    if stat.startswith("p") and stat not in PERCENTILES:
        q = float(stat[1:])
        if not 0 < q < 100:
            raise UsageError(f"objective {text!r}: a percentile lies between 0 and 100")
        if what != "wait":
            raise UsageError(f"objective {text!r}: of responses there are {', '.join(PERCENTILES)}")
        # The q-th percentile is at most x if and only if no more than 1 - q wait longer than x.
        stat, x, bound = "tail", bound, 1.0 - q / 100.0
    return Objective(" ".join(text.split()), what, stat, of, bound, x)


def verdict_of(objectives: tuple[Objective, ...], result: Evaluation) -> int:
    """1: all are met, -1: one is not, 0: cannot be told."""
    return min(verdicts) if (verdicts := [one.verdict(result) for one in objectives]) else 1
