"""The base of all results: frozen records that are shown, saved and read back in one way.

A result is its fields. JSON has all of them, and the properties listed in `derived`; whatever is saved as JSON reads
back equal. Subclasses say what their tables are; files, pandas, notebooks, plots and pages follow from these.
"""

from __future__ import annotations

import json
import math
import pkgutil
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from loynes import notebook
from loynes._version import __version__
from loynes.errors import LoynesError, UsageError
from loynes.model.cluster import Model
from loynes.readable import readable
from loynes.reading import MOST_OF_A_LOG, read_text
from loynes.results import records
from loynes.results.files import check_writable, is_file_path, is_picture, whole_file, write_text
from loynes.results.quantity import UNNAMED, quantity, rate_text, time_text
from loynes.results.table import Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

# A model is saved with its name and hash; seconds that a file does not say are not a number.
SavedModel = Annotated[
    Model,
    PlainSerializer(lambda model: model.identity()),
    BeforeValidator(lambda data: Model.model_validate(data["definition"]) if isinstance(data, dict) else data),
]
# A result within another is saved as it is by itself.
Nested = PlainSerializer(lambda result: None if result is None else result.to_dict())
Seconds = Annotated[float, BeforeValidator(lambda value: math.nan if value is None else value)]
# The number of the shape of JSON documents, higher whenever a key goes or means something else (docs/versioning.md).
SCHEMA = 1
# Keys of what may differ between two runs of the same question.
TIMINGS = ("seconds", "read_seconds")

# Disciplines and policies in words.
ORDERS = {
    "fcfs": "strict first come, first served",
    "reserving": "first come, first served, what the job ahead does not take free for others (reserving)",
    "random": "first come, first served, servers drawn at random (random)",
}

# The same of priorities.
PREEMPTIONS = {
    "never": "larger priorities first, nobody is stopped for them",
    "restart": "larger priorities first, they stop others, which begin anew",
    "resume": "larger priorities first, they stop others, which go on later",
}

RUN, RESULT, TIMING, MODEL = "run.json", "result.json", "timing.json", "model.toml"

# Documents of 0.1.0 do not say which command gave them: a key by which it is known.
_UNNAMED = {"methods": "check", "discipline": "stability", "overall": "evaluate", "longest": "sample"}

