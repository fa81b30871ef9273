"""Who starts next: a policy and its numbers, and whether a model can be run under it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loynes.errors import UsageError
from loynes.kernels.events.loop import POLICIES
from loynes.model import Model

# Policies that take a number: what it is called, and what it is by default.
OPTIONS = {"smash": ("window", 10), "quick-swap": ("threshold", 1)}
# Policies that believe in run times.
GUESSING = ("easy", "conservative", "shortest-first")


@dataclass(frozen=True)
class Order:
    """A policy, the number it takes, and how many times too long it believes run times to be."""

    policy: str
    option: int = 1
    inflation: float = 1.0

    @property
    def details(self) -> dict[str, Any]:
        """The numbers that mean something to this policy."""
        found: dict[str, Any] = {OPTIONS[self.policy][0]: self.option} if self.policy in OPTIONS else {}
        return found | ({"inflation": self.inflation} if self.policy in GUESSING else {})

    @property
    def label(self) -> str:
        said = [f"{name} {value:g}" for name, value in self.details.items() if (name, value) != ("inflation", 1.0)]
        return f"{self.policy} ({', '.join(said)})" if said else self.policy


def order_of(
    policy: str, window: int | None = None, threshold: int | None = None, inflation: float = 1.0, strictly: bool = True
) -> Order:
    """A policy with its numbers; strictly, a number that means nothing to it is refused."""
    if policy not in POLICIES:
        raise UsageError(f"policy {policy!r}: must be one of {', '.join(POLICIES)}")
    own, option = OPTIONS.get(policy, ("", 1))
    for name, value in (("window", window), ("threshold", threshold)):
        if value is None:
            continue
        if name != own and strictly:
            raise UsageError(f"{name} {value}: means nothing to policy {policy!r}")
        if value < 1:
            raise UsageError(f"{name} {value}: must be at least 1")
        if name == own:
            option = value
    if not 1.0 <= inflation < math.inf:
        raise UsageError(f"inflation {inflation:g}: a guess is at least as long as the job, 1 or more")
    if inflation != 1.0 and policy not in GUESSING:
        if strictly:
            raise UsageError(f"inflation {inflation:g}: means nothing to policy {policy!r}")
        inflation = 1.0
    return Order(policy, option, inflation)


def check_order(model: Model, order: Order) -> tuple[str, ...]:
    """Refuse what cannot be run event by event; warnings of what will not work as its authors meant it."""
    if any(c.specific for c in model.classes):
        raise UsageError("events: jobs that want particular servers are not simulated event by event")
    if model.order != "fcfs":
        raise UsageError(f"discipline {model.order!r}: is the recurrence's; here the policy says who starts")
    if order.policy != "server-filling":
        return ()
    if len(model.kinds) > 1:
        raise UsageError("policy 'server-filling': is for identical servers")
    needs = [model.demand(c)[0] for c in model.classes]
    return needs_no_powers(needs, model.servers)


def needs_no_powers(needs: list[int], servers: int) -> tuple[str, ...]:
    """What server filling promises only for powers of two."""
    if servers & (servers - 1) == 0 and not any(need & (need - 1) for need in needs):
        return ()
    return (
        "server-filling leaves no server idle while there is work if the number of servers and all needs are powers "
        "of two, which they are not",
    )
