"""One log in several cases, and what each job gains or pays from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.estimators.measures import ALL_JOBS
from loynes.execution.steps import Steps
from loynes.questions.answering.replaying import Replayer, classes_of
from loynes.results.records.replay_cases import Gains, ReplayCase, ReplayCases

if TYPE_CHECKING:
    from loynes.questions.replay_cases import AskReplayCases


def cases_of(question: AskReplayCases, policies: Sequence[Any], steps: Steps, windows: int) -> ReplayCases:
    """All combinations of sizes of the cluster and policies; the first is what the others are compared with."""
    what, sizes = ("nodes", question.nodes) if question.nodes is not None else ("servers", question.servers)
    replayer = Replayer(question)
    orders = [replayer.order(one, strictly=len(policies) == 1) for one in policies]
    if len({order.policy for order in orders}) < len(orders):
        raise UsageError("policies: name none twice")
    if sizes is not None and len(set(sizes)) < len(sizes):
        raise UsageError(f"{what}: name no number twice")
    clusters = [replayer.cluster(size) for size in sizes] if sizes else [replayer.cluster()]
    for cluster, order in ((cluster, order) for cluster in clusters for order in orders):
        cluster.check(order)
    # By need the jobs are named as all of the log are: clusters of different sizes have other ones of them.
    by_size = classes_of(replayer.log, None, replayer.kinds) if question.classes else None
    cases: list[ReplayCase] = []
    before: Array | None = None
    number = len(clusters) * len(orders)
    for place, cluster in enumerate(clusters):
        for order in orders:
            size = {what: sizes[place]} if sizes and len(clusters) > 1 else {}
            config = size | ({"policy": order.policy} if len(orders) > 1 else {})
            name = " on ".join([order.policy] * (len(orders) > 1) + [f"{n} {kind}" for kind, n in size.items()])
            context = steps.next(1.0, number - len(cases) - 1, f"{len(cases) + 1} of {number}: {name}")
            context.progress(0.0, name)
            result = replayer.run(order, cluster, windows, context)
            kept = replayer.fitting(cluster).kept
            waits: Array = np.full(len(kept), np.nan)
            waits[kept] = result.each["wait"]
            before = waits if before is None else before
            gains, sized = _gains(replayer, waits, before, by_size) if cases else ({}, {})
            cases.append(ReplayCase(name or order.policy, config, result, gains, sized))
    texts = dict.fromkeys(f"{case.name}: {text}" for case in cases for text in case.result.warnings)
    return ReplayCases(model=cases[0].result.model, by=question.classes or "need", cases=tuple(cases),
                       warnings=tuple(texts))  # fmt: skip


def _gains(
    replayer: Replayer, waits: Array, before: Array, by_size: tuple[list[str], Ints] | None
) -> tuple[dict[str, Gains], dict[str, Gains]]:
    """By class, and by size where classes are something else: of the jobs that are in both cases."""
    both = ~np.isnan(waits) & ~np.isnan(before)
    minus = (waits - before)[both]

    def grouped(names: list[str], code: Ints) -> dict[str, Gains]:
        inside = code[both]
        return {name: _gain(minus[inside == i]) for i, name in enumerate(names) if (inside == i).any()}

    whole = {ALL_JOBS: _gain(minus)} if len(minus) else {}
    classes = whole | grouped(*replayer.classes(replayer.log, replayer.kinds))
    return classes, {} if by_size is None else grouped(*by_size)


def _gain(minus: Array) -> Gains:
    less, more = (float(np.mean(side)) for side in (minus < 0, minus > 0))
    return Gains(len(minus), float(minus.mean()), less, more)