_RESULTS: dict[str, type[Result]] = {}


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """An answer: what was asked (but for the model), what it rests on, and how long it took."""

    command: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()
    # Further keys that `to_dict` of a subclass adds, with the types of their values: for the JSON Schema.
    also: ClassVar[dict[str, Any]] = {}
    tidy_csv: ClassVar[bool] = False
    # Keys that are left out of JSON where there is nothing of them.
    optional: ClassVar[tuple[str, ...]] = (
        "exceeds", "resources", "fragmentation", "pooled", "objectives", "percentiles", "tails", "bounded_slowdown"
    )  # fmt: skip

    question: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    seconds: Seconds = field(default=math.nan, compare=False)
    warnings: tuple[str, ...] = ()
    # Where a limit ended the run before it was done: by which (max-jobs, time, interrupt), and how far it came.
    stopped: dict[str, Any] = field(default_factory=dict)
    version: str = __version__

    def __init_subclass__(cls) -> None:
        if cls.command:  # none where several kinds of results share a base
            _RESULTS[cls.command] = cls

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        raise NotImplementedError

    @property
    def headline(self) -> str:
        """The answer in a line."""
        raise NotImplementedError

    @property
    def time_unit(self) -> str | None:
        """The unit of all times in it; None where the model does not say."""
        model = getattr(self, "model", None)
        return model.time_unit if isinstance(model, Model) else None

    def in_time(self, value: object) -> object:
        """A time as a cell of a table: with the unit it reads best in."""
        return quantity(value, "time", self.time_unit)

    def in_unit(self, value: object, unit: str) -> object:
        """A value of a metric's unit as a cell."""
        return quantity(value, unit, self.time_unit)

    def in_rate(self, value: object) -> object:
        """The same of a rate."""
        return quantity(value, "jobs/time", self.time_unit)

    def time_words(self, value: float, digits: int = 4) -> str:
        """A time in a sentence."""
        return time_text(value, self.time_unit, digits)

    def rate_words(self, value: float, digits: int = 6) -> str:
        """A rate in a sentence."""
        return rate_text(value, self.time_unit, digits)

    @property
    def summary(self) -> Table:
        """The answer as a table."""
        raise NotImplementedError

    @property
    def tables(self) -> list[Table]:
        """What the terminal shows."""
        return [self.summary]

    @property
    def footer(self) -> str:
        """How it was obtained, in a line or a few."""
        return ""

    @property
    def setting(self) -> str:
        """Who is served next, and what times are in where no unit is named: said once with every answer."""
        model, policy = getattr(self, "model", None), getattr(self, "policy", None)
        if isinstance(model, Model) and policy in (None, "fcfs"):
            policy = model.order
        words = [] if policy is None else [ORDERS.get(policy, f"policy {policy}")]
        if words and isinstance(model, Model) and model.has_priorities:
            words.append(PREEMPTIONS[model.preemption or "never"])
        return "; ".join([*words, *([f"times in {UNNAMED}"] if self.time_unit is None else [])])

    @property
    def unmet(self) -> str:
        """What was asked for and is not met, or not shown to be, in a line: the command line's exit code is 1 then."""
        return ""

    @property
    def flat(self) -> Table:
        """What a .csv file holds."""
        return self.tidy if self.tidy_csv else self.summary

    @property
    def tidy(self) -> Table:
        """One number a row, with its interval: what a .parquet file and a data frame hold."""
        return self.summary

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which has no infinities: they become null."""
        head: dict[str, Any] = {"command": self.command, "schema": SCHEMA}
        data = head | _adapter(type(self)).dump_python(self, mode="json")
        if data["seed"] is None:
            del data["seed"]
        if self.time_unit is not None:
            data["time_unit"] = self.time_unit
        data |= {name: getattr(self, name) for name in self.derived}
        plain: dict[str, Any] = _plain(data, (*self.optional, "stopped"))
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return _adapter(cls).validate_python(data)  # type: ignore[no-any-return]

    def to_json(self) -> str:
        return dump(self.to_dict())

    def to_pandas(self) -> pandas.DataFrame:
        """The tidy table as a data frame."""
        try:
            import pandas
        except ImportError:
            raise UsageError("data frames need pandas: pip install pandas") from None
        table = self._with_unit(self.tidy)
        return pandas.DataFrame(list(table.rows), columns=list(table.columns))

    def to_polars(self) -> polars.DataFrame:
        """The tidy table as a data frame of polars."""
        try:
            import polars
        except ImportError:
            raise UsageError("such data frames need polars: pip install polars") from None
        numbers = self._with_unit(self.tidy)
        return polars.DataFrame(dict(zip(numbers.columns, numbers.cells, strict=True)), strict=False)

    def to_arrow(self) -> pyarrow.Table:
        """The tidy table as an Arrow table."""
        return self._with_unit(self.tidy).to_arrow()

    def _with_unit(self, table: Table) -> Table:
        """Plain numbers, and the unit of times beside them where it is known."""
        plain, unit = table.numbers, self.time_unit
        if unit is None:
            return plain
        return Table(plain.title, (*plain.columns, "time_unit"), tuple((*row, unit) for row in plain.rows))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The tidy table for whoever reads Arrow: polars.DataFrame(result), pyarrow.table(result), DuckDB's queries."""
        return self._with_unit(self.tidy).__arrow_c_stream__(requested_schema)

    def save(self, path: str | Path) -> None:
        """A .json, .csv, .parquet, .html, .png, .svg or .pdf file, by the ending of its path, else a run folder."""
        target = Path(path)
        check_writable(path)
        match target.suffix.lower():
            case ".json":
                write_text(target, self.to_json())
            case ".csv":
                write_text(target, self._with_unit(self.flat).to_csv())
            case ".parquet":
                write_parquet(self._with_unit(self.tidy), target)
            case ".html":
                self.report(target)
            case _ if is_picture(target):
                from loynes.results.charts.drawing import save_picture

                save_picture(self, target)
            case ending if is_file_path(target):
                raise UsageError(f"{path}: {self.command} is not written to {ending}")
            case _:
                self.save_folder(target)

    def save_folder(self, folder: Path) -> None:
        """result.json, which is the same for the same work, timing.json and, where there is a model, model.toml."""
        folder.mkdir(parents=True, exist_ok=True)
        data = self.to_dict()
        if isinstance(model := getattr(self, "model", None), Model):
            write_text(folder / MODEL, model.to_toml())
        write_text(folder / TIMING, dump({name: data[name] for name in TIMINGS if name in data}))
        write_text(folder / RESULT, dump(without_timings(data)))

    def plot(self, ax: Axes | None = None, *, kind: str | None = None, **options: object) -> Axes:
        """Its first chart, or that of a kind: "tail", "waits", "servers", ...; returns the matplotlib axes."""
        from loynes.results.charts.drawing import picture

        return picture(self, ax, kind, **options)

    def report(self, path: str | Path | None = None) -> str:
        """The page of the result as HTML, written to a file if one is given."""
        # The one door to a room on the right: pages are made of results, and results offer their page.
        page: str = import_module("loynes.report").page(self)
        if path is not None:
            write_text(path, page)
        return page

    def __repr__(self) -> str:
        return readable(f"<{type(self).__name__} {self.title}: {self.headline}>")

    def _repr_html_(self) -> str:
        """For notebooks: the answer, its tables, how it was obtained, and what a reader must know."""
        lines = [self.setting, *self.footer.splitlines()]
        footer = "\n".join(line for line in lines if line and line != self.headline)
        return notebook.framed(
            notebook.paragraph(self.headline, lead=f"{self.title}:"),
            *(table.to_html("" if table.title == self.title else table.title) for table in self.tables),
            *([notebook.paragraph(footer, "aside")] if footer else []),
            *(notebook.paragraph(text, "warning", "Warning:") for text in self.warnings),
        )


