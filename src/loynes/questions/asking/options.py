"""The options that questions share: each with its range, unit and help text, said once.

An option is a field of a question. Its type carries an `Option`: from both come validation, the Python function's
signature, the command line's options, what a run folder stores, and the command line that gives the same answer again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from loynes.model.fields import LARGEST, SMALLEST
from loynes.model.units import SECONDS, rate_in, seconds_of, time_in

# How an option is written: as one value; repeated; as a list (a,b,c or first:last:step); as repeated NAME=VALUE; as a
# duration (30s, 5min).
Written = Literal["value", "repeated", "list", "pairs", "duration"]
MOST_VALUES = 10_000


@dataclass(frozen=True)
class Option:
    """What the command line, help and error messages need to know of a field besides its type and range."""

    help: str
    metavar: str | None = None
    flag: str = ""  # by default --the-name
    written: Written = "value"
    unit: str = ""  # time and jobs/time are those of the model; seconds, days, ... are themselves
    must: str = ""  # what a value must be, where the range says it less well
    default: str = ""  # what no value stands for
    asked: bool = True  # False: does not change the answer, and is not kept with it
    kept: bool = True  # False: how it is asked, not what; a run folder and a result do not know of it


def values_of(given: object, read: Callable[[str], Any] | None = None) -> tuple[Any, ...] | None:
    """Values that are listed, or written: 0.1:0.9:0.2 (both ends included), or 1,2,5.

    read: what makes a value of a text; without it, what is no number stays text.
    """
    read = read or _number
    if given is None:
        return None
    if isinstance(given, int | float):
        return (given,)
    if not isinstance(given, str):
        assert isinstance(given, Iterable)
        plain = (value.item() if hasattr(value, "item") else value for value in given)
        return tuple(read(value) if isinstance(value, str) and read is not _number else value for value in plain)
    if not given.strip():
        raise ValueError("no values; write first:last:step or a,b,c")
    if given.count(":") == 2:
        try:
            first, last, step = (Decimal(str(read(part.strip()))) for part in given.split(":"))
        except InvalidOperation:
            raise ValueError(f"{given!r}: a range is written first:last:step, all numbers") from None
        if not (first.is_finite() and last.is_finite() and step.is_finite() and step > 0 and last >= first):
            raise ValueError(f"{given!r}: the step must be above 0, and the last value not below the first")
        if (last - first) / step > MOST_VALUES:
            raise ValueError(f"{given!r}: more than {MOST_VALUES} values")
        count = int((last - first) / step) + 1
        return tuple(_number(str(first + k * step)) for k in range(count))
    return tuple(read(part.strip()) for part in given.split(","))


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def reader_of(unit: str, time_unit: str | None) -> Callable[[str], float] | None:
    """What reads a text in an option's unit, "4 min" or "30 per hour", where that is one of time; else None.

    time_unit: that of the model or log that is asked about.
    """
    if unit == "jobs/time":
        return partial(rate_in, unit=time_unit)
    if unit == "time" or unit in SECONDS:
        return partial(time_in, unit=time_unit if unit == "time" else unit)
    return None


def pairs_of(given: object, like: str = "NAME=VALUE") -> dict[str, Any]:
    """Texts like NAME=VALUE as a dictionary; a dictionary stays."""
    if isinstance(given, Mapping):
        return dict(given)
    pairs = {}
    for text in given if isinstance(given, Iterable) else ():
        name, equals, value = str(text).partition("=")
        if not (name.strip() and equals and value.strip()):
            raise ValueError(f"{text!r}: must be written like {like}")
        if name.strip() in pairs:
            raise ValueError(f"{text!r}: {name.strip()} is given twice")
        pairs[name.strip()] = value.strip()
    return pairs


def axes_of(given: object) -> dict[str, tuple[Any, ...]]:
    """What is varied -> values."""
    axes = {path: values_of(values) or () for path, values in pairs_of(given, "PATH=VALUES").items()}
    for path, values in axes.items():
        if not values:
            raise ValueError(f"{path}: no values")
    return axes


def texts_of(given: object) -> object:
    """One text, or several."""
    return (given,) if isinstance(given, str) else given


def names_of(given: object) -> object:
    """Names with commas between them, or listed."""
    return tuple(name.strip() for name in given.split(",") if name.strip()) if isinstance(given, str) else given


def _finite(given: tuple[Any, ...] | None) -> tuple[float, ...] | None:
    if given is not None and not all(isinstance(x, int | float) and 0 <= x < math.inf for x in given):
        raise ValueError("must be finite times of at least 0")
    return None if given is None else tuple(float(x) for x in given)


def _above_zero(given: tuple[Any, ...] | None) -> tuple[float, ...] | None:
    if given is not None and not (given and all(isinstance(x, int | float) and x > 0 for x in given)):
        raise ValueError("must be numbers above 0")
    return given


def duration_of(given: object) -> object:
    """30s, 5min, 2h, 1d, or seconds."""
    return seconds_of(given) if isinstance(given, str) else given


TimeBudget = Annotated[
    float | None,
    BeforeValidator(duration_of),
    Field(gt=0, allow_inf_nan=False),
    Option(
        "Stop after so long: 30s, 5min, 2h. The answer says what was reached by then.", "DURATION", written="duration",
        unit="seconds", must="be a time above 0, such as 30s or 5min", kept=False,
    ),
]  # fmt: skip
Rate = Annotated[
    float | None,
    Field(ge=SMALLEST, le=LARGEST),
    Option("Arrival rate, jobs per unit of time.", unit="jobs/time", must="be a finite number above 0"),
]
Load = Annotated[
    float | None,
    Field(ge=1e-9, allow_inf_nan=False),
    Option("Arrival rate as a fraction of the threshold, 0 to 1.", must="be at least 1e-9 and below 1"),
]
Precision = Annotated[float, Field(gt=0, lt=1), Option("Relative half-width of the overall mean wait to reach.")]
Samples = Annotated[
    int | None, Field(ge=2, le=2**32 - 1), Option("Instead: so many observed arrivals (at least) or samples.")
]
Arrivals = Annotated[int | None, Field(ge=2, le=2**32 - 1), Option("Instead: so many observed arrivals (at least).")]


def _percent(given: tuple[Any, ...] | None) -> tuple[float, ...]:
    values = tuple(given or ())
    if not all(isinstance(x, int | float) and 0 < x < 100 for x in values):
        raise ValueError("must be numbers above 0 and below 100, such as 50,90,99.9")
    return tuple(dict.fromkeys(sorted(float(x) for x in values)))


Percentiles = Annotated[
    tuple[float, ...],
    BeforeValidator(lambda given: _percent(values_of(given))),
    Option("Percentiles of waits and responses to show.", "50,90,99.9", written="list", default="50,95,99"),
]
Exceeds = Annotated[
    tuple[float, ...],
    BeforeValidator(lambda given: _finite(values_of(given))),
    Option("Also P(wait > X). Repeatable.", "X", written="repeated", unit="time"),
]
Objectives = Annotated[
    tuple[str, ...],
    BeforeValidator(texts_of),
    Option(
        "Is this met? 'p95(wait) <= 600', 'P(wait[T1] > 60) <= 0.01'; exit code 1 if not shown to be. Repeatable.",
        "OBJECTIVE",
        written="repeated",
    ),
]
Confidence = Annotated[float, Field(gt=0, lt=1), Option("Confidence of every interval.")]
Replicas = Annotated[
    int | None, Field(ge=2, le=100_000), Option("Independent chains (sandwich, forward).", default="128, on a GPU more")
]
BurnIn = Annotated[
    int | None,
    Field(ge=0, le=2**62),
    Option("Jobs to discard in each chain (sandwich, forward).", default="by a pilot", unit="jobs"),
]
Confirmations = Annotated[
    int | None, Field(ge=1, le=8), Option("Equal doublings in a row a sample must show (backward).", default="1")
]
InitialLength = Annotated[
    int | None,
    Field(ge=1, le=2**29),
    Option("First past to try, in jobs (backward).", default="by the model", unit="jobs"),
]
Delta = Annotated[
    float | None, Field(gt=0, lt=0.1), Option("How likely a perfect sample may be none (perfect).", default="1e-9")
]
MaxJobs = Annotated[
    float | None,
    Field(ge=1),
    Option("Extend the run to at most so many simulated jobs.", default="4e9; on a GPU 4e11", unit="jobs"),
]
Discipline = Annotated[
    Literal["fcfs", "reserving", "random"] | None,
    Option(
        "Strictly in turn; what the job ahead does not take free for those behind it; or servers at random.",
        "fcfs|reserving|random",
    ),
]
Seed = Annotated[int, Field(ge=0, le=2**64 - 1), Option("Seed of all randomness.")]
Backend = Annotated[
    Literal["auto", "cpu", "cuda", "cuda:64"],
    Option(
        "Where to compute: auto takes a GPU for large work; cuda:64 is the GPU in double precision.",
        "auto|cpu|cuda|cuda:64",
    ),
]
Loads = Annotated[
    tuple[int | float, ...] | None,
    BeforeValidator(lambda given: _above_zero(values_of(given))),
    Option("Fractions of the threshold: 0.1:0.95:0.05 or a,b,c.", "A,B|A:B:STEP", written="list"),
]
Rates = Annotated[
    tuple[int | float, ...] | None,
    BeforeValidator(lambda given: _above_zero(values_of(given))),
    Option("Instead: arrival rates.", "A,B|A:B:STEP", written="list", unit="jobs/time"),
]
Inflation = Annotated[
    float,
    Field(ge=1, allow_inf_nan=False),
    Option(
        "How many times too long run times are guessed (by policies that believe in them).",
        must="be at least 1: a guess is at least as long as the job",
    ),
]
BelievedTimes = Annotated[
    float | None,
    Field(ge=1, allow_inf_nan=False),
    Option(
        "Run times are believed so many times too long.",
        default="requested ones",
        must="be at least 1: a guess is at least as long as the job",
    ),
]
Overestimate = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False),
    Option("Believed run times are too long, at random: by up to so many times the truth (the f-model)."),
]
Predict = Annotated[
    Literal["requested", "exact", "last-two"] | None,
    Option(
        "Believed run times: those requested, the true ones, or the mean of the user's last two.",
        "requested|exact|last-two",
        default="requested, where the log has them",
    ),
]
Correct = Annotated[
    Literal["steps", "requested", "doubling", "floor"] | None,
    Option(
        "Of a job that outlives its prediction: 1 min, 5 min, ... more, what was requested, twice as long, or that it "
        "ends at any moment.",
        "steps|requested|doubling|floor",
        default="steps",
    ),
]
KillAtLimit = Annotated[bool, Option("Jobs that run longer than was requested are ended then.")]
SlowdownThreshold = Annotated[
    float | None,
    Field(gt=0, allow_inf_nan=False),
    Option(
        "Shorter services count as so long in the bounded slowdown.",
        "T",
        unit="time",
        default="10 s, where times have a unit",
    ),
]
ByLabel = Annotated[str | None, Option("Classes by a column of the log: queue, user, ...", "LABEL", flag="--by")]
OwnOption = Annotated[int | None, Option("The number that a policy of your own takes.")]
Searched = Annotated[
    tuple[str, ...],
    BeforeValidator(texts_of),
    Option("'p95(wait) <= 600', 'P(wait[T1] > 60) <= 0.01'. Repeatable.", "OBJECTIVE", written="repeated"),
]
Window = Annotated[int | None, Field(ge=1), Option("How far smash looks.", default="10", unit="jobs")]
SwapThreshold = Annotated[
    int | None, Field(ge=1), Option("Idle servers at which quick-swap switches.", default="1", unit="servers")
]
Depth = Annotated[
    int | None,
    Field(ge=0),
    Option("Jobs from the head of the line that conservative gives reservations.", default="all", unit="jobs"),
]
Age = Annotated[
    float | None,
    Field(ge=0),
    Option(
        "How long a job waits before nobody passes it (first-fit-ageing).", "T", unit="time", default="10 mean services"
    ),
]
Cycle = Annotated[
    float | None,
    Field(gt=0, allow_inf_nan=False),
    Option("How long all schedules of msr take in turn, on average.", "T", unit="time", default="by the docs' rule"),
]
EventJobs = Annotated[
    int | None, Field(ge=1, le=2**40), Option("Observed in each replica.", default="200000", unit="jobs")
]
PolicyOption = Annotated[
    Any, PlainSerializer(str), Option("Who starts next: a name (loynes policies) or a file of your own (.py).")
]
