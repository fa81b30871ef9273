"""Who starts next: a policy and its numbers, and whether a model can be run under it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loynes.errors import UsageError
from loynes.kernels.events.policies import Policy, find_policy
from loynes.model import Model


@dataclass(frozen=True)
class Order:
    """A policy, the number it takes, and how many times too long it believes run times to be."""

    rule: Policy
    option: int = 1
    inflation: float = 1.0

    @property
    def policy(self) -> str:
        return self.rule.name

    @property
    def details(self) -> dict[str, Any]:
        """The numbers that mean something to this policy."""
        found: dict[str, Any] = {self.rule.option.name: self.option} if self.rule.option else {}
        return found | ({"inflation": self.inflation} if self.rule.believes_run_times else {})

    @property
    def label(self) -> str:
        said = [f"{name} {value:g}" for name, value in self.details.items() if (name, value) != ("inflation", 1.0)]
        return f"{self.policy} ({', '.join(said)})" if said else self.policy


def order_of(
    policy: str, window: int | None = None, threshold: int | None = None, inflation: float = 1.0, strictly: bool = True
) -> Order:
    """A policy with its numbers; strictly, a number that means nothing to it is refused."""
    rule = find_policy(policy)
    policy, own, option = rule.name, rule.option.name if rule.option else "", rule.default_option
    for name, value in (("window", window), ("threshold", threshold)):
        if value is None:
            continue
        if name != own and strictly:
            raise UsageError(f"{name} {value}: means nothing to policy {policy!r}")
        least = rule.option.least if rule.option and name == own else 1
        if value < least:
            raise UsageError(f"{name} {value}: must be at least {least}")
        if name == own:
            option = value
    if not 1.0 <= inflation < math.inf:
        raise UsageError(f"inflation {inflation:g}: a guess is at least as long as the job, 1 or more")
    if inflation != 1.0 and not rule.believes_run_times:
        if strictly:
            raise UsageError(f"inflation {inflation:g}: means nothing to policy {policy!r}")
        inflation = 1.0
    return Order(rule, option, inflation)


def check_order(model: Model, order: Order) -> tuple[str, ...]:
    """Refuse what cannot be run event by event; warnings of what will not work as its authors meant it."""
    if any(c.specific for c in model.classes):
        raise UsageError("events: jobs that want particular servers are not simulated event by event")
    if model.order != "fcfs":
        raise UsageError(f"discipline {model.order!r}: is the recurrence's; here the policy says who starts")
    if len(model.kinds) == 1:
        return order.rule.warnings([model.demand(c)[0] for c in model.classes], model.servers)
    if order.rule.identical_servers_only:
        raise UsageError(f"policy {order.policy!r}: is for identical servers")
    return ()
