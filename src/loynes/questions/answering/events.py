"""Event by event: the task for replicas of a model under a policy, and the result of what they observed."""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UnstableError
from loynes.estimators import events as from_events
from loynes.estimators.measures import ALL_JOBS, NOTHING_MORE, Wanted
from loynes.execution.deadline import Stopped
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.engine import Engine
from loynes.kernels.events.engine import Events, EventState
from loynes.kernels.events.replica import ReplicaRecord
from loynes.model import Model
from loynes.questions.answering.nodes import layout_of, rules_of
from loynes.questions.answering.orders import Order
from loynes.results.records.simulation import Simulation
from loynes.results.tails import Tails

# Of the observed jobs, as many again are left out first.
BURNED_IN = 0.25
# Mean services that a running job has left at most, for policies that are computed from it.
MOST_LEFT = 50.0


def event_task(model: Model, rate: float, order: Order, *, seed: int, replicas: Ints, **options: Any) -> Events:
    """Replicas of a model under a policy, by their numbers, with its nodes and rules; options are those of Events."""
    who = (job_table(model, rate), seed, STREAM_STATIONARY, replicas)
    if order.rule.prepare is not None:
        options |= {"service": _services(model), "residual": _residuals(model)}
    sharing = {"layout": layout_of(model), "rules": rules_of(model), "overestimate": order.overestimate}
    return Events(*who, order.rule, order.option, order.inflation, unit=model.mean_service, **sharing | options)


def _services(model: Model) -> Array:
    return np.array([c.service.mean for c in model.classes])


def _residuals(model: Model) -> Array:
    """How long a job that runs still runs on average, (1 + variance / mean^2) / 2 times the mean; at most MOST_LEFT
    times, where the variance is large or infinite."""
    varied = np.array([c.service.variance / c.service.mean**2 for c in model.classes])
    return _services(model) * np.minimum(0.5 * (1.0 + varied), MOST_LEFT)


def run_until(events: Events, engine: Engine) -> tuple[list[ReplicaRecord], bool]:
    """All rows of a task, in order, or those that were done when it was stopped; and whether it was."""
    state = EventState([None] * events.rows)
    done, stopped = events.rows, False
    try:
        engine.run(events, state, 0, events.rows)
    except Stopped as ended:
        done, stopped = ended.at, True
    return [record for record in state.records[:done] if record is not None], stopped


def simulation_of(
    model: Model,
    rate: float,
    order: Order,
    replicas: list[ReplicaRecord],
    confidence: float,
    *,
    seed: int,
    burn_in: int,
    start: str = "empty",
    horizon: float | None = None,
    moments: Array | None = None,
    warnings: tuple[str, ...] = (),
    wanted: Wanted = NOTHING_MORE,
) -> Simulation:
    """The observations of replicas, as a result."""
    classes, slowdown, tails = from_events.waits(model, replicas, confidence, wanted)
    if ALL_JOBS not in classes:
        raise UnstableError(f"rate {rate:g}: no job ended under {order.policy}; it seems to be unstable")
    overall = classes.pop(ALL_JOBS)
    at = np.empty(0) if moments is None else moments
    return Simulation(
        model=model.with_rate(rate),
        rate=rate,
        policy=order.policy,
        start=start,
        overall=overall,
        classes=classes,
        slowdown=slowdown,
        system=from_events.system(model, replicas, confidence),
        confidence=confidence,
        replicas=len(replicas),
        jobs=sum(one.arrived for one in replicas),
        seed=seed,
        horizon=horizon,
        details={"burn_in": burn_in} | order.details,
        moments=from_events.moments(model, rate, at, replicas, confidence),
        warnings=warnings,
        tails=Tails.of(tails),
    )


def unended_jobs(replicas: list[ReplicaRecord], order: Order) -> tuple[str, ...]:
    """A warning, where jobs that were to be observed did not end."""
    overrun = sum(one.overrun for one in replicas)
    if not overrun:
        return ()
    missing = sum(one.observed - one.observations.ended for one in replicas)
    return (
        f"{missing} observed jobs had not ended in {overrun} of {len(replicas)} replicas: under {order.policy} some "
        "jobs starve, or the rate is unstable (an empirical finding); averages leave them out and are too low",
    )
