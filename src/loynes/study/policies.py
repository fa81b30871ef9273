"""Policies on the same jobs: what strict order costs."""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from loynes.errors import LoynesWarning, UnstableError, UsageError
from loynes.estimate import Estimate, mean_of
from loynes.inputs.tables import job_table
from loynes.kernels.events.engine import Events, ReplicaRecord
from loynes.kernels.events.loop import ENDED, WAIT
from loynes.model import Model, load
from loynes.results.policies import Limit, PolicyComparison, PolicyPoint
from loynes.results.reading import read_result
from loynes.study.limits import limit_of
from loynes.study.options import check_common
from loynes.study.orders import Order, check_order, order_of
from loynes.study.progress import Part, Progress, silent
from loynes.study.replicas import run_replicas
from loynes.study.runfolder import answered, finish, journal_of
from loynes.study.simulate import BURNED_IN, record_of, shortfalls
from loynes.study.sweep import values

REPLICAS = 32
JOBS = 100_000
# Which part of the work is finding out what each can carry, to an order.
OF_LIMITS = 0.5
# A line longer than this, of jobs that run besides, is not waited for.
MOST_PRESENT = 1 << 17
# What a run's folder says was asked.
RECORDED = ("policies", "loads", "rates", "window", "threshold", "inflation", "jobs", "replicas", "burn_in", "limits",
            "confidence", "seed")  # fmt: skip


def compare_policies(
    model: str | Path | Mapping[str, Any] | Model,
    policies: Iterable[str] = ("fcfs", "easy", "first-fit"),
    *,
    loads: str | Iterable[float] | None = None,
    rates: str | Iterable[float] | None = None,
    window: int | None = None,
    threshold: int | None = None,
    inflation: float = 1.0,
    jobs: int = JOBS,
    replicas: int = REPLICAS,
    burn_in: int | None = None,
    limits: bool = True,
    confidence: float = 0.99,
    seed: int = 1,
    folder: str | Path | None = None,
    executor: Any = None,
    progress: Progress = silent,
) -> PolicyComparison:
    """Waits and losses under several policies at several rates, event by event on the same jobs.

    `loads` are fractions of the threshold of first come, first served, and may be above 1: other policies may take
    more. The first policy is what the others are compared with, job for job, so that differences are known better than
    the waits. `limits` adds what each policy can carry: the threshold for fcfs, and an estimate for the others.
    `window`, `threshold` and `inflation` go to the policies that know them.
    """
    began = time.perf_counter()
    check_common(confidence=confidence, seed=seed, replicas=replicas, burn_in=burn_in)
    policies = tuple(policies)
    if not policies or len(set(policies)) < len(policies):
        raise UsageError("policies: name at least one, and none twice")
    if not 1 <= jobs <= 2**40:
        raise UsageError(f"jobs {jobs}: must be at least 1")
    if not limits and loads is None and rates is None and load(model).rate is None:
        raise UsageError("nothing to compare at: give loads or rates")
    orders = [order_of(name, window, threshold, inflation, strictly=False) for name in policies]
    if loads is not None and rates is not None:
        raise UsageError("give loads or rates, not both")
    loads, rates = (None if given is None else _numbers(n, given) for n, given in (("loads", loads), ("rates", rates)))
    model = load(model)
    if model.scenario:
        raise UsageError("the model has a scenario, which policies are not compared on; simulate follows it")
    warnings = tuple(dict.fromkeys(text for order in orders for text in check_order(model, order)))
    options = {name: value for name, value in locals().items() if name in RECORDED}
    if answered(folder, "policies", model, options):
        known: PolicyComparison = read_result(folder or "")
        return known
    burn_in = int(BURNED_IN * jobs) if burn_in is None else burn_in
    found: dict[str, Limit] = {}
    points: list[PolicyPoint] = []
    with journal_of(folder, "policies", model, options) as journal:
        ways: dict[str, Any] = {"executor": executor, "journal": journal}
        strict = limit_of(model, order_of("fcfs"), seed=seed, progress=Part(progress, 0.0, 0.02), **ways)
        if limits:
            for number, order in enumerate(orders):
                part = Part(progress, 0.02 + number * OF_LIMITS / len(orders), OF_LIMITS / len(orders))
                found[order.policy] = (
                    strict if order.policy == "fcfs" else limit_of(model, order, seed=seed, progress=part, **ways)
                )
        own = [] if model.rate is None else [model.rate]
        all_rates = [x * strict.rate.estimate for x in loads] if loads else rates or own
        first = 0.02 + OF_LIMITS if limits else 0.02
        for number, rate in enumerate(all_rates):
            part = Part(progress, first + number * (1 - first) / len(all_rates), (1 - first) / len(all_rates))
            points += _at(model, orders, rate, strict, found, jobs, replicas, burn_in, confidence, seed, ways, part)
    result = PolicyComparison(
        model, policies, tuple(points), found, model.ideal, confidence, seed, time.perf_counter() - began,
        warnings=warnings,
    )  # fmt: skip
    finish(folder, result)
    for text in warnings:
        python_warnings.warn(text, LoynesWarning, stacklevel=2)
    return result


def _numbers(name: str, given: str | Iterable[float]) -> list[float]:
    found = values(name, given)
    if not all(isinstance(x, int | float) and x > 0 for x in found):
        raise UsageError(f"{name}: must be numbers above 0")
    return [float(x) for x in found]


def _at(
    model: Model, orders: list[Order], rate: float, strict: Limit, limits: dict[str, Limit], jobs: int, replicas: int,
    burn_in: int, confidence: float, seed: int, ways: dict[str, Any], progress: Progress,
) -> list[PolicyPoint]:  # fmt: skip
    """All policies at one rate."""
    points, baseline = [], None
    share = rate / strict.rate.estimate
    for number, order in enumerate(orders):
        part = Part(progress, number / len(orders), 1.0 / len(orders), f"rate {rate:.4g}")
        limit = strict if order.policy == "fcfs" else limits.get(order.policy)
        if rate >= model.ideal or (limit is not None and rate >= limit.rate.high):
            points.append(PolicyPoint(order.policy, rate, share, None, None, "more than it can carry"))
            continue
        began = time.perf_counter()
        plan = Events(
            job_table(model, rate), order.rule, order.option, order.inflation, seed, burn_in, jobs,
            model.mean_service, limit=max(MOST_PRESENT, 1 << (4 * model.servers).bit_length()),
        )  # fmt: skip
        found = run_replicas(plan, replicas, progress=part, **ways)
        if number == 0:
            baseline = found
        try:
            result = record_of(
                model, rate, order, found, confidence, seed=seed, start="empty", horizon=None, moments=np.empty(0),
                burn_in=burn_in, seconds=time.perf_counter() - began, warnings=shortfalls(found, order),
            )  # fmt: skip
        except UnstableError as error:
            points.append(PolicyPoint(order.policy, rate, share, None, None, str(error)))
            continue
        less = None if number == 0 or baseline is None else _difference(found, baseline, confidence)
        points.append(PolicyPoint(order.policy, rate, share, result, less))
    return points


def _difference(found: list[ReplicaRecord], baseline: list[ReplicaRecord], confidence: float) -> Estimate | None:
    """Mean waits replica by replica, each pair on the same jobs."""
    if any(one.overrun for one in (*found, *baseline)):
        return None
    means = [np.array([one.observations.sums[:, WAIT].sum() / one.observations.sums[:, ENDED].sum() for one in some])
             for some in (found, baseline)]  # fmt: skip
    return mean_of(means[0] - means[1], confidence)
