"""Service laws given by numbers: observed values, or a table of quantiles."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, Field, Strict, ValidationInfo, model_validator

from loynes.arrays import Array
from loynes.model.fields import LARGEST, SMALLEST, at_most, time_unit_of
from loynes.model.laws.bounded import Deterministic
from loynes.model.laws.law import Law
from loynes.model.laws.recipes import Recipe
from loynes.model.units import seconds_of, time_in
from loynes.reading import read_text

MOST_VALUES = 1_000_000

# Checked all at once, as arrays: a field's own checks would take seconds for a million of them.
Number = Annotated[float, Strict()]


def _lists(data: Any, info: ValidationInfo) -> Any:
    """Arrays as plain lists, and values that are texts ("4 min") as numbers."""
    if not isinstance(data, dict):
        return data
    data = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in data.items()}
    if isinstance(values := data.get("values"), list | tuple):
        data["values"] = [_number(v, time_unit_of(info)) if isinstance(v, str) else v for v in values]
    return data


def _number(text: str, unit: str | None) -> float | str:
    """A time as a number; what is no time stays, and is refused with its place."""
    try:
        seconds_of(text)
    except ValueError:
        return text
    return time_in(text, unit)


def _checked(what: str, values: Sequence[float], smallest: float) -> Array:
    """The numbers as an array; the first that is out of range is named."""
    array = np.array(values, dtype=np.float64)
    inside = np.isfinite(array) & (array <= LARGEST) & ((array >= SMALLEST) | (array == smallest))
    if not inside.all():
        place = int(np.argmin(inside))
        least = "at least 0" if smallest == 0 else "above 0"
        raise ValueError(
            f"{what}[{place}] = {array[place]:g} must be {least}, and between {SMALLEST:g} and {LARGEST:g}"
        )
    return array


def _positive_mean(values: Array) -> None:
    if not values[-1] > 0:
        raise ValueError("values are all 0: the mean must be above 0")


class PiecewiseLinear(Law):
    """A law whose quantile function is linear between nodes, drawn by a search among them."""

    @property
    @abstractmethod
    def nodes(self) -> Array:
        """Rows of (u, Q(u), slope of Q from there to the next row's u); the first u is 0."""

    def recipe(self) -> Recipe:
        return Recipe("pieces", nodes=self.nodes)

    # By the fields alone: the arrays kept beside them cannot be compared with ==.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in type(self).model_fields)


def _or_file(schema: dict[str, Any]) -> None:
    schema["properties"]["file"] = {"title": "File", "type": "string"}
    schema["required"] = [key for key in schema["required"] if key != "values"]
    schema["oneOf"] = [{"required": ["values"]}, {"required": ["file"]}]


class Empirical(PiecewiseLinear):
    """One of the given values, with probabilities proportional to the weights (all alike if there are none).

    `file` in place of `values` names a text file with one value a line, or a value and its weight; it is read when
    the model is, relative to the model's own file. Values are kept in ascending order, each once.
    """

    model_config = ConfigDict(json_schema_extra=_or_file)

    law: Literal["empirical"] = "empirical"
    values: Annotated[tuple[Number, ...], at_most(MOST_VALUES)] = Field(min_length=1, max_length=MOST_VALUES)
    weights: Annotated[tuple[Number, ...] | None, at_most(MOST_VALUES)] = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        data = _lists(data, info)
        if not isinstance(data, dict) or "file" not in data:
            return data
        if "values" in data or "weights" in data:
            raise ValueError("give values (and weights) or file, not both")
        if not isinstance(data["file"], str):
            raise ValueError(f"file = {data['file']!r} must be a path")
        folder = (info.context or {}).get("folder", ".")
        return {k: v for k, v in data.items() if k != "file"} | read_values(Path(folder), data["file"])

    @model_validator(mode="after")
    def _in_order(self) -> Empirical:
        values = _checked("values", self.values, 0.0)
        if self.weights is not None and len(self.weights) != len(values):
            raise ValueError(f"values and weights must be equally many, got {len(values)} and {len(self.weights)}")
        weights = np.ones(len(values)) if self.weights is None else _checked("weights", self.weights, SMALLEST)
        distinct, place = np.unique(values, return_inverse=True)
        _positive_mean(distinct)
        total = np.bincount(place.ravel(), weights=weights)
        alike = bool(np.all(total == total[0]))
        object.__setattr__(self, "values", tuple(distinct.tolist()))
        object.__setattr__(self, "weights", None if alike else tuple(total.tolist()))
        return self

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Values, probabilities, and the distribution function at the values."""
        values = np.array(self.values)
        weights = np.ones(len(values)) if self.weights is None else np.array(self.weights)
        reached = np.cumsum(weights)
        return values, weights / reached[-1], reached / reached[-1]

    @property
    def mean(self) -> float:
        values, probabilities, _ = self.arrays
        return float(values @ probabilities)

    @property
    def variance(self) -> float:
        values, probabilities, _ = self.arrays
        return float((values - self.mean) ** 2 @ probabilities)

    @property
    def edges(self) -> tuple[float, ...]:
        return self.values

    def cdf(self, x: ArrayLike) -> Array:
        values, _, reached = self.arrays
        return np.concatenate([[0.0], reached])[np.searchsorted(values, np.asarray(x, dtype=np.float64), side="right")]

    @property
    def nodes(self) -> Array:
        values, _, reached = self.arrays
        return np.column_stack([np.concatenate([[0.0], reached[:-1]]), values, np.zeros(len(values))])

    def within(self, low: float, high: float) -> Empirical:
        values, probabilities, _ = self.arrays
        inside = (values >= low) & (values <= high)
        return Empirical(values=tuple(values[inside].tolist()), weights=tuple(probabilities[inside].tolist()))


class Quantiles(PiecewiseLinear):
    """The quantile function itself, linear between the given points; where it is flat there is an atom."""

    law: Literal["quantiles"] = "quantiles"
    probabilities: Annotated[tuple[Number, ...], at_most(MOST_VALUES)] = Field(min_length=2, max_length=MOST_VALUES)
    values: Annotated[tuple[Number, ...], at_most(MOST_VALUES)] = Field(min_length=2, max_length=MOST_VALUES)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, data: Any, info: ValidationInfo) -> Any:
        return _lists(data, info)

    @model_validator(mode="after")
    def _ordered(self) -> Quantiles:
        values = _checked("values", self.values, 0.0)
        if len(self.probabilities) != len(values):
            raise ValueError(
                f"probabilities and values must be equally many, got {len(self.probabilities)} and {len(values)}"
            )
        at = np.array(self.probabilities)
        if not (at[0] == 0 and at[-1] == 1):
            raise ValueError(f"probabilities must go from 0 to 1, they go from {at[0]:g} to {at[-1]:g}")
        for what, steps, rule in (
            ("probabilities", ~(np.diff(at) > 0), "greater than the one before it"),
            ("values", np.diff(values) < 0, "at least the one before it"),
        ):
            if steps.any():
                place = int(np.argmax(steps)) + 1
                raise ValueError(f"{what}[{place}] = {getattr(self, what)[place]:g} must be {rule}")
        _positive_mean(values)
        return self

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        return np.array(self.probabilities), np.array(self.values)

    @property
    def mean(self) -> float:
        at, values = self.arrays
        return float(np.diff(at) @ (values[1:] + values[:-1]) / 2.0)

    @property
    def variance(self) -> float:
        at, values = self.arrays
        low, high = values[:-1] - self.mean, values[1:] - self.mean
        return float(np.diff(at) @ (low * low + low * high + high * high) / 3.0)

    @property
    def edges(self) -> tuple[float, ...]:
        return self.values

    def cdf(self, x: ArrayLike) -> Array:
        at, values = self.arrays
        x = np.asarray(x, dtype=np.float64)
        place = np.searchsorted(values, x, side="right") - 1
        inner = np.clip(place, 0, len(values) - 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (x - values[inner]) / (values[inner + 1] - values[inner])
        inside = at[inner] + part * (at[inner + 1] - at[inner])
        return np.where(place < 0, 0.0, np.where(place >= len(values) - 1, 1.0, inside))

    @property
    def nodes(self) -> Array:
        at, values = self.arrays
        return np.column_stack([at[:-1], values[:-1], np.diff(values) / np.diff(at)])

    def within(self, low: float, high: float) -> Quantiles | Deterministic:
        at, values = self.arrays
        start, end = float(self.cdf(math.nextafter(low, -math.inf))), float(self.cdf(high))
        inside = (at > start) & (at < end)
        first, last = max(low, float(values[0])), min(high, float(values[-1]))
        if first == last:
            return Deterministic(value=first)
        return Quantiles(
            probabilities=(0.0, *((at[inside] - start) / (end - start)).tolist(), 1.0),
            values=(first, *values[inside].tolist(), last),
        )


def read_values(folder: Path, name: str) -> dict[str, list[float]]:
    """A text file of values, or of values and weights, one or two numbers a line, perhaps under a heading."""
    columns: list[list[float]] = []
    try:
        text = read_text(folder / name)
    except UnicodeDecodeError:
        raise ValueError(f"file = {name!r}: not a text file in UTF-8") from None
    except OSError as error:
        raise ValueError(f"file = {name!r}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(text.splitlines(), start=1):
        entries = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        if not entries:
            continue
        try:
            row = [float(entry) for entry in entries]
        except ValueError:
            if not columns and number == 1:
                continue
            raise ValueError(f"file = {name!r}: line {number}: {line.strip()!r} is not one or two numbers") from None
        columns = columns or [[] for _ in row]
        if len(row) != len(columns) or len(row) > 2:
            raise ValueError(f"file = {name!r}: line {number}: {line.strip()!r} is not one or two numbers as above")
        if not all(map(math.isfinite, row)) or row[0] < 0 or (len(row) == 2 and row[1] <= 0):
            raise ValueError(f"file = {name!r}: line {number}: a value must be at least 0, a weight above 0")
        for column, entry in zip(columns, row, strict=True):
            column.append(entry)
    if not columns:
        raise ValueError(f"file = {name!r}: there are no numbers in it")
    return dict(zip(("values", "weights"), columns, strict=False))
