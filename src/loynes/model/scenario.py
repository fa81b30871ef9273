"""A scenario: scheduled changes of the arrival rate and of the servers, for event-driven simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from loynes.model.fields import BY_RESOURCE, NUMBER, SHARE, Duration, DurationOrZero, NonNegative, Record, Whole
from loynes.model.nodes import entry_names, fits_on
from loynes.model.sizes import Amount, by_kind

if TYPE_CHECKING:
    from loynes.model.cluster import Model


def _tag(value: object) -> str:
    if isinstance(value, Mapping):
        return BY_RESOURCE
    return SHARE if isinstance(value, str) else NUMBER


# How many servers: a number, numbers by resource, or a share of all there are.
Lost = Annotated[
    Annotated[Whole, Tag(NUMBER)]
    | Annotated[dict[Annotated[str, Strict()], Amount], Tag(BY_RESOURCE)]
    | Annotated[str, Strict(), Field(pattern=r"^\d+(\.\d+)?%$"), Tag(SHARE)],
    Discriminator(_tag),
]
# How many nodes: a number, or numbers by the name of their entry.
LostNodes = Annotated[
    Annotated[Whole, Tag(NUMBER)] | Annotated[dict[Annotated[str, Strict()], Whole], Tag(BY_RESOURCE)],
    Discriminator(lambda value: BY_RESOURCE if isinstance(value, Mapping) else NUMBER),
]


class Change(Record):
    """From a time on, for ever or until another: jobs come `rate_factor` times as fast, and some servers are lost.

    `lost` is a number of servers, numbers by resource, or a share ("10%", of every resource, at least one of each).
    Servers that are `drained` go as soon as their job has ended; those that `failed` go at once, are chosen at random,
    and the jobs on them start from the beginning, in their old place in line.

    An `announced` loss is known beforehand: a job that is believed to run into it waits, where it would need what is
    lost. Of a model with [[nodes]], whole `nodes` are lost: a number, numbers by the entries' names, or by `lost` a
    share.
    """

    name: Annotated[str, Strict(), Field(min_length=1)] | None = None
    since: DurationOrZero = Field(alias="from")
    until: Duration | None = None
    rate_factor: NonNegative = 1.0
    lost: Lost = 0
    nodes: LostNodes | None = None
    how: Literal["drained", "failed"] = "drained"
    announced: bool | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Change:
        if self.until is not None and self.until <= self.since:
            raise ValueError(f"until = {self.until:g}: must be after from = {self.since:g}")
        if self.rate_factor == 0 and self.until is None:
            raise ValueError("rate_factor = 0: needs an until, or nobody ever comes again")
        if self.rate_factor == 1 and not self.lost and not self.nodes:
            raise ValueError("changes nothing: say rate_factor (2 is twice as many jobs) or lost (2 servers, or '10%')")
        if isinstance(self.lost, str) and float(self.lost.rstrip("%")) > 100:
            raise ValueError(f"lost = {self.lost[:20]!r}: must be at most 100%")
        if self.lost and self.nodes:
            raise ValueError("lost and nodes: say one of the two")
        if self.announced and not self.lost and not self.nodes:
            raise ValueError("announced: means nothing where nothing is lost")
        return self

    def __hash__(self) -> int:
        return hash((self.since, self.until, self.rate_factor, str(self.lost), str(self.nodes), self.how))

    @property
    def label(self) -> str:
        """What it is called, or does."""
        parts = [f"rate x{self.rate_factor:g}"] if self.rate_factor != 1 else []
        if self.lost:
            named = self.lost.items() if isinstance(self.lost, dict) else [("servers", self.lost)]
            parts.append(", ".join(f"{n} {kind} {self.how}" for kind, n in named))
        if self.nodes:
            named = self.nodes.items() if isinstance(self.nodes, dict) else [("", self.nodes)]
            parts += [f"{n} {kind} nodes {self.how}".replace("  ", " ") for kind, n in named]
        if self.announced:
            parts.append("announced")
        return self.name or ", ".join(parts)

    def lost_of(self, kinds: tuple[str, ...], units: tuple[int, ...]) -> tuple[int, ...]:
        """How much of every kind is lost, of what there is of each; of models without nodes."""
        if isinstance(self.lost, str):
            return _share(self.lost, units)
        if isinstance(self.lost, dict):
            return by_kind(self.lost, kinds)
        return (self.lost, *[0] * (len(kinds) - 1))  # of several kinds a number says nothing but 0

    def nodes_lost_of(self, names: tuple[str, ...], counts: tuple[int, ...]) -> tuple[int, ...]:
        """How many nodes of every entry are lost."""
        if isinstance(self.lost, str):
            return _share(self.lost, counts)
        if isinstance(self.nodes, dict):
            return tuple(self.nodes.get(name, 0) for name in names)
        return (self.nodes or 0, *[0] * (len(names) - 1))


def _share(text: str, units: tuple[int, ...]) -> tuple[int, ...]:
    """So many percent of each, rounded, but at least one of what there is any of."""
    share = float(text.rstrip("%")) / 100.0
    return tuple(max(math.floor(share * n + 0.5), min(n, 1)) if share else 0 for n in units)


def check_scenario(model: Model) -> None:
    """Refuse changes that take more than there is, or leave for ever less than a class needs."""
    scenario, kinds = model.scenario or (), model.kinds
    if model.nodes is not None:
        _check_nodes(model)
        return
    for place, change in enumerate(scenario):
        where = f"scenario[{place}].lost"
        if change.nodes is not None:
            raise ValueError(f"scenario[{place}].nodes: is for a model with [[nodes]]; here servers are `lost`")
        if isinstance(change.lost, dict):
            unknown = [kind for kind in change.lost if kind not in kinds]
            if unknown:
                raise ValueError(f"{where}.{unknown[0]}: no such resource; there are: {', '.join(kinds)}")
        elif isinstance(change.lost, int) and change.lost and len(kinds) > 1:
            raise ValueError(f"{where} = {change.lost}: must say of which resource: {{ {kinds[0]} = {change.lost} }}")
    # Of every resource, no more than there is: a job that needs more is refused for itself.
    largest = [max(needs) for needs in zip(*(model.demand(c) for c in model.classes), strict=True)]
    units = model.units
    for time, lost in lost_together(scenario, [change_in_units(model, change) for change in scenario]):
        for gone, name, kind in zip(lost, kinds, range(len(kinds)), strict=True):
            needed = min(largest[kind], units[kind])
            if gone > units[kind]:
                raise ValueError(f"scenario: at time {time:g} {gone} {name} are lost, of {units[kind]}")
            if math.isinf(time) and units[kind] - gone < needed:
                raise ValueError(f"scenario: leaves {units[kind] - gone} {name} for ever, and some jobs need {needed}")


def change_in_units(model: Model, change: Change) -> tuple[int, ...]:
    """How many units of every kind are lost."""
    if isinstance(change.lost, str):
        return change.lost_of(model.kinds, model.units)
    return model.in_units(change.lost_of(model.kinds, model.units))


def lost_together(
    scenario: Sequence[Change], amounts: Sequence[tuple[int, ...]]
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Times when something begins, and for ever; each with how much is lost then, all changes together."""
    steps = [(change.since, 1, amount) for change, amount in zip(scenario, amounts, strict=True)]
    steps += [(c.until, -1, amount) for c, amount in zip(scenario, amounts, strict=True) if c.until is not None]
    steps.sort(key=lambda step: step[0])
    lost: tuple[int, ...] = tuple(0 for _ in amounts[0]) if amounts else ()
    for time, together in groupby(steps, key=lambda step: step[0]):
        signs = []
        for _, sign, amount in together:
            signs.append(sign)
            lost = tuple(before + sign * one for before, one in zip(lost, amount, strict=True))
        if 1 in signs:
            yield time, lost
    if amounts:
        yield math.inf, lost


