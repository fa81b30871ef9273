"""Questions about a recorded workload: where the log is, and how it is read."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.errors import UsageError
from loynes.model.nodes import MOST_NODES, Placement
from loynes.model.sizes import size_of
from loynes.questions.asking.options import Option, pairs_of
from loynes.questions.asking.question import Question
from loynes.traces.read import FORMATS, read_trace
from loynes.traces.readers.register import DUPLICATES
from loynes.traces.trace import Trace
from loynes.traces.units import resource_named

if TYPE_CHECKING:
    Format: TypeAlias = str
    Duplicates: TypeAlias = str
else:  # the formats are those that are registered
    Format, Duplicates = Literal[FORMATS], Literal[DUPLICATES]


def _source(trace: Any) -> str:
    return trace.source if isinstance(trace, Trace) else str(trace) if isinstance(trace, str | Path) else "arrays"


MOST_UNITS = 2**53


def _resources_of(given: object) -> object:
    """cpu=640,gpu=64, or one of them at a time."""
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, list | tuple):
        texts = [part for text in texts for part in str(text).split(",")]
    pairs = pairs_of(texts, like="NAME=COUNT")
    found = {}
    for name, count in pairs.items():
        size = size_of(str(count))
        # Logs have memory in MiB.
        units = size >> 20 if size is not None else int(count) if str(count).isdecimal() else 0
        if not 1 <= units <= MOST_UNITS:
            raise ValueError(f"{name}={count}: must be a whole number of at least 1, or of memory a size such as 512GB")
        found[resource_named(name)] = int(units)
    return found


ResourcesOption = Annotated[
    dict[str, int],
    BeforeValidator(_resources_of),
    Option("Instead of servers: so many of each, of what the log tells of. Repeatable.", "NAME=COUNT", written="pairs"),
]


LawsOfOption = Annotated[
    str | None,
    BeforeValidator(lambda path: None if path is None else str(path)),
    Option("A model whose services run times are drawn from, in place of a history.", "MODEL"),
]
NodesOption = Annotated[
    int | None,
    Field(ge=1, le=MOST_NODES),
    Option("Instead of servers: so many nodes, each with what --has says.", unit="nodes"),
]
HasOption = Annotated[
    dict[str, int],
    BeforeValidator(_resources_of),
    Option("What a node has, of what the log tells of: cpu=64,gpu=4.", "NAME=COUNT", written="pairs"),
]
NodesOfOption = Annotated[str | None, Option("Instead: the nodes of a model file.", "MODEL")]
PlacementOption = Annotated[
    Placement | None, Option("Which node a task takes.", "pack|spread|first-fit", default="the model file's, or pack")
]
# What a limit is called that is of the only kind there is.
ONLY_KIND = "servers"


def _limits_of(given: object) -> object:
    """64, of the only kind there is; or gpu=8,cpu=64."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    texts = [given] if isinstance(given, str) else given
    if isinstance(texts, list | tuple):
        plain = [str(text).strip() for text in texts if "=" not in str(text)]
        for text in plain:
            if not text.isdecimal() or int(text) < 1:
                raise ValueError(f"{text}: must be a whole number of at least 1, or NAME=N for every resource")
        texts = [f"{ONLY_KIND}={text}" if str(text).strip() in plain else text for text in texts]
    return _resources_of(texts)


UserLimitOption = Annotated[
    dict[str, int],
    BeforeValidator(_limits_of),
    Option("The most that jobs of one user hold at once: 64, or gpu=8,cpu=64.", "N|NAME=N", written="pairs"),
]
UserBorrowOption = Annotated[
    dict[str, int],
    BeforeValidator(_limits_of),
    Option("So much more, as long as others leave it of theirs (--user-limit).", "N|NAME=N", written="pairs"),
]
UserLabelOption = Annotated[
    str, Option("The label that says who a user is, for --user-limit: user, group, account, ...", "LABEL")
]


class AboutLog(Question):
    """A question about a log."""

    positional: ClassVar[tuple[str, ...]] = ("trace",)

    trace: Annotated[
        Any,
        PlainSerializer(_source),
        Option("A job log: SWF, CSV, Parquet, or the accounting of Slurm, PBS, LSF, ...; .gz too.", "TRACE"),
    ]
    servers: Annotated[
        int | None, Field(ge=1), Option("How many servers.", default="what the log's header says", unit="servers")
    ] = None
    format: Annotated[
        Format | None, Option(f"Of the log: {', '.join(FORMATS)}.", "FORMAT", default="by name and contents")
    ] = None
    columns: Annotated[
        dict[str, str],
        BeforeValidator(partial(pairs_of, like="NAME=COLUMN")),
        Option(
            "Where submit, need, service, wait, start, end, cpu, ... is. Repeatable.",
            "NAME=COLUMN",
            flag="--column",
            written="pairs",
        ),
    ] = Field(default_factory=dict)
    unit: Annotated[
        str | None,
        Option(
            "What a server is: nodes, cpus, gpus, ...", "UNIT", default="what the format counts, where that is clear"
        ),
    ] = None
    duplicates: Annotated[
        Duplicates, Option("Of a job that was requeued: every run, or the last.", "|".join(DUPLICATES))
    ] = DUPLICATES[0]
    strict: Annotated[bool, Option("Stop at the first damaged line, instead of counting.")] = False

    @property
    def subject(self) -> str:
        return _source(self.trace)

    def recorded(self, resources: tuple[str, ...] = ()) -> Trace:
        """The workload, as it was read: jobs that need servers, or any of these resources."""
        return read_trace(
            self.trace,
            format=self.format,
            columns=self.columns,
            strict=self.strict,
            unit=self.unit,
            resources=resources,
            duplicates=self.duplicates,
        )

    def servers_of(self, recorded: Trace) -> int:
        servers = recorded.servers if self.servers is None else self.servers
        if servers is None:
            raise UsageError(f"servers: {recorded.source} does not say how many there are; give servers")
        return servers

    def check_resources(self, recorded: Trace, resources: dict[str, int]) -> None:
        """Refuse resources that the log does not tell of, or that are given besides servers."""
        if self.servers is not None or self.unit is not None:
            raise UsageError("resources: say how many there are of each; servers and unit are for one kind alone")
        for name in resources:
            if name not in recorded.demand:
                told = ", ".join(recorded.demand) or "none"
                raise UsageError(f"resource {name!r}: {recorded.source} does not tell of it; it tells of: {told}")


class LogOnCluster(AboutLog):
    """A question about a log that says what its jobs are run on, if not servers."""

    resources: ResourcesOption = Field(default_factory=dict)
    nodes: NodesOption = None
    has: HasOption = Field(default_factory=dict)
    nodes_of: NodesOfOption = None
    placement: PlacementOption = None
