"""Service objectives: 'p95(wait) <= 600', 'mean(wait[T1]) <= 5', read, checked and judged.

An objective is about a metric of the register that never falls (or never rises) as the rate grows or servers are taken
away, since the search leans on it. A variance or the HOL loss may rise and fall again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.measures import System, Waits
from loynes.estimators.metrics import Metric, metrics, percentile, tail
from loynes.model import Model
from loynes.model.laws import Law
from loynes.model.units import time_in

# The last sign before the bound; P(wait > x) has one of its own, inside.
_WHOLE = re.compile(r"(?P<left>.+[^<>=\s])\s*(?P<sign><=|>=|<|>|=)\s*(?P<bound>[^<>=]+?)\s*")
# stat(what[class]), P(wait[class] > x), name[class]
_STAT = re.compile(r"(?P<stat>[a-z]\w*(?:\.\d+)?)\s*\(\s*(?P<what>\w+)\s*(?:\[(?P<of>.+)\])?\s*\)")
_TAIL = re.compile(r"P\s*\(\s*wait\s*(?:\[(?P<of>.+)\])?\s*>\s*(?P<x>[^()]+?)\s*\)")
_NAME = re.compile(r"(?P<name>\w+)\s*(?:\[(?P<of>.+)\])?")


class HasMeasures(Protocol):
    """Evaluations of models and of logs."""

    @property
    def overall(self) -> Waits: ...
    @property
    def classes(self) -> Mapping[str, Waits]: ...
    @property
    def system(self) -> System: ...


@dataclass(frozen=True)
class Target:
    """A metric, of a class or of all jobs: an objective without a bound."""

    text: str
    metric: Metric
    of: str  # a class, or nothing for all jobs
    exceeds: tuple[float, ...] = ()  # the x of P(wait > x), which must be asked for

    def value(self, result: HasMeasures) -> Estimate:
        """The metric in a result that was asked for `exceeds`."""
        of = result.system if self.metric.of == "system" else result.classes[self.of] if self.of else result.overall
        found: Estimate = self.metric.get(of)
        return found


@dataclass(frozen=True)
class Objective(Target):
    """A metric, of a class or of all jobs, that must not exceed its bound (or, if it falls with load, fall below)."""

    bound: float = field(kw_only=True)
    sign: str = ""  # <= or >=; by default as the metric grows
    percentiles: tuple[float, ...] = ()  # those that must be asked for

    @property
    def at_least(self) -> bool:
        return self.sign.startswith(">") if self.sign else self.metric.grows < 0

    def met_by(self, value: Estimate) -> int:
        """1: surely, -1: surely not, 0: cannot be told."""
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
        """The metric if no job had to wait; None where that is not known."""
        shares = [(c.probability, c.service) for c in model.classes if not self.of or c.label == self.of]
        total = math.fsum(p for p, _ in shares)
        mean = sum(p * law.mean for p, law in shares) / total
        what, _, stat = self.metric.name.partition(".")
        if self.metric.name == "response.mean":
            return mean
        if what == "response" and stat.startswith("p"):
            q = float(stat[1:]) / 100.0
            below = sum(p * float(np.asarray(law.cdf(self.bound))) for p, law in shares) / total
            return None if below >= q else _quantile(shares, total, q)
        known = {"jobs_in_system": rate * mean, "jobs_waiting": 0.0, "no_wait": 1.0}
        return 0.0 if what.startswith("wait") else known.get(self.metric.name)


def _quantile(shares: Sequence[tuple[float, Law]], total: float, q: float) -> float:
    """The q-quantile of a mixture of laws."""
    from scipy.optimize import brentq

    def above(x: float) -> float:
        return float(sum(p * float(np.asarray(law.cdf(x))) for p, law in shares) / total - q)

    high = 1.0
    while above(high) < 0 and high < 1e300:
        high *= 2.0
    return float(brentq(above, 0.0, high)) if above(high) > 0 else high


def possible(slowdowns: bool = False) -> str:
    """What an objective can be about."""
    names = [spelling(metric) for metric in metrics() if metric.grows and (metric.everywhere or slowdowns)]
    return f"{', '.join(names)}, any other percentile, p99.9(wait), P(wait > x); of a class: p95(wait[NAME])"


def spelling(metric: Metric) -> str:
    """A metric as objectives write it: p95(wait)."""
    what, _, stat = metric.name.partition(".")
    return f"{stat}({what})" if stat else what


def objectives_of(
    texts: Iterable[str],
    classes: Sequence[str],
    time_unit: str | None = None,
    searched: bool = True,
    slowdowns: bool = False,
) -> tuple[Objective, ...]:
    """Read objectives about these classes; a wrong one is refused with what would be right.

    time_unit: that of the model or log; bounds that are times may then have a unit: p95(wait) <= 1h. Where nothing is
    `searched` for, they may be about any metric, and say at most or at least. `slowdowns` says whether bounded
    slowdowns will be known.
    """
    objectives = tuple(_read(text, classes, time_unit, searched) for text in texts)
    if not objectives:
        raise UsageError(f"no objective: give --slo 'p95(wait) <= 600' (possible: {possible(slowdowns)})")
    for one in objectives:
        _check_known(one, slowdowns)
    return objectives


def _check_known(target: Target, slowdowns: bool) -> None:
    if not target.metric.everywhere and not slowdowns:
        raise UsageError(
            f"objective {target.text!r}: {target.metric.name} is known where jobs are run one by one, in logs and by "
            "simulate; a model without a time_unit needs --slowdown-threshold"
        )


def target_of(text: str, classes: Sequence[str], time_unit: str | None = None, slowdowns: bool = False) -> Target:
    """Read what is wanted without a bound: mean(wait), p95(wait[T1]), P(wait > 60), hol_loss."""
    metric, of, exceeds, _ = _metric(text, text.strip(), None, time_unit)
    _check_class(text, of, classes)
    target = Target(" ".join(text.split()), metric, of, exceeds)
    _check_known(target, slowdowns)
    return target


def _check_class(text: str, of: str, classes: Sequence[str]) -> None:
    if of and of not in classes:
        raise UsageError(f"objective {text!r}: no class {of!r}; there are {', '.join(classes)}")


def _number(text: str, given: str, unit: str, time_unit: str | None) -> float:
    """A bound or an x as a number: of a time with or without a unit, of a probability perhaps in percent."""
    try:
        if unit == "time":
            return time_in(given.strip(), time_unit)
        percent = given.rstrip().endswith("%") and unit in ("probability", "share")
        return float(given.rstrip().rstrip("%")) / 100.0 if percent else float(given)
    except ValueError as error:
        why = f": {error}" if unit == "time" else f": {given.strip()!r} is no number"
        raise UsageError(f"objective {text!r}{why}") from None


def _read(text: str, classes: Sequence[str], time_unit: str | None, searched: bool) -> Objective:
    whole = _WHOLE.fullmatch(text.strip())
    if whole is None:
        raise UsageError(f"objective {text!r}: must be written like 'p95(wait) <= 600' or 'mean(wait[T1]) <= 5'")
    metric, of, exceeds, bound = _metric(text, whole["left"].strip(), whole["bound"], time_unit)
    _check_class(text, of, classes)
    if searched and not metric.grows:
        raise UsageError(
            f"objective {text!r}: {metric.label} need not fall with more servers, so it cannot be searched for"
        )
    wanted = (">=", ">") if metric.grows < 0 else ("<=", "<")
    if whole["sign"] not in (wanted if searched else ("<=", "<", ">=", ">")):
        raise UsageError(f"objective {text!r}: must be written with {wanted[0] if searched else '<= or >='}")
    if not 0 <= bound < math.inf:
        raise UsageError(f"objective {text!r}: the bound must be a finite number of at least 0")
    if metric.unit in ("probability", "share") and bound > 1:
        raise UsageError(f"objective {text!r}: a probability or a share is at most 1")
    words = " ".join(text.split())
    return Objective(words, metric, of, exceeds, bound=bound, sign=whole["sign"], percentiles=_asked(metric))


def _asked(metric: Metric) -> tuple[float, ...]:
    """The percentile that a metric is, if it is one that must be asked for."""
    return () if metric in metrics() or ".p" not in metric.name else (float(metric.name.partition(".p")[2]),)


def _metric(
    text: str, left: str, given: str | None, time_unit: str | None
) -> tuple[Metric, str, tuple[float, ...], float]:
    """The metric that the left side names, its class, what to ask for, and the bound of that metric, if it has one."""

    def bound(unit: str) -> float:
        return math.inf if given is None else _number(text, given, unit, time_unit)

    known = {spelling(metric): metric for metric in metrics()}
    if form := _TAIL.fullmatch(left):
        x = _number(text, form["x"], "time", time_unit)
        if x < 0:
            raise UsageError(f"objective {text!r}: a wait is never below 0")
        return tail(x), (form["of"] or "").strip(), (x,), bound("probability")
    form = _STAT.fullmatch(left)
    spelled = f"{form['stat']}({form['what']})" if form else ""
    if form is None and (form := _NAME.fullmatch(left)):
        spelled = form["name"]
    if form is not None and spelled in known:
        of = (form["of"] or "").strip()
        if of and known[spelled].of == "system":
            raise UsageError(f"objective {text!r}: {spelled} is of the whole cluster, not of a class")
        return known[spelled], of, (), bound(known[spelled].unit)
    if form is not None and re.fullmatch(r"p\d+(\.\d+)?\(\w+\)", spelled):
        q = float(form["stat"][1:])
        if not 0 < q < 100:
            raise UsageError(f"objective {text!r}: a percentile lies between 0 and 100")
        of = (form["of"] or "").strip()
        if given is None:
            there = [name for name in known if name.endswith(f"({form['what']})")]
            what = "waits" if form["what"] == "wait" else "responses"
            raise UsageError(f"objective {text!r}: of {what} there are {', '.join(there)}")
        if form["what"] == "wait":
            # The q-th percentile is at most x if and only if no more than 1 - q wait longer than x.
            x = bound("time")
            return tail(x), of, (x,), 1.0 - q / 100.0
        if form["what"] == "response":
            return percentile("response", q), of, (), bound("time")
    all_of_them = possible() if given is not None else f"{', '.join(known)}, P(wait > x); of a class: p95(wait[NAME])"
    raise UsageError(f"objective {text!r}: {left!r} is not known; there are {all_of_them}")


def verdict_of(objectives: tuple[Objective, ...], result: HasMeasures) -> int:
    """1: all are met, -1: one is not, 0: cannot be told."""
    return min((one.met_by(one.value(result)) for one in objectives), default=1)
