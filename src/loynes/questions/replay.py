"""What would a recorded workload have met on this cluster, first come, first served or under another policy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from loynes.errors import TraceError, UsageError
from loynes.execution.context import Context
from loynes.model.sizes import MOST_SERVERS
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.logs import (
    AboutLog,
    HasOption,
    NodesOfOption,
    NodesOption,
    PlacementOption,
    ResourcesOption,
)
from loynes.questions.asking.options import Option, PolicyOption
from loynes.results.records.replay import Replay
from loynes.traces.jobs import NEEDS_NONE
from loynes.traces.trace import TOO_LARGE, Trace

if TYPE_CHECKING:
    from loynes.questions.answering.orders import Order

WINDOWS = 24
MOST_WINDOWS = 100_000


class AskReplay(AboutLog):
    """Run a recorded workload: first come, first served by the recurrence, or event by event under another policy.

    `trace` is a job log, or what `read_trace` reads. `servers` is by default what the log's header says; jobs that need
    more are skipped and counted. With `resources`, such as {"cpu": 640, "gpu": 64}, jobs need what the log says of
    each, and start when there is enough of all. With `nodes` of which each `has` so much, or the `nodes_of` a
    model file, a job is tasks that each run on one node: one for every node that the log says it had, or else as few
    as fit; `placement` says which node a task takes. `classes` names a label of the trace to group jobs by, instead of
    their need. `windows` is how many equal windows of time the series has (24). Time averages are over the time from
    the first submission to the last end. Policies are those of `simulate`; those that believe in run times believe in
    the requested ones where the log has them, and else in the true ones; or in `inflation` times the true ones.
    """

    command: ClassVar[str] = "replay"
    examples: ClassVar[tuple[str, ...]] = (
        "loynes replay log.swf.gz --servers 128 --by queue",
        "loynes replay log.swf.gz --policy easy",
        "loynes replay jobs.sacct --resources cpu=640,gpu=64 --policy easy",
        "loynes replay jobs.sacct --nodes 16 --has cpu=64,gpu=4 --policy easy",
        "loynes replay jobs.csv --servers 64 --column submit=arrival_time --column need=cores -o jobs.parquet",
    )

    classes: options.ByLabel = None
    resources: ResourcesOption = Field(default_factory=dict)
    nodes: NodesOption = None
    has: HasOption = Field(default_factory=dict)
    nodes_of: NodesOfOption = None
    placement: PlacementOption = None
    policy: PolicyOption = "fcfs"
    inflation: options.BelievedTimes = None
    window: options.Window = None
    threshold: options.SwapThreshold = None
    age: options.Age = None
    cycle: options.Cycle = None
    option: options.OwnOption = None
    windows: Annotated[
        int | None,
        Field(ge=1, le=MOST_WINDOWS),
        Option("Also show a series of so many windows of time.", default="24, not shown"),
    ] = None
    percentiles: options.Percentiles = ()

    def answer(self, context: Context) -> Replay:
        context.progress(0.0, "reading")
        if self.nodes is not None or self.has or self.nodes_of is not None or self.placement is not None:
            return self._on_nodes(context)
        recorded = self.recorded(tuple(self.resources))
        jobs, servers = self._on_resources(recorded) if self.resources else self._on_servers(recorded)
        context.progress(0.5, f"{recorded.jobs} jobs")
        # Compiled code is loaded only now: a file that cannot be read is refused at once.
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.replaying import replay_trace

        order = self._order()
        if len(self.resources) > 1 and order.rule.identical_servers_only:
            raise UsageError(f"policy {order.policy!r}: is for identical servers")
        wanted = Wanted((), self.percentiles, tails=True)
        return replay_trace(
            jobs, self.resources, self.classes, self.windows or WINDOWS, order, self.inflation, servers, wanted
        )

    def _on_nodes(self, context: Context) -> Replay:
        """Event by event, whatever the policy; and the same jobs on the pooled cluster beside."""
        from loynes.estimators.measures import Wanted
        from loynes.questions.answering.log_nodes import asked_nodes, placed
        from loynes.questions.answering.replaying import replay_trace

        nodes = asked_nodes(self.nodes, self.has, self.nodes_of, self.placement)
        assert nodes is not None
        if self.resources or self.servers is not None or self.unit is not None:
            raise UsageError("nodes: say what there is; servers, unit and resources are for a cluster without them")
        order = self._order()
        if len(nodes.kinds) > 1 and order.rule.identical_servers_only:
            raise UsageError(f"policy {order.policy!r}: is for identical servers")
        on = placed(self.recorded(nodes.kinds), nodes)
        context.progress(0.5, f"{on.jobs.jobs} jobs")
        wanted = Wanted((), self.percentiles, tails=True)
        return replay_trace(
            on.jobs, nodes.units, self.classes, self.windows or WINDOWS, order, self.inflation, 0, wanted,
            (on, nodes.details),
        )  # fmt: skip

    def _order(self) -> Order:
        from loynes.questions.answering.orders import numbers_of, order_of

        return order_of(self.policy, numbers_of(self), 1.0 if self.inflation is None else self.inflation)

    def _on_servers(self, recorded: Trace) -> tuple[Trace, int]:
        """The jobs that fit, and how many servers there are."""
        servers = self.servers_of(recorded)
        if not 1 <= servers <= MOST_SERVERS:
            raise UsageError(f"servers {servers}: must be between 1 and {MOST_SERVERS}")
        jobs = recorded.fitting(servers)
        if jobs.jobs == 0:
            raise TraceError(
                f"{recorded.source}: every one of its {recorded.jobs} jobs needs more than {servers} servers"
            )
        return jobs, servers

    def _on_resources(self, recorded: Trace) -> tuple[Trace, int]:
        """The jobs that fit, and how much there is of the first resource."""
        self.check_resources(recorded, self.resources)
        need = np.array([recorded.demand[name] for name in self.resources])
        jobs = recorded.select(np.any(need > 0, axis=0), NEEDS_NONE)
        need = np.array([jobs.demand[name] for name in self.resources])
        units = np.array(list(self.resources.values()))[:, None]
        jobs = jobs.select(np.all(need <= units, axis=0), TOO_LARGE)
        if jobs.jobs == 0:
            raise TraceError(f"{recorded.source}: not one of its {recorded.jobs} jobs fits these resources")
        return jobs, int(units[0, 0])


replay = Ask(AskReplay, Replay)
