"""How good are forecasts of starts? Asked at many instants of a log, of what was known before each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from loynes.execution.context import Context
from loynes.model import load
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.logs import HasOption, LawsOfOption, NodesOption, PlacementOption, ResourcesOption
from loynes.questions.asking.options import Option, PolicyOption
from loynes.questions.asking.question import Question
from loynes.results.records.backtest import Backtest
from loynes.results.records.eta import Cluster

DRAWS, DRAWS_BY_EVENTS = 1_000, 200


class AskEtaBacktest(Question):
    """Forecast starts at many instants of a log from what was known before them, and compare with what happened.

    What happened is a replay of the log under the policy, whose starts are known exactly; or, with `recorded`, the
    log's own starts, where the real scheduler's policy differs. Beside the forecasts stand those that are recalibrated
    by earlier instants (split conformal prediction), and two simple ones: every job takes its whole limit, which is
    what schedulers print; and the mean wait of the jobs that started last.
    """

    command: ClassVar[str] = "eta-backtest"
    asked_by: ClassVar[tuple[str, str] | None] = ("eta", "backtest")
    positional: ClassVar[tuple[str, ...]] = ()

    backtest: Annotated[
        str,
        BeforeValidator(str),
        Option("Forecast at many instants of this log, and compare with what happened.", "LOG"),
    ]
    servers: Annotated[
        int | None,
        Field(ge=1, le=MOST_SERVERS),
        Option("How many servers.", default="what the log's header says", unit="servers"),
    ] = None
    resources: ResourcesOption = Field(default_factory=dict)
    nodes: NodesOption = None
    has: HasOption = Field(default_factory=dict)
    placement: PlacementOption = None
    unit: Annotated[
        str | None, Option("What a server is in logs: nodes, cpus, gpus, ...", "UNIT", default="what the format counts")
    ] = None
    laws_of: LawsOfOption = None
    policy: PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    option: options.OwnOption = None
    instants: Annotated[int, Field(ge=2, le=100_000), Option("At how many instants.")] = 200
    recorded: Annotated[bool, Option("Compare with the starts that the log recorded, not with a replay.")] = False
    draws: Annotated[
        int | None,
        Field(ge=2, le=1_000_000),
        Option("How many futures are drawn.", default=f"{DRAWS}, by events {DRAWS_BY_EVENTS}"),
    ] = None
    seed: options.Seed = 1
    time: options.TimeBudget = None

    @property
    def subject(self) -> str:
        return Path(self.backtest).name

    def answer(self, context: Context) -> Backtest:
        context.progress(0.0, "reading")
        from loynes.questions.answering.backtesting import LEARNT_FIRST, Judged, backtest, chosen_instants
        from loynes.questions.answering.eta_inputs import machines_of, read_for
        from loynes.questions.answering.forecasting import asked_limits, check_policy, limits_of, recorded_starts
        from loynes.questions.answering.model_laws import ModelLaws
        from loynes.questions.answering.orders import order_of

        trace = read_for(self, self.backtest)
        machines = machines_of(self, trace.servers)
        order = order_of(self.policy, {"window": self.window, "threshold": self.threshold, "option": self.option})
        check_policy(order, len(machines.units))
        trace = machines.fitting(trace)
        look = context.deadline.look
        start = recorded_starts(trace) if self.recorded else machines.replayed(trace, order, limits_of(trace), look)
        instants = chosen_instants(trace, start, self.instants, LEARNT_FIRST, self.seed)
        # A listing says on which nodes jobs run, so that this is known of a replay; of the log's own starts it is not.
        places = [] if self.recorded else machines.places(trace, order, limits_of(trace), instants, look)
        draws = self.draws or (DRAWS if order.policy == "fcfs" else DRAWS_BY_EVENTS)
        model = None if self.laws_of is None else ModelLaws(load(self.laws_of))
        judged: Judged = backtest(
            trace, start, asked_limits(trace), machines, order, instants, places=places, model=model, draws=draws,
            seed=self.seed, context=context,
        )  # fmt: skip
        warnings: tuple[str, ...] = () if model is None else model.warnings
        if self.recorded:
            warnings += (f"the log's own scheduler may not be {order.policy}: its starts are compared as they are",)
        if trace.requested is None:
            warnings += ("the log has no requested times: every job is taken to have asked for the longest run",)
        return Backtest(
            model=Cluster(self.subject, trace.source, trace.format, machines.units, machines.details),
            policy=order.label,
            truth="the log's own starts" if self.recorded else f"a replay under {order.policy}",
            instants=judged.instants,
            judged=len(judged.truth),
            draws=draws,
            scores=judged.scores,
            places=judged.histogram,
            mean_wait=float(judged.truth.mean()),
            stretches=judged.stretches,
            history=judged.history if self.laws_of is None else {"model": self.laws_of},
            seed=self.seed,
            warnings=(*warnings, *judged.warnings),
        )


eta_backtest = Ask(AskEtaBacktest, Backtest)
