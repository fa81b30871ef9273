"""A model's nodes and rules of sharing as the events know them, and beside an answer what nodes cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.kernels.events.layout import PLACEMENTS, PREEMPTIONS, Layout, Rules
from loynes.model import Model, Poisson
from loynes.model.nodes import PLACEMENT, PREEMPTION, allowed, quota_by_kind
from loynes.model.sizes import Written, by_kind
from loynes.results.records.simulation import Pooled

if TYPE_CHECKING:
    from loynes.execution.context import Context
    from loynes.kernels.events.engine import Events
    from loynes.kernels.events.replica import ReplicaRecord
    from loynes.questions.answering.orders import Order

# Chains up to so many states take a second or two: their exact waits are shown beside those on nodes.
CHEAP_QUEUE = 400
NO_LIMIT = -1


def layout_of(model: Model) -> Layout | None:
    """The nodes of a model, in the order of the file, and the tasks of its classes; None where there are none."""
    if model.nodes is None:
        return None
    counts = [one.count for one in model.nodes]
    has = [model.in_units(by_kind(one.has, model.kinds)) for one in model.nodes]
    classes = model.classes
    return Layout(
        capacity=np.repeat(np.array(has, np.int64), counts, axis=0),
        group=np.repeat(np.arange(len(counts)), counts),
        tasks=np.array([c.tasks for c in classes], np.int64),
        task_need=np.array([model.task_demand(c) for c in classes], np.int64),
        per_node=np.array([c.per_node or 0 for c in classes], np.int64),
        allowed=np.array([allowed(model, c) for c in classes], np.int64),
        placement=PLACEMENTS.index(model.placement or PLACEMENT),
    )


def rules_of(model: Model) -> Rules | None:
    """Priorities and quotas; None where all classes are alike and nobody is limited."""
    if not model.has_rules:
        return None
    quotas = model.quotas or ()
    cohorts = list(dict.fromkeys(one.cohort for one in quotas if one.cohort is not None))
    holder = {name: place for place, one in enumerate(quotas) for name in one.classes}
    kinds = len(model.kinds)
    return Rules(
        priority=np.array([c.priority for c in model.classes], np.int64),
        preemption=PREEMPTIONS.index(model.preemption or PREEMPTION),
        holder=np.array([holder.get(c.label, -1) for c in model.classes], np.int64),
        quota=np.array([_limits(model, one.limit) for one in quotas], np.int64).reshape(len(quotas), kinds),
        cohort=np.array([-1 if one.cohort is None else cohorts.index(one.cohort) for one in quotas], np.int64),
        borrow=np.array([_limits(model, one.borrow) for one in quotas], np.int64).reshape(len(quotas), kinds),
    )


def _limits(model: Model, amount: Written) -> list[int]:
    """Units of every kind, NO_LIMIT where there is none. Those that are never reached are alike."""
    given = zip(quota_by_kind(amount, model), model.unit_sizes, model.units, strict=True)
    return [NO_LIMIT if one is None else min(int(one) // unit, 2 * there) for one, unit, there in given]


def check_start(model: Model, start: str) -> None:
    """Refuse to begin in a state that does not say which nodes jobs are on."""
    if start != "empty" and (model.nodes is not None or model.has_rules):
        raise UsageError(
            f"from {start!r}: such states are those of the pooled cluster in order of arrival; a model with nodes, "
            "priorities or quotas starts empty"
        )


def beside(
    model: Model, rate: float, order: Order, events: Events, replicas: list[ReplicaRecord], confidence: float,
    context: Context,
) -> Pooled:  # fmt: skip
    """The same jobs under the same policy and rules on the pooled cluster, and what nodes add to the mean wait."""
    from loynes.estimators.events import mean_wait, paired_difference
    from loynes.questions.answering.events import run_until

    context.progress(0.0, "the pooled cluster")
    # Of every replica that there is: the same numbers make the same jobs.
    numbers = np.arange(len(replicas))
    others, _ = run_until(replace(events, layout=None, replicas=numbers), context.engine)
    count = len(others)
    wait = mean_wait(others, confidence).within(0.0, np.inf) if count > 1 else None
    certified, source = _exact_wait(model, rate) if order.policy == "fcfs" and not model.has_rules else (None, "")
    return Pooled(
        wait=wait,
        cost=paired_difference(replicas[:count], others, confidence) if count > 1 else None,
        exact_wait=certified,
        source=source,
    )


def _exact_wait(model: Model, rate: float) -> tuple[Estimate | None, str]:
    """The mean wait of the pooled cluster first come, first served, where a formula or a small chain gives it."""
    from loynes.questions.answering.chains import exact_queue, exact_threshold, saturated_states

    pooled = model.pooled
    if not isinstance(pooled.arrivals, Poisson) or pooled.chain is not None:
        return None, ""
    states = saturated_states(pooled, CHEAP_QUEUE)
    try:
        found = exact_queue(exact_threshold(pooled, states), pooled, rate, states, ())
    except UsageError:
        return None, ""
    return (None, "") if found.overall is None else (Estimate.exact(found.overall.mean), found.method)
