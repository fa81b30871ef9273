"""What would the mean wait of jobs like those of a log, or any objective, gain or lose by a little of everything?"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.execution.deadline import Stopped
from loynes.execution.steps import Steps
from loynes.questions.answering.ending import cut_short
from loynes.questions.asking.options import Option
from loynes.questions.asking.resampled import OnResamples
from loynes.results.quantity import LOG_UNIT
from loynes.results.records.sensitivity import Effect, Kind, LogSensitivity, by_size

if TYPE_CHECKING:
    from loynes.questions.answering.resampling import Case, LogRunner

# Changes in proportion are of so many percent, to both sides; one job of so many is left out; servers by this share.
PERCENT = 4.0
ONE_OF = 25
SERVER_SHARE = 0.02
MOST_CLASSES = 20
IDLE = ("idle_servers",)


class Change(NamedTuple):
    """Two cases, and what the difference between them, times a factor, is the effect of."""

    kind: Kind
    lever: str
    of: str
    change: str
    words: str
    reverse: str
    low: Case
    high: Case
    factor: float
    step: float | None


class SensitivityLog(OnResamples):
    """What an objective of jobs like those of a log gains or loses per server, per percent of jobs and of run times.

    Every effect is the difference of two runs on the same resamples: run times of a class 4% longer and 4% shorter, a
    twenty-fifth of its jobs left out, its jobs on one more server each, 2% more servers (at least one) and fewer, 4%
    more and fewer jobs; told per percent, or per server. `objective` is any metric: "mean(wait)", "p95(wait)".
    """

    command: ClassVar[str] = "sensitivity-log"
    asked_by: ClassVar[tuple[str, str] | None] = ("sensitivity", "trace")
    examples: ClassVar[tuple[str, ...]] = ("loynes sensitivity log.swf.gz --policy easy",)

    objective: Annotated[
        str, Option("Of which metric: 'mean(wait)', 'p95(wait[need 1])', 'P(wait > 60)'.", "METRIC")
    ] = "mean(wait)"

    def answer(self, context: Context) -> LogSensitivity:
        from loynes.estimators.resamples import data_interval, difference
        from loynes.questions.answering.objectives import target_of
        from loynes.questions.answering.resampling import LogRunner, log_of, on_the_same

        runner = LogRunner(self, context)
        target = target_of(self.objective, runner.names, LOG_UNIT, slowdowns=True)
        if target.metric.name in IDLE:
            raise UsageError(
                f"objective {self.objective!r}: idle servers are those that are not busy; take busy_servers"
            )
        changes = self._changes(runner)
        cases = list(dict.fromkeys(case for one in changes for case in (one.low, one.high)))
        found: dict[Case, Any] = {}
        steps, late = Steps(context), False
        for number, case in enumerate(wanted := list(dict.fromkeys([runner.case(), *cases]))):
            part = steps.next(1.0, len(wanted) - number - 1, f"{number + 1} of {len(wanted)}")
            try:
                found[case] = runner.run(case, part, target.exceeds)
            except Stopped:
                if not number:
                    raise
                late = True
        found = dict(zip(found, on_the_same(list(found.values())), strict=True))
        effects = []
        for one in changes:
            if one.low not in found or one.high not in found:
                continue
            low, high = (runner.quantity(found[case], target) for case in (one.low, one.high))
            minus = difference(low, high, self.confidence, runner.days.stretches).scaled(one.factor)
            effects.append(
                Effect(one.lever, one.kind, one.of, one.change, one.words, one.reverse, minus, "difference", one.step)
            )
        if not effects:
            raise Stopped  # nothing is known yet
        own = found[runner.case()]
        remarks = (cut_short(context.deadline, f"with {len(effects)} of {len(changes)} effects"),) if late else ()
        base = data_interval(self.confidence, runner.days.stretches)(runner.quantity(own, target))
        return LogSensitivity(
            subject=Path(self.subject).name,
            model=log_of(runner.recorded, own.case.servers),
            objective=target.text,
            unit=target.metric.unit,
            label=target.metric.label + (f" of {target.of}" if target.of else ""),
            grows=target.metric.grows,
            base=base,
            effects=by_size(effects),
            policy=own.case.order.policy,
            confidence=self.confidence,
            resamples=own.resamples,
            days=runner.days.length,
            jobs=sum(one.task.expected_jobs(0, one.task.rows) for one in found.values()),
            seed=self.seed,
            warnings=(*own.warnings, *remarks),
        )

    def _changes(self, runner: LogRunner) -> list[Change]:
        own = runner.case()
        step, per = PERCENT / 100.0, 0.5 / PERCENT

        def with_changes(**changes: Any) -> Case:
            return replace(own, changes=replace(own.changes, **changes))

        def both(kind: Kind, lever: str, of: str, what: str, low: Case, high: Case) -> Change:
            return Change(kind, lever, of, "+1%", f"1% {what}", f"1% {what}".replace("more", "fewer").replace(
                "longer", "shorter"), low, high, per, step)  # fmt: skip

        changes = [
            both("rate", "jobs", "", "more jobs", with_changes(scale=self.scale * (1 - step)),
                 with_changes(scale=self.scale * (1 + step))),
            both("length", "run times", "", "longer run times", with_changes(run_times=self.run_times * (1 - step)),
                 with_changes(run_times=self.run_times * (1 + step))),
        ]  # fmt: skip
        names = [name for name in runner.names if runner.count(name) > ONE_OF][:MOST_CLASSES]
        for name in names if len(runner.names) > 1 else ():
            low, high = (with_changes(stretched=((name, 1 + side * step),)) for side in (-1, 1))
            changes.append(both("length", f"run times of {name}", name, f"longer run times of {name}", low, high))
            fewer = with_changes(fewer=((name, ONE_OF),))
            words = (f"1% more jobs of {name}", f"1% fewer jobs of {name}")
            changes.append(Change("share", f"jobs of {name}", name, "+1%", *words, fewer, own, ONE_OF / 100.0, step))
            wider = with_changes(wider=(name,))
            if not runner.typed and runner.widest(name) < own.servers:
                words = (f"one more server for every job of {name}", "")
                changes.append(Change("need", f"need of {name}", name, "+1", *words, own, wider, 1.0, None))
        size, one = runner.sizes[0], "server" if own.cluster.nodes is None else "node"
        there = own.cluster.size(size)
        more = max(1, round(SERVER_SHARE * there))
        words = (f"one more {one}", "")
        changes.append(Change("servers", f"{one}s", "", "+1", *words, own, own.on(there + more), 1.0 / more, None))
        if there - more >= runner.least(size, math.inf)[0]:
            words = (f"one {one} fewer", "")
            low = own.on(there - more)
            changes.append(Change("servers", f"{one}s", "", "-1", *words, own, low, 1.0 / more, None))
        return changes
