"""Which policies apply to a cluster, and what speaks most against each there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loynes.errors import UsageError
from loynes.kernels.events.policies import Policy, policies
from loynes.questions.answering.orders import Order, PolicyLike, order_of

NO_RUN_TIMES = "needs run times"


def orders_for(
    given: Sequence[PolicyLike], numbers: Mapping[str, float | None], inflation: float, kinds: int
) -> list[Order]:
    """The policies that are named, or all that apply where there are so many kinds of servers; fcfs comes first."""
    if given:
        named = [order_of(one, numbers, inflation, strictly=False) for one in given]
        if len({one.policy for one in named}) < len(named):
            raise UsageError("policies: name none twice")
        for one in named:
            if kinds > 1 and one.rule.identical_servers_only:
                raise UsageError(f"policy {one.policy!r}: is for identical servers")
    else:
        apply = [one for one in policies().values() if kinds == 1 or not one.identical_servers_only]
        named = [order_of(one, numbers, inflation, strictly=False) for one in apply]
    first = [one for one in named if one.policy == "fcfs"] or [order_of("fcfs", {})]
    return [*first, *(one for one in named if one.policy != "fcfs")]


def caveat_of(rule: Policy, found: Sequence[str] = (), promised: Sequence[str] = ()) -> str:
    """What speaks most against a policy: what was found here; that it stops jobs; what it does not promise for such
    needs; or else what holds everywhere."""
    general = rule.caveat or (NO_RUN_TIMES if rule.believes_run_times else "")
    stops = general if rule.keeps_place else ""
    return next((text for text in (*found, stops, *promised) if text), general)
