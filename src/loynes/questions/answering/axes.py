"""What a plan varies: servers, units of a resource, or the rate, in steps from what is least possible on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loynes.errors import UnstableError, UsageError
from loynes.execution.context import Context
from loynes.model import Model, load
from loynes.model.nodes import MOST_NODES, entry_names, fits_on
from loynes.model.sizes import MOST_SERVERS, by_kind
from loynes.questions.answering.limits import limit_of
from loynes.questions.answering.orders import Order
from loynes.questions.answering.thresholds import OF_TIME, sampled_threshold, stated_rate

if TYPE_CHECKING:
    from loynes.questions.plan import AskPlan

# Rates that are tried are apart by about this part of the resolution, times the threshold.
RATE_STEP = 0.5
RESOLUTION = 0.01
# How many times the least possible number of servers is tried, unless --most says otherwise.
MOST_TIMES = 64


@dataclass(frozen=True)
class Axis:
    """What is varied: values in steps k = 0, 1, 2, ..., each at least as good for waits as the one before."""

    vary: str
    rate: float | None  # None where it is what is varied
    value: Callable[[int], float]
    at: Callable[[float], tuple[Model, float]]  # value -> model and rate
    last: int  # the last step there is
    first_why: str  # why nothing before step 0 can do
    limit: str  # what stands at the last step
    resolution: float = 0.0  # to which a value is looked for, as a part of it; 0: to the next one

    def near(self, k: int) -> int:
        """The first step, this one or before it, whose value is within the resolution of this one's."""
        first = k
        while first > 0 and abs(self.value(first - 1) - self.value(k)) <= self.resolution * self.value(k):
            first -= 1
        return first


def axis_of(question: AskPlan, order: Order | None, context: Context) -> Axis:
    """Of a question; `order` is the policy, if it is another than first come, first served."""
    model, vary, rate, most = question.model, question.vary, question.rate, question.most
    if vary == "rate":
        if rate is not None:
            raise UsageError("the rate is what is looked for: give --rate or --vary rate, not both")
        resolution = RESOLUTION if question.resolution is None else question.resolution
        part = context.part(0.0, 0.0, "threshold").within(OF_TIME)
        top, known = _highest(model, order, question.seed, part)
        step = _round(RATE_STEP * resolution * top)
        steps = int(top / step)
        highest = steps if most is None else min(steps, int(most / step + 1e-9))
        if highest < 1:
            raise UsageError(f"most {most:g}: must be at least {step:g}, the first rate that is tried")
        why = known if most is None else f"most is {most:g}"
        return Axis(
            vary, None, lambda k: round((highest - k) * step, 12), lambda rate: (model, rate), highest - 1, why,
            f"rate {step:g}", resolution,
        )  # fmt: skip
    if model.nodes is not None:
        return _of_nodes(model, vary, rate, most)
    kinds = list(model.resources or ())
    possible = [f"resources.{kind}" for kind in kinds] if kinds else ["servers"]
    if vary not in possible:
        raise UsageError(f"vary {vary!r}: must be one of {', '.join([*possible, 'rate'])}")
    rate = model.rate if rate is None else rate
    if rate is None:
        raise UsageError("the model has no arrivals.rate; say --rate R (jobs per unit of time), or --vary rate")
    kind = vary.removeprefix("resources.") if kinds else "servers"
    index = list(model.kinds).index(kind)
    needed = max(model.demand(c)[index] + model.specific(c)[index] for c in model.classes)
    offered = rate * model.works[index]
    least = max(needed, math.floor(offered) + 1, 1)
    limit = _whole(most, MOST_SERVERS) if most is not None else MOST_TIMES * least
    why = f"a job needs {needed}" if least == needed else f"{offered:.6g} are busy on average"
    if limit < least:
        raise UsageError(f"most {most:g}: at least {least} are needed ({why})")
    for other, units, work in zip(model.kinds, model.units, model.works, strict=True):
        if other != kind and rate * work >= units:
            raise UnstableError(
                f"rate {rate:g} is unstable: {rate * work:.6g} of {units} {other} would be busy on average"
            )
    chosen = rate
    return Axis(
        vary, rate, lambda k: float(least + k), lambda value: (load(model, [f"{vary}={int(value)}"]), chosen),
        limit - least, why, f"{limit} {kind}",
    )  # fmt: skip


def _whole(most: float, supported: int) -> int:
    """Where to give up, as a number of servers or nodes."""
    if most > supported:
        raise UsageError(f"most {most:g}: must be at most {supported}")
    return int(most)


def _of_nodes(model: Model, vary: str, rate: float | None, most: float | None) -> Axis:
    """How many nodes there are of an entry."""
    nodes = model.nodes or ()
    possible = ["nodes"] if len(nodes) == 1 else [f"nodes.{name}" for name in entry_names(nodes)]
    if len(nodes) == 1 and vary == f"nodes.{nodes[0].name}":
        vary = "nodes"
    if vary not in possible:
        raise UsageError(f"vary {vary!r}: must be one of {', '.join([*possible, 'rate'])}")
    rate = stated_rate(model, rate)
    place = possible.index(vary)
    limit = _whole(most, MOST_NODES) if most is not None else MOST_TIMES * nodes[place].count
    others = tuple(one.count for one in nodes)
    has = model.in_units(by_kind(nodes[place].has, model.kinds))
    why = ""
    for count in range(1, limit + 1):
        counts = (*others[:place], count, *others[place + 1 :])
        units = [n + (count - others[place]) * each for n, each in zip(model.units, has, strict=True)]
        full = [kind for kind, n, work in zip(model.kinds, units, model.works, strict=True) if rate * work >= n]
        stuck = [c.label for c in model.classes if not fits_on(model, c, counts)]
        if not full and not stuck:
            break
        why = f"a job of {stuck[0]} needs more" if stuck else f"more {full[0]} than there are would be busy"
    else:
        raise UsageError(f"vary {vary}: not even {limit} would do: {why}")
    least, chosen = count, rate
    return Axis(
        vary, rate, lambda k: float(least + k),
        lambda value: (load(model, [f"nodes[{place}].count={int(value)}"]), chosen), limit - least,
        why or "a cluster has nodes", f"{limit} nodes",
    )  # fmt: skip


def _highest(model: Model, order: Order | None, seed: int, context: Context) -> tuple[float, str]:
    """The rate beyond which nothing is tried, and why."""
    if order is None:
        threshold = sampled_threshold(model, seed=seed, context=context).threshold.estimate
        return threshold, f"the threshold is {threshold:.5g}"
    limit = limit_of(model, order, seed=seed, context=context).rate
    return limit.high, f"{order.policy} seems to take at most {limit.high:.5g}"


def _round(x: float) -> float:
    """1, 2 or 5 times a power of ten, at most x."""
    power = 10.0 ** math.floor(math.log10(x))
    return max(m for m in (1.0, 2.0, 5.0) if m * power <= x * (1 + 1e-12)) * power
