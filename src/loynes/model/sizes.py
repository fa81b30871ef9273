"""Amounts of servers and of other resources: whole numbers, or sizes with a unit of memory such as "512 GB"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    Discriminator,
    Field,
    PlainSerializer,
    Strict,
    Tag,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)

from loynes.model.fields import BY_RESOURCE, NUMBER

# One 64-bit word a server and replica: beyond this a dense vector no longer fits anywhere sensible.
MOST_SERVERS = 1_000_000
# Resources of different names.
MOST_KINDS = 1000

_LETTERS = "kMGTPE"
# Bytes of a unit: powers of 1000, and of 1024 (IEC 80000-13).
BYTES = {"B": 1} | {f"{x}B": 1000**n for n, x in enumerate(_LETTERS, 1)}
BYTES |= {f"{x.upper()}iB": 1024**n for n, x in enumerate(_LETTERS, 1)}
# As others write them: Kubernetes has 64Gi. What Slurm means by 64G (GiB) is not what Kubernetes does (GB).
_NAMES = {name.lower(): name for name in BYTES} | {name[:2].lower(): name for name in BYTES if "i" in name}
# A text that is longer is no size.
LONGEST = 40
_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-zA-Z]+)\s*")
# An amount that a double holds exactly.
MOST = 2**53


class Size(int):
    """A number of bytes, shown with the unit that makes the smallest whole number of it."""

    def __str__(self) -> str:
        fitting = [(int(self) // size, name) for name, size in BYTES.items() if int(self) % size == 0]
        number, name = min(fitting) if self else (0, "B")
        return f"{number} {name}"

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def __mul__(self, times: int) -> Size:
        return Size(int(self) * int(times))

    def __add__(self, other: int) -> Size:
        return Size(int(self) + int(other))

    __rmul__, __radd__ = __mul__, __add__


def size_of(text: str) -> Size | None:
    """The size that a text says, to the last byte; None for what is not written like one."""
    written = _SIZE.fullmatch(text) if len(text) <= LONGEST else None
    if written is None:
        return None
    unit = _NAMES.get(written[2].lower())
    if unit is None:
        raise ValueError(f"{text!r}: no unit of memory; there are {', '.join(BYTES)}")
    size = Fraction(written[1]) * BYTES[unit]
    if size.denominator != 1 or size > MOST:
        raise ValueError(f"{text!r}: must be a whole number of bytes, at most {Size(2**53)}")
    return Size(size)


def _read(least: int) -> Callable[[Any, ValidatorFunctionWrapHandler], int]:
    """A validator around that of a whole number, which a size keeps its unit through."""

    def read(value: Any, whole: ValidatorFunctionWrapHandler) -> int:
        size = value if isinstance(value, Size) else size_of(value) if isinstance(value, str) else None
        if size is None:
            number: int = whole(value)
            return number
        if size < least:
            raise ValueError(f"{value}: must be above 0")
        return size

    return read


def plain(amount: int) -> int | str:
    """An amount as files have it."""
    return str(amount) if isinstance(amount, Size) else amount


_written = PlainSerializer(plain, when_used="json")


def _schema(least: int, most: int | None = None) -> WithJsonSchema:
    number = {"type": "integer", "minimum": least} | ({} if most is None else {"maximum": most})
    return WithJsonSchema({"anyOf": [number, {"type": "string", "examples": ["512 GB"]}]})


# What there is: a number from 1 on, or a size.
There = Annotated[
    int, Strict(), Field(ge=1, le=MOST_SERVERS), WrapValidator(_read(1)), _written, _schema(1, MOST_SERVERS)
]
# What is asked for or taken away: a number from 0 on, or a size.
Amount = Annotated[int, Strict(), Field(ge=0), WrapValidator(_read(0)), _written, _schema(0)]
Text = Annotated[str, Strict()]

# A number of servers, or of units by resource; which of the two decides what a message complains of.
Units = Annotated[
    Annotated[Amount, Tag(NUMBER)] | Annotated[dict[Text, Amount], Tag(BY_RESOURCE)],
    Discriminator(lambda value: BY_RESOURCE if isinstance(value, Mapping) else NUMBER),
]
Written = int | dict[str, int] | None


def by_kind(amount: Written, kinds: tuple[str, ...]) -> tuple[int, ...]:
    """Of every kind; a number is of the only kind there is."""
    if isinstance(amount, dict):
        return tuple(amount.get(kind, 0) for kind in kinds)
    return (amount or 0,) if len(kinds) == 1 else (0,) * len(kinds)


def in_words(amount: Written) -> str:
    """4; or cpu 4 memory 16 GB."""
    if isinstance(amount, dict):
        return " ".join(f"{kind} {n}" for kind, n in amount.items() if n)
    return str(amount or 0)


def common_size(kind: str, amounts: Iterable[tuple[str, int]]) -> int:
    """The largest size that all amounts of a kind are whole multiples of; 1 where they are plain numbers.

    amounts: each with its path in the file. Some with a unit and some without one are refused.
    """
    given = [(where, amount) for where, amount in amounts if amount]
    sized = [one for one in given if isinstance(one[1], Size)]
    if not sized:
        return 1
    if len(sized) < len(given):
        where, amount = next(one for one in given if not isinstance(one[1], Size))
        raise ValueError(f"{where} = {amount}: must have a unit, as {sized[0][0]} = {sized[0][1]} has")
    return math.gcd(*(amount for _, amount in sized))
