"""Arrival processes. The threshold does not depend on them (unless classes do); waits do.

Every process has a rate of its own, jobs per unit of time; a `rate` beside it, or asked for with a question, speeds the
whole process up or slows it down, so that gaps keep their shape. Only a periodic process keeps its cycle, whatever the
rate: a day stays a day, and more jobs come in it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, Strict, ValidationInfo, model_validator

from loynes.arrays import Array
from loynes.model import modulation
from loynes.model.fields import Duration, Finite, JobRate, JobRateOrZero, NonNegative, Record, at_most
from loynes.model.laws import ServiceLaw
from loynes.model.laws.empirical import read_values

MOST_PHASES = 100
MOST_RECORDED = 10_000_000
MOST_SLOTS = 24 * 7 * 4
# Batches and sessions larger than this, or than all but 2^-40 of them, are cut.
LARGEST_BATCH = 100_000
NEVER = 2.0**-40

Row = tuple[NonNegative, ...]
Square = tuple[tuple[Finite, ...], ...]


class Process(Record):
    """What every arrival process offers."""

    rate: JobRate | None = None

    @property
    @abstractmethod
    def own_rate(self) -> float | None:
        """Jobs per unit of time, as the process is written; None if it does not say."""

    @property
    def jobs_rate(self) -> float | None:
        return self.rate if self.rate is not None else self.own_rate


class Poisson(Process):
    """Independent exponential gaps; `rate` may be left out of the file and given with the question."""

    process: Literal["poisson"] = "poisson"

    @property
    def own_rate(self) -> float | None:
        return None


class Renewal(Process):
    """Independent gaps of any law."""

    process: Literal["renewal"] = "renewal"
    gap: ServiceLaw

    @property
    def own_rate(self) -> float:
        return 1.0 / self.gap.mean


class Modulated(Process):
    """What mmpp and map share: a phase, and rates without (d0) and with an arrival (d1).

    `mix` gives a row of class probabilities for every phase that an arriving job finds (just after its arrival).
    """

    mix: tuple[Row, ...] | None = None

    @property
    @abstractmethod
    def matrices(self) -> tuple[Array, Array]: ...

    @property
    def own_rate(self) -> float:
        return modulation.rate_of(*self.matrices)

    def _check(self) -> None:
        d0, d1 = self.matrices
        what = modulation.problem(d0, d1)
        if what is not None:
            raise ValueError(what)
        _check_mix(self.mix, len(d0), "phases")


def _check_mix(mix: tuple[Row, ...] | None, count: int, of: str) -> None:
    """Refuse rows of class probabilities that are not one for each phase or slot, or not probabilities."""
    if mix is None:
        return
    if len(mix) != count:
        raise ValueError(f"mix: must have a row for each of the {count} {of}, has {len(mix)}")
    for position, row in enumerate(mix):
        if len(row) != len(mix[0]):
            raise ValueError(f"mix[{position}]: has {len(row)} entries, mix[0] has {len(mix[0])}")
        if abs(math.fsum(row) - 1.0) > 1e-9:
            raise ValueError(f"mix[{position}]: must sum to 1, sums to {math.fsum(row):.12g}")


class Mmpp(Modulated):
    """A Poisson process whose rate depends on a phase: `generator` moves the phase, `rates` has a rate for each."""

    process: Literal["mmpp"] = "mmpp"
    generator: Annotated[Square, at_most(MOST_PHASES)] = Field(min_length=1)
    rates: Annotated[tuple[JobRateOrZero, ...], at_most(MOST_PHASES)] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Mmpp:
        if any(len(row) != len(self.rates) for row in self.generator) or len(self.generator) != len(self.rates):
            raise ValueError(
                f"generator: must be square, with a row and a column for each of the {len(self.rates)} rates"
            )
        self._check()
        return self

    @property
    def matrices(self) -> tuple[Array, Array]:
        d1 = np.diag(np.array(self.rates))
        return np.array(self.generator) - d1, d1


class Map(Modulated):
    """The general Markovian arrival process: `d0` moves the phase without an arrival, `d1` with one."""

    process: Literal["map"] = "map"
    d0: Annotated[Square, at_most(MOST_PHASES)] = Field(min_length=1)
    d1: Annotated[Square, at_most(MOST_PHASES)] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Map:
        if len({len(row) for row in (*self.d0, *self.d1)} | {len(self.d0), len(self.d1)}) != 1:
            raise ValueError("d0 and d1: must be two square matrices of the same size")
        self._check()
        return self

    @property
    def matrices(self) -> tuple[Array, Array]:
        return np.array(self.d0), np.array(self.d1)


class Periodic(Process):
    """A Poisson process whose rate repeats with a cycle, such as a day: `rates` has one for each of its equal slots.

    A `rate` beside it, or asked for, multiplies the rates, so that more jobs come in a cycle of the same length. `mix`
    gives a row of class probabilities for every slot.
    """

    process: Literal["periodic"] = "periodic"
    cycle: Duration
    rates: Annotated[tuple[JobRateOrZero, ...], at_most(MOST_SLOTS)] = Field(min_length=1, max_length=MOST_SLOTS)
    mix: tuple[Row, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Periodic:
        if not any(self.rates):
            raise ValueError("rates: must not all be 0")
        _check_mix(self.mix, len(self.rates), "slots")
        return self

    @property
    def own_rate(self) -> float:
        return math.fsum(self.rates) / len(self.rates)


def _or_file(schema: dict[str, Any]) -> None:
    schema["properties"]["file"] = {"title": "File", "type": "string"}
    schema["required"] = [key for key in schema["required"] if key != "gaps"]
    schema["oneOf"] = [{"required": ["gaps"]}, {"required": ["file"]}]


class Recorded(Process):
    """Recorded gaps, over and over, begun at a random place: what a log's arrivals were, without a model of them.

    `file` in place of `gaps` names a text file with one a line, read with the model, relative to the model's own file.
    """

    model_config = ConfigDict(json_schema_extra=_or_file)

    process: Literal["trace"] = "trace"
    gaps: Annotated[tuple[NonNegative, ...], at_most(MOST_RECORDED)] = Field(min_length=1, max_length=MOST_RECORDED)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or "file" not in data:
            return data
        if "gaps" in data or not isinstance(data["file"], str):
            raise ValueError("give gaps, or file (a path), not both")
        folder = (info.context or {}).get("folder", ".")
        columns = read_values(Path(folder), data["file"])
        if "weights" in columns:
            raise ValueError(f"file = {data['file']!r}: must have one gap a line")
        return {key: value for key, value in data.items() if key != "file"} | {"gaps": columns["values"]}

    @model_validator(mode="after")
    def _some_time(self) -> Recorded:
        if not math.fsum(self.gaps) > 0:
            raise ValueError("gaps: must not all be 0")
        return self

    @property
    def own_rate(self) -> float:
        return len(self.gaps) / math.fsum(self.gaps)


def _poisson_unless_said(value: Any) -> Any:
    return {"process": "poisson"} | value if isinstance(value, dict) else value


_Unsaid = BeforeValidator(_poisson_unless_said)
Single = Annotated[Annotated[Poisson | Renewal | Mmpp | Map, Field(discriminator="process")], _Unsaid]


@lru_cache(maxsize=64)
def _sizes(law: ServiceLaw) -> Array:
    """The probabilities of 1, 2, ... of a law rounded up."""
    most = 1
    while float(law.cdf(most)) < 1.0 - NEVER:
        most *= 2
    below = np.asarray(law.cdf(np.arange(most + 1, dtype=np.float64)))
    below[0] = 0.0
    likely = np.diff(below)
    likely = likely[: int(np.flatnonzero(likely)[-1]) + 1]
    return np.asarray(likely / likely.sum())


def _jobs_only(size: Any) -> Any:
    """Refuse texts among the parameters of a size: it counts jobs, and has no unit of time."""
    if isinstance(size, dict):
        for name, value in size.items():
            if name not in ("law", "name", "file") and isinstance(value, str):
                raise ValueError(f"{name} = {value!r}: a number of jobs is meant, not a time")
    return size


Size = Annotated[ServiceLaw, BeforeValidator(_jobs_only)]


class Grouped(Process):
    """Jobs that come in groups, of sizes that a law says."""

    group: ClassVar[str]
    if TYPE_CHECKING:  # a field of each, in its place among the others

        @property
        def size(self) -> ServiceLaw: ...

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        """Refuse laws of sizes that may be 0, or too large."""
        if float(self.size.cdf(0.0)) > 0:
            raise ValueError(f"size: must be above 0, a {self.group} has at least one job")
        if float(self.size.cdf(LARGEST_BATCH)) < 1.0 - NEVER:
            raise ValueError(f"size: more than {LARGEST_BATCH} jobs in a {self.group} are too likely")
        return self

    @property
    def sizes(self) -> Array:
        """P(size = 1), P(size = 2), ..."""
        return _sizes(self.size)

    @property
    def mean_size(self) -> float:
        return float(self.sizes @ np.arange(1, len(self.sizes) + 1))


class Batch(Grouped):
    """Jobs that come together: `of` says when, `size` how many (a law, rounded up to whole jobs)."""

    group = "batch"
    process: Literal["batch"] = "batch"
    size: Size
    of: Single = Poisson()

    @property
    def own_rate(self) -> float | None:
        batches = self.of.jobs_rate
        return None if batches is None else batches * self.mean_size


class Sessions(Grouped):
    """Users who submit runs of like jobs: `size` says how many jobs a session has (a law, rounded up to whole jobs),
    `gap` how long after one another they come, and `of` how long after its last job the next session begins.

    All jobs of a session are of one class. Each after the first has, with probability `repeat`, the very service of the
    first, and else one of its own. Sessions do not overlap.
    """

    group = "session"
    process: Literal["sessions"] = "sessions"
    size: Size
    gap: ServiceLaw
    of: Single
    repeat: Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)] = 0.0

    @model_validator(mode="after")
    def _begins_again(self) -> Sessions:
        if self.of.jobs_rate is None:
            raise ValueError("of.rate: is missing; the gaps between sessions are as long as it says")
        return self

    @property
    def own_rate(self) -> float:
        assert self.of.jobs_rate is not None
        return self.mean_size / (1.0 / self.of.jobs_rate + (self.mean_size - 1.0) * self.gap.mean)


Arrivals = Annotated[
    Annotated[Poisson | Renewal | Mmpp | Map | Batch | Recorded | Periodic | Sessions, Field(discriminator="process")],
    _Unsaid,
]
