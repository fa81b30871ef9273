"""Field types shared by laws, arrivals and models: strict, finite, and named by what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)

from loynes.errors import RecordError
from loynes.model.units import rate_in, time_in

# Squares of times, and sums of them, must stay finite numbers.
SMALLEST, LARGEST = 1e-100, 1e100
# The kernels choose a class by a 32-bit word, so a rarer class would never be drawn.
RAREST = 2.0**-31


def in_range(value: float) -> float:
    if value and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{value:g} must lie between {SMALLEST:g} and {LARGEST:g}")
    return value


def _not_too_rare(value: float) -> float:
    if value < RAREST:
        raise ValueError(f"{value:g} must be at least 2^-31, about {RAREST:.2g}")
    return value


Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False), AfterValidator(in_range)]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False), AfterValidator(in_range)]
Finite = Annotated[
    float, Strict(), Field(allow_inf_nan=False), AfterValidator(lambda x: -in_range(-x) if x < 0 else in_range(x))
]


def at_most(most: int) -> BeforeValidator:
    """A list or table of at most so many entries: a longer one is refused before its entries are looked at."""

    def few(value: object) -> object:
        if isinstance(value, list | tuple | dict) and len(value) > most:
            raise ValueError(f"has {len(value)} entries, at most {most} are taken")
        return value

    return BeforeValidator(few)


def time_unit_of(info: ValidationInfo) -> str | None:
    """The unit of the model that is being read."""
    return (info.context or {}).get("time_unit")


def _time(value: object, info: ValidationInfo) -> object:
    return time_in(value, time_unit_of(info)) if isinstance(value, str) else value


def _rate(value: object, info: ValidationInfo) -> object:
    return rate_in(value, time_unit_of(info)) if isinstance(value, str) else value


def _or_text(lowest: str, like: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "number", lowest: 0}, {"type": "string", "examples": [like]}]})


# Times and rates, in the model's own unit or as texts: "4 min", "30 per hour".
Duration = Annotated[Positive, BeforeValidator(_time), _or_text("exclusiveMinimum", "4 min")]
DurationOrZero = Annotated[NonNegative, BeforeValidator(_time), _or_text("minimum", "4 min")]
JobRate = Annotated[Positive, BeforeValidator(_rate), _or_text("exclusiveMinimum", "30 per hour")]
JobRateOrZero = Annotated[NonNegative, BeforeValidator(_rate), _or_text("minimum", "30 per hour")]

# Larger whole numbers are no longer told apart where they are calculated with.
MOST = 2**53
Count = Annotated[int, Strict(), Field(ge=1, le=MOST)]
Whole = Annotated[int, Strict(), Field(ge=0, le=MOST)]
Probability = Annotated[float, Strict(), Field(gt=0, le=1, allow_inf_nan=False), AfterValidator(_not_too_rare)]

# Tags of the ways to write a number of servers; they are no part of a field's path.
NUMBER, BY_RESOURCE, SHARE = "number", "by resource", "share"

SUM_TOLERANCE = 1e-9


class Record(BaseModel):
    """A frozen, closed record: unknown keys are refused, values cannot be changed after validation."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:
        """As pydantic does; what is wrong is said as of a file, a line a mistake (RecordError)."""
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _in_words(type(self), data, error) from error

    # Else pydantic would call it for records within records, too, and lose their places.
    vars(__init__)["__pydantic_base_init__"] = True

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        except ValidationError as error:
            what = f"{type(self).__name__}: {name}: cannot be changed"
            raise RecordError(f"{what}; model_copy(update={{{name!r}: ...}}) makes another") from error

    @classmethod
    def read(cls, data: object, context: dict[str, Any] | None = None) -> Self:
        """Validate plain data, with pydantic's own error, for those who say themselves what is wrong."""
        return super().model_validate(data, context=context)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """As pydantic does, with a RecordError."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _in_words(cls, obj, error) from error

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """The same of JSON."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise _in_words(cls, {}, error) from error

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values; what was derived from the old ones, and kept, is derived again."""
        copied = super().model_copy(update=dict(update or {}), deep=deep)
        for name in [name for name in vars(copied) if name not in type(self).model_fields]:
            del vars(copied)[name]
        return copied


def _in_words(record: type[Record], data: object, error: ValidationError) -> RecordError:
    from loynes.model.problems import texts_of

    return RecordError(*(f"{record.__name__}: {text}" for text in texts_of(record, data, error)))


def check_sum_to_one(what: str, values: tuple[float, ...]) -> None:
    """Refuse probabilities whose sum is not 1 to within 1e-9."""
    total = sum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{what} must sum to 1, they sum to {total:.12g}")


def one_of(
    data: Any, name: str, other: str, convert: Callable[[float, dict[str, Any]], Any], read: Callable[[str], float]
) -> Any:
    """Accept `other` in place of the canonical field `name`, converted; both at once are refused.

    read: what makes a number of a text.
    """
    if isinstance(data, dict) and other in data:
        if name in data:
            raise ValueError(f"give {name} or {other}, not both")
        value = read(data[other]) if isinstance(data[other], str) else data[other]
        if isinstance(value, bool) or not isinstance(value, int | float) or not (SMALLEST <= value <= LARGEST):
            raise ValueError(f"{other} = {value!r} must be a finite number above 0")
        data = {k: v for k, v in data.items() if k != other} | {name: convert(value, data)}
    return data


def either(name: str, other: str) -> ConfigDict:
    """The JSON Schema of a law that takes `other` in place of `name`."""

    def extend(schema: dict[str, Any]) -> None:
        schema["properties"][other] = schema["properties"][name] | {"title": other.title()}
        schema["required"] = [key for key in schema["required"] if key != name]
        schema["oneOf"] = [{"required": [name]}, {"required": [other]}]

    return ConfigDict(json_schema_extra=extend)