def _check_nodes(model: Model) -> None:
    """The same where nodes are lost, each with all it has."""
    nodes, scenario = model.nodes or (), model.scenario or ()
    names = entry_names(nodes)
    counts = tuple(one.count for one in nodes)
    for place, change in enumerate(scenario):
        where = f"scenario[{place}]"
        if change.lost and not isinstance(change.lost, str):
            raise ValueError(f"{where}.lost: nodes are lost whole: say how many, nodes = 2, or lost = '10%' of them")
        if isinstance(change.nodes, dict):
            unknown = [name for name in change.nodes if name not in names]
            if unknown:
                raise ValueError(
                    f"{where}.nodes.{unknown[0]}: no such entry of [[nodes]]; there are: {', '.join(names)}"
                )
        elif change.nodes and len(nodes) > 1:
            raise ValueError(f"{where}.nodes = {change.nodes}: must say of which: {{ {names[0]} = {change.nodes} }}")
    for time, lost in lost_together(scenario, [change.nodes_lost_of(names, counts) for change in scenario]):
        left = tuple(count - gone for count, gone in zip(counts, lost, strict=True))
        for n, name in enumerate(names):
            if left[n] < 0:
                raise ValueError(f"scenario: at time {time:g} {counts[n] - left[n]} {name} are lost, of {counts[n]}")
        # A job that does not fit all nodes is refused for itself.
        fitting = [c for c in model.classes if math.isinf(time) and fits_on(model, c, counts)]
        stuck = [c for c in fitting if not fits_on(model, c, left)]
        if stuck:
            raise ValueError(f"scenario: leaves too few nodes for ever for a job of class {stuck[0].label!r}")
