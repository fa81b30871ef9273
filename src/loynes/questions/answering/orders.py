"""Who starts next: a policy and its numbers, and whether a model can be run under it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loynes.errors import UsageError
from loynes.kernels.events.policies import Policy, find_policy
from loynes.kernels.events.recorded import SHORTEST
from loynes.model import Model
from loynes.model.units import time_in

# The largest whole number that a policy takes: one that a double holds exactly.
MOST = 2**53

PolicyLike = str | Path | Policy | Callable[..., Any]


@dataclass(frozen=True)
class Order:
    """A policy, the number it takes, and how many times too long it believes run times to be, and at random."""

    rule: Policy
    option: float = 1  # not a number where the policy computes it
    inflation: float = 1.0
    overestimate: float = 0.0

    @property
    def policy(self) -> str:
        return self.rule.name

    @property
    def details(self) -> dict[str, Any]:
        """The numbers that mean something to this policy."""
        said = self.rule.option is not None and self.option == self.option and self.option != 0
        numbers: dict[str, Any] = {self.rule.option.name: self.option} if self.rule.option and said else {}
        believed = {"inflation": self.inflation} if self.rule.believes_run_times else {}
        return numbers | believed | ({"overestimate": self.overestimate} if self.overestimate else {})

    @property
    def label(self) -> str:
        numbers = [f"{name} {value:g}" for name, value in self.details.items() if (name, value) != ("inflation", 1.0)]
        return f"{self.policy} ({', '.join(numbers)})" if numbers else self.policy


def order_of(
    policy: PolicyLike,
    numbers: Mapping[str, float | None],
    inflation: float = 1.0,
    overestimate: float = 0.0,
    *,
    strictly: bool = True,
) -> Order:
    """A policy with its number, by the number's name; strictly, one that means nothing to it is refused."""
    rule = find_policy(policy)
    name, number = rule.option.name if rule.option else "", rule.default_option
    for given, value in numbers.items():
        if value is None:
            continue
        if given not in (name, "option") or not name:
            if strictly:
                raise UsageError(f"{given} {value:g}: means nothing to policy {rule.name!r}")
            continue
        if rule.option is not None and value < rule.option.least:
            raise UsageError(f"{given} {value:g}: must be at least {rule.option.least}")
        if isinstance(value, int) and value > MOST:
            raise UsageError(f"{given}: must be at most 2^53, about {MOST:.0e}")
        number = value
    if not rule.believes_run_times:
        for what, believed, none in (("inflation", inflation, 1.0), ("overestimate", overestimate, 0.0)):
            if believed != none and strictly:
                raise UsageError(f"{what} {believed:g}: means nothing to policy {rule.name!r}")
        inflation, overestimate = 1.0, 0.0
    return Order(rule, number, inflation, overestimate)


def shortest_of(threshold: float | None, time_unit: str | None) -> float | None:
    """How long services count at least in bounded slowdowns: as asked, or 10 s; None where times have no unit."""
    if threshold is not None or time_unit is None:
        return threshold
    return time_in(f"{SHORTEST:g} s", time_unit)


def check_order(model: Model, order: Order) -> tuple[str, ...]:
    """Refuse what cannot be run event by event; warnings of what will not work as its authors meant it."""
    if any(c.specific for c in model.classes):
        raise UsageError("events: jobs that want particular servers are not simulated event by event")
    if model.order != "fcfs":
        raise UsageError(f"discipline {model.order!r}: is the recurrence's; here the policy says who starts")
    restarts, priorities = model.preemption == "restart", len({c.priority for c in model.classes}) > 1
    if refusal := order.rule.refuses(quotas=bool(model.quotas), restarts=restarts, priorities=priorities):
        raise UsageError(refusal)
    if len(model.kinds) == 1:
        return order.rule.warnings([model.demand(c)[0] for c in model.classes], model.servers)
    if order.rule.identical_servers_only:
        raise UsageError(f"policy {order.policy!r}: is for identical servers")
    return ()
