"""When will each waiting job start?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field

from loynes.errors import UsageError
from loynes.execution.context import Context
from loynes.model.sizes import MOST_SERVERS
from loynes.model.units import seconds_of
from loynes.questions.asking import options
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.logs import HasOption, LawsOfOption, NodesOption, PlacementOption, ResourcesOption
from loynes.questions.asking.options import Option, PolicyOption, texts_of, values_of
from loynes.questions.asking.question import Question
from loynes.results.records.eta import Cluster, Eta, JobNote, Outlook, StartForecast
from loynes.traces.snapshot import Snapshot
from loynes.traces.times import LONGEST

if TYPE_CHECKING:
    from loynes.questions.answering.eta_inputs import Inputs
    from loynes.questions.answering.forecasting import Draws, Known
    from loynes.questions.answering.machines import Machines
    from loynes.questions.answering.orders import Order
    from loynes.questions.answering.recalibrating import Places

DRAWS, DRAWS_BY_EVENTS = 10_000, 1_000
# Of forecasts at earlier instants, which recalibrate.
DRAWS_EARLIER = 300
WITHIN = (3600.0, 4 * 3600.0, 24 * 3600.0)
# Bytes of draws that are kept at a time at most.
MOST_BYTES = 4 << 30
NO_HISTORY = "no history: run times are taken to be uniform up to the limit; --history LOG learns them"


def _moments(given: object) -> tuple[float, ...]:
    """Times from now, as seconds or written 30min,4h."""
    values = values_of(given, lambda text: seconds_of(str(text))) or ()
    if not all(isinstance(x, int | float) and 0 < x < math.inf for x in values):
        raise ValueError("must be times above 0, such as 30min,4h")
    return tuple(sorted(float(x) for x in values))


class AskEta(Question):
    """Forecast when each waiting job will start, as a distribution.

    `snapshot` is what the scheduler lists (`squeue --json`, `squeue -O`, Kueue's workloads, or a table with named
    columns); or take a moment of a log (`log`, `now`). `servers`, `resources` or `on`, a model file, say what
    there is. With `history`, a log, run times are drawn from what jobs like these took of their limits; with
    `laws_of`, a model, by the laws of its classes; without, they are uniform up to the limit. `recalibrate` takes
    quantiles that would have held as often as they should at earlier instants of the history. First come, first
    served, draws are exact piles; under other policies the event loop goes on from the snapshot, with days of the
    history as later arrivals. `what_if` adds a job at the end of the line: "need=64 limit=4h"; `shape` tries it as
    1x64, 2x32, ...
    """

    command: ClassVar[str] = "eta"
    positional: ClassVar[tuple[str, ...]] = ("snapshot",)
    examples: ClassVar[tuple[str, ...]] = (
        "squeue --json > now.json && loynes eta now.json --servers 640 --history jobs.sacct",
        "loynes eta now.json --servers 640 --policy easy --history jobs.sacct --within 1h,8h",
        "loynes eta --run 'squeue --json' --servers 640 --history jobs.sacct --watch 60s",
        "loynes eta --log log.swf.gz --now 1000000 --policy easy",
        "loynes eta now.json --servers 640 --what-if 'need=64 limit=4h' --shape 1x64,2x32,4x16",
    )

    snapshot: Annotated[str | None, BeforeValidator(lambda path: None if path is None else str(path)), Option(
        "What the scheduler lists: squeue --json, squeue -O, Kueue's workloads, CSV, JSON, Parquet.", "SNAPSHOT"
    )] = None  # fmt: skip
    run: Annotated[
        str | None, Option("Instead of a file: what this command prints, such as 'squeue --json'.", "COMMAND")
    ] = None
    watch: Annotated[
        float | None,
        BeforeValidator(options.duration_of),
        Field(gt=0, allow_inf_nan=False),
        Option("Read the listing again, and forecast anew, every so often.", "DURATION", written="duration",
               unit="seconds", kept=False),
    ] = None  # fmt: skip
    servers: Annotated[int | None, Field(ge=1, le=MOST_SERVERS), Option("How many servers.", unit="servers")] = None
    resources: ResourcesOption = Field(default_factory=dict)
    on: Annotated[
        str | None,
        BeforeValidator(lambda path: None if path is None else str(path)),
        Option("A model file whose servers or resources these are.", "MODEL"),
    ] = None
    nodes: NodesOption = None
    has: HasOption = Field(default_factory=dict)
    placement: PlacementOption = None
    log: Annotated[
        str | None,
        BeforeValidator(lambda path: None if path is None else str(path)),
        Option("Instead of a listing: the jobs of this log at a moment (--now).", "LOG"),
    ] = None
    now: Annotated[
        str | None,
        BeforeValidator(lambda when: None if when is None else str(when)),
        Option("The moment: seconds, or 2024-03-01T12:00:00.", "TIME", default="when the listing was made"),
    ] = None
    history: Annotated[
        str | None,
        BeforeValidator(lambda path: None if path is None else str(path)),
        Option("A log that run times, and later arrivals, are learnt from.", "LOG", default="--log, if given"),
    ] = None
    laws_of: LawsOfOption = None
    recalibrate: Annotated[
        int | None,
        Field(ge=2, le=100_000),
        Option("Quantiles that held as often as they should at so many earlier instants of the history.", "INSTANTS"),
    ] = None
    format: Annotated[str | None, Option("Of the listing.", "FORMAT", default="by its contents")] = None
    unit: Annotated[
        str | None, Option("What a server is in logs: nodes, cpus, gpus, ...", "UNIT", default="what the format counts")
    ] = None
    policy: PolicyOption = "fcfs"
    window: options.Window = None
    threshold: options.SwapThreshold = None
    option: options.OwnOption = None
    within: Annotated[
        tuple[float, ...],
        BeforeValidator(_moments),
        Option("Also the probability of a start within these times.", "1h,8h", written="list", default="1h,4h,24h"),
    ] = WITHIN
    job: Annotated[
        tuple[str, ...], BeforeValidator(texts_of), Option("Show this job only. Repeatable.", "ID", written="repeated")
    ] = ()
    what_if: Annotated[
        tuple[str, ...],
        BeforeValidator(texts_of),
        Option("A job at the end of the line: 'need=64 limit=4h'. Repeatable.", "JOB", written="repeated"),
    ] = ()
    shape: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda given: values_of(given, str)),
        Option("The job of --what-if cut into so many of so many: 1x64,2x32; the last start counts.", "1x64,2x32",
               written="list"),
    ] = ()  # fmt: skip
    default_limit: Annotated[
        float | None,
        BeforeValidator(options.duration_of),
        Field(gt=0, le=LONGEST),
        Option("What jobs without a limit are taken to have.", "DURATION", written="duration", unit="seconds",
               default="the longest limit there is"),
    ] = None  # fmt: skip
    draws: Annotated[
        int | None,
        Field(ge=1, le=10_000_000),
        Option("How many futures are drawn.", default=f"{DRAWS}, by events {DRAWS_BY_EVENTS}"),
    ] = None
    seed: options.Seed = 1
    time: options.TimeBudget = None

    @property
    def subject(self) -> str:
        return Path(self.snapshot or self.log or (self.run or "").strip().partition(" ")[0] or "jobs").name

    def answer(self, context: Context) -> Eta:
        if (self.snapshot is not None) + (self.log is not None) + (self.run is not None) != 1:
            raise UsageError(
                "which jobs? Give one of: a listing of the scheduler, --run COMMAND, --log LOG and --now TIME"
            )
        context.progress(0.0, "reading")
        from loynes.questions.answering.added_jobs import AddedJobs
        from loynes.questions.answering.ending import cut_short
        from loynes.questions.answering.eta_inputs import inputs_of
        from loynes.questions.answering.forecasting import bands_of, running_forecasts, start_forecasts

        there = inputs_of(self)
        snapshot, known, machines, units = there.snapshot, there.known, there.machines, there.machines.units
        self._check_waiting(snapshot)
        order, shown = self._order(units), self._shown(snapshot)
        draws = self.draws or (DRAWS if order.policy == "fcfs" else DRAWS_BY_EVENTS)
        if 4 * draws * max(snapshot.waiting, 1) > MOST_BYTES:
            size = 4e-9 * draws * snapshot.waiting
            raise UsageError(f"draws {draws}: of {snapshot.waiting} jobs would take {size:.3g} GB of memory")
        added = AddedJobs(self.what_if, self.shape, machines.most).cases
        parts = 1 + len(added) + (self.recalibrate is not None)
        calibration, warnings = self._calibration(there, order, draws, context.part(0.0, 1.0 / parts))
        begun = (parts - 1 - len(added)) / parts
        result = self._forecast(snapshot, known, machines, order, draws, context.part(begun, 1.0 / parts))
        cases: list[StartForecast] = []
        for k, (name, jobs) in enumerate(added.items(), 1):
            longer = snapshot
            for i, (need, limit, labels) in enumerate(jobs, 1):
                longer = longer.with_job(f"{name} ({i})", need, limit, labels)
            part = context.part(begun + k / parts, 1.0 / parts)
            found = self._forecast(longer, known, machines, order, draws, part, len(jobs))
            cases += start_forecasts((name,), longer, found, (len(longer.ids) - 1,), self.within, calibration)
        warnings += there.warnings if not known.guessed else (NO_HISTORY, *there.warnings)
        absent = [kind for kind, need in snapshot.demand.items() if len(units) > 1 and not need.any()]
        if absent:
            warnings += (f"no job of the listing needs any {' or '.join(absent)}",)
        if order.policy != "fcfs" and known.later is None:
            warnings += (f"no later arrivals are known: under {order.policy} those would delay some jobs",)
        if result.stopped:
            warnings += (cut_short(context.deadline, f"after {len(result.starts)} of {draws} draws"),)
        names = (snapshot.ids[i] for i in shown)
        return Eta(
            model=Cluster(self.subject, snapshot.source, snapshot.format, units, machines.details),
            policy=order.label,
            draws=len(result.starts),
            now=snapshot.now if math.isfinite(snapshot.now) and self.log is None else None,
            jobs=start_forecasts(names, snapshot, result, shown, self.within, calibration),
            running=running_forecasts(snapshot, known.laws_of(snapshot, machines.kinds)),
            outlook=Outlook(tuple(result.edges.tolist()), bands_of(result.busy), bands_of(result.waiting)),
            what_if=tuple(cases),
            history=known.details,
            left_out=tuple(JobNote(note.id, note.text) for note in snapshot.left_out),
            assumed=tuple(JobNote(*note) for note in (*_said(snapshot), *known.assumed)),
            waiting=snapshot.waiting,
            horizon=result.horizon if math.isfinite(result.horizon) else None,
            recalibration=None if calibration is None else calibration.record,
            seed=self.seed,
            warnings=warnings,
        )

    def _check_waiting(self, snapshot: Snapshot) -> None:
        if not snapshot.waiting and not self.what_if:
            out = [f"{one.id} ({one.text})" for one in snapshot.left_out[:3]]
            some = f"; left out: {', '.join(out)}{', ...' if len(snapshot.left_out) > 3 else ''}" if out else ""
            raise UsageError(f"{snapshot.source}: no job is waiting; --what-if asks about one more{some}")

    def _calibration(
        self, there: Inputs, order: Order, draws: int, context: Context
    ) -> tuple[Places | None, tuple[str, ...]]:
        """What earlier instants of the history tell of such forecasts, if that is asked for."""
        if self.recalibrate is None:
            return None, ()
        from loynes.questions.answering.recalibrating import recalibrated

        return recalibrated(
            there.past, there.machines, order, self.recalibrate, model=there.known.model,
            draws=min(draws, DRAWS_EARLIER), seed=self.seed, context=context,
        )  # fmt: skip

    def _order(self, units: dict[str, int]) -> Order:
        from loynes.questions.answering.forecasting import check_policy
        from loynes.questions.answering.orders import order_of

        order = order_of(self.policy, {"window": self.window, "threshold": self.threshold, "option": self.option})
        check_policy(order, len(units))
        return order

    def _forecast(
        self,
        snapshot: Snapshot,
        known: Known,
        machines: Machines,
        order: Order,
        draws: int,
        context: Context,
        pieces: int = 1,
    ) -> Draws:
        from loynes.questions.answering.forecasting import forecast

        laws, later = known.laws_of(snapshot, machines.kinds), known.later
        return forecast(
            snapshot, laws, machines, order, draws=draws, seed=self.seed, later=later, context=context, pieces=pieces
        )

    def _shown(self, snapshot: Snapshot) -> list[int]:
        """Places of the jobs that are asked for: all that wait, or those that are named."""
        waiting = range(snapshot.running, len(snapshot.ids))
        for name in self.job:
            if name not in snapshot.ids[snapshot.running :]:
                note = next((one.text for one in snapshot.left_out if one.id == name), "")
                raise UsageError(f"job {name!r}: {f'was left out: {note}' if note else 'is not in line'}")
        return [i for i in waiting if not self.job or snapshot.ids[i] in self.job]


def _said(snapshot: Snapshot) -> list[tuple[str, str]]:
    return [(note.id, note.text) for note in snapshot.assumed]


eta = Ask(AskEta, Eta)