_ADAPTERS: dict[str, TypeAdapter[Any]] = {}


def _adapter(cls: type[Result]) -> TypeAdapter[Any]:
    if cls.command not in _ADAPTERS:
        _ADAPTERS[cls.command] = TypeAdapter(cls)
    return _ADAPTERS[cls.command]


def _plain(value: Any, optional: tuple[str, ...]) -> Any:
    """Without numbers that JSON does not have, and without what is optional and empty."""
    if isinstance(value, dict):
        return {k: _plain(v, optional) for k, v in value.items() if not (k in optional and v in (None, {}, []))}
    if isinstance(value, list | tuple):
        return [_plain(inner, optional) for inner in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def dump(data: object) -> str:
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def without_timings(data: object) -> object:
    """Without how long anything took, however deep."""
    if isinstance(data, dict):
        return {name: without_timings(value) for name, value in data.items() if name not in TIMINGS}
    return [without_timings(value) for value in data] if isinstance(data, list) else data


def write_parquet(table: Table, path: str | Path) -> None:
    """A table of plain cells as a Parquet file; the columns' types are those of their cells."""
    contents = table.numbers.to_arrow()
    import pyarrow.parquet as pq

    with whole_file(path) as draft:
        pq.write_table(contents, draft)


def read_result(path: str | Path) -> Result:
    """A result saved as .json, or the result of a run folder."""
    source = Path(path)
    timing = source / TIMING
    source = source / RESULT if source.is_dir() else source
    try:
        data = json.loads(read_text(source, MOST_OF_A_LOG))
        if timing.exists():
            data |= json.loads(read_text(timing))
        data = _named(data)
        if data["command"] == "sample" and "path" not in data:
            data["path"] = str(path)  # a run folder can be moved: what is in it does not say where it is
        return result_of(data)
    except OSError as error:
        raise LoynesError(f"{source}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise LoynesError(f"{source}: not a result of loynes ({error.__class__.__name__}: {error})") from None


def _named(data: dict[str, Any]) -> dict[str, Any]:
    """The document with the command that gave it."""
    if "command" in data:
        return data
    return next(({"command": command} | data for key, command in _UNNAMED.items() if key in data), data)


def result_of(data: dict[str, Any]) -> Result:
    """The result of a document, of whichever kind it is; one without a number is of the first shape."""
    if data.get("schema", SCHEMA) > SCHEMA:
        raise ValueError(f"it was written by a later version, {data.get('version')}: this one is {__version__}")
    return result_kinds()[data["command"]].from_dict(data)


def result_kinds() -> dict[str, type[Result]]:
    """All kinds of results, by the command that gives them; each is registered when its module is loaded."""
    for module in pkgutil.iter_modules(records.__path__):
        import_module(f"{records.__name__}.{module.name}")
    return dict(_RESULTS)


def how_sure(confidence: float, replicas: int | None = None) -> str:
    """The intervals in a few words."""
    text = f"{100 * confidence:.7g}% intervals"
    return text if replicas is None else f"{text} from {replicas} replicas"
