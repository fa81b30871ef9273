"""A scenario: scheduled changes of the arrival rate and of the servers, for event-driven simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from loynes.model.fields import BY_RESOURCE, NUMBER, SHARE, Duration, DurationOrZero, NonNegative, Record, Whole


def _tag(value: object) -> str:
    if isinstance(value, Mapping):
        return BY_RESOURCE
    return SHARE if isinstance(value, str) else NUMBER


# How many servers: a number, numbers by resource, or a share of all there are.
Lost = Annotated[
    Annotated[Whole, Tag(NUMBER)]
    | Annotated[dict[Annotated[str, Strict()], Whole], Tag(BY_RESOURCE)]
    | Annotated[str, Strict(), Field(pattern=r"^\d+(\.\d+)?%$"), Tag(SHARE)],
    Discriminator(_tag),
]


class Change(Record):
    """From a time on, for ever or until another: jobs come `rate_factor` times as fast, and some servers are lost.

    `lost` is a number of servers, numbers by resource, or a share ("10%", of every resource, at least one of each).
    Servers that are `drained` go as soon as their job has ended; those that `failed` go at once, are chosen at random,
    and the jobs on them start from the beginning, in their old place in line.
    """

    name: Annotated[str, Strict(), Field(min_length=1)] | None = None
    since: DurationOrZero = Field(alias="from")
    until: Duration | None = None
    rate_factor: NonNegative = 1.0
    lost: Lost = 0
    how: Literal["drained", "failed"] = "drained"

    @model_validator(mode="after")
    def _consistent(self) -> Change:
        if self.until is not None and self.until <= self.since:
            raise ValueError(f"until = {self.until:g}: must be after from = {self.since:g}")
        if self.rate_factor == 0 and self.until is None:
            raise ValueError("rate_factor = 0: needs an until, or nobody ever comes again")
        if self.rate_factor == 1 and not self.lost:
            raise ValueError("changes nothing: say rate_factor (2 is twice as many jobs) or lost (2 servers, or '10%')")
        return self

    def __hash__(self) -> int:
        return hash((self.since, self.until, self.rate_factor, str(self.lost), self.how))

    @property
    def label(self) -> str:
        """What it is called, or does."""
        parts = [f"rate x{self.rate_factor:g}"] if self.rate_factor != 1 else []
        if self.lost:
            named = self.lost.items() if isinstance(self.lost, dict) else [("servers", self.lost)]
            parts.append(", ".join(f"{n} {kind} {self.how}" for kind, n in named))
        return self.name or ", ".join(parts)

    def lost_of(self, kinds: tuple[str, ...], units: tuple[int, ...]) -> tuple[int, ...]:
        """How many servers of every kind are lost."""
        if isinstance(self.lost, str):
            share = float(self.lost.rstrip("%")) / 100.0
            return tuple(max(math.floor(share * n + 0.5), 1) if share else 0 for n in units)
        if isinstance(self.lost, dict):
            return tuple(self.lost.get(kind, 0) for kind in kinds)
        return (self.lost, *[0] * (len(kinds) - 1))  # of several kinds a number says nothing but 0


def check_scenario(
    scenario: tuple[Change, ...], kinds: tuple[str, ...], units: tuple[int, ...], largest: tuple[int, ...]
) -> None:
    """Refuse changes that take more than there is, or leave for ever less than a class needs."""
    for place, change in enumerate(scenario):
        where = f"scenario[{place}].lost"
        if isinstance(change.lost, dict):
            unknown = [kind for kind in change.lost if kind not in kinds]
            if unknown:
                raise ValueError(f"{where}.{unknown[0]}: no such resource; there are: {', '.join(kinds)}")
        elif isinstance(change.lost, int) and change.lost and len(kinds) > 1:
            raise ValueError(f"{where} = {change.lost}: must say of which resource: {{ {kinds[0]} = {change.lost} }}")
    times = sorted({change.since for change in scenario})
    for time in [*times, math.inf]:
        holding = [c for c in scenario if c.since <= time and (c.until is None or time < c.until)]
        for kind, name in enumerate(kinds):
            gone = sum(change.lost_of(kinds, units)[kind] for change in holding)
            if gone > units[kind]:
                raise ValueError(f"scenario: at time {time:g} {gone} {name} are lost, of {units[kind]}")
            if math.isinf(time) and units[kind] - gone < largest[kind]:
                left = f"{units[kind] - gone} {name}"
                raise ValueError(f"scenario: leaves {left} for ever, and some jobs need {largest[kind]}")
