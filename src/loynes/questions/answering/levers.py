"""What of a model can be changed, each by a little: the rate, lengths, shares and needs of classes, servers.

Lengths, shares and the rate are changed in proportion, to both sides by the same step; servers and needs by one. The
difference between the two sides, times a factor, is the effect that is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from loynes.model import JobClass, Model
from loynes.model.laws.law import Law, leaves
from loynes.model.laws.stretched import Stretched
from loynes.results.records.sensitivity import Kind

# Steps to both sides are this part of what is left to the threshold, and at most so much: near it waits bend sharply.
STEP, MOST_STEP = 0.1, 0.05
PERCENT = 0.01
# A share is changed by a hundredth of all jobs where it is not changed in proportion.
HUNDREDTH = 0.01

# Of the share of all others: a class that takes more of it for the effect that is told has none.
MOST_TAKEN = 0.25

Per = Literal["percent", "unit"]
SIDES = ("more", "fewer")


class Variant(NamedTuple):
    """A model at a rate."""

    model: Model
    rate: float


@dataclass(frozen=True)
class Lever:
    """Something to change: what to call it, and the two sides of the change."""

    kind: Kind
    name: str
    of: str  # the class, or the resource, if there are several
    change: str
    words: str  # what is changed, in words; and the reverse, where the effect of that is as large
    reverse: str
    low: Variant
    high: Variant
    factor: float  # from the difference to the effect
    step: float | None = None  # in proportion, to both sides
    doubtful: Variant | None = None  # the side that may be unstable, or slow to settle


def step_at(load: float) -> float:
    """The step to both sides, in proportion, at this load."""
    return min(STEP * (1.0 - load), MOST_STEP)


def amount(per: Per, value: float, unit: float = 1.0) -> float:
    """By how much of itself a parameter changes for the effect that is told: a percent, or one unit of it."""
    return PERCENT if per == "percent" else unit / value


def has_atoms(law: Law) -> bool:
    """Whether a service takes some value with a probability above 0."""
    for _, leaf in leaves(law):
        recipe = leaf.recipe()
        flat = recipe.nodes is not None and bool((recipe.nodes[:, 2] == 0).any())
        if recipe.formula == "deterministic" or flat:
            return True
    return False


def rate_lever(base: Variant, per: Per, step: float) -> Lever:
    low, high = (Variant(base.model, base.rate * (1.0 + side * step)) for side in (-1, 1))
    more, fewer = (f"1% {how} jobs" if per == "percent" else f"one job {how} a unit of time" for how in SIDES)
    factor = amount(per, base.rate) / (2.0 * step)
    return Lever("rate", "arrival rate", "", _change(per), more, fewer, low, high, factor, step)


def length_levers(base: Variant, per: Per, step: float) -> Iterator[Lever]:
    for position, job_class in enumerate(base.model.classes):
        low, high = (
            _with_class(base, position, service=Stretched(of=job_class.service, factor=1.0 + side * step))
            for side in (-1, 1)
        )
        name = job_class.label
        longer, shorter = (
            f"1% {how} jobs of {name}" if per == "percent" else f"jobs of {name} {how} by a unit of time"
            for how in ("longer", "shorter")
        )
        factor = amount(per, job_class.service.mean) / (2.0 * step)
        yield Lever("length", f"length of {name}", name, _change(per), longer, shorter, low, high, factor, step)


def share_levers(base: Variant, per: Per, step: float) -> tuple[list[Lever], list[str]]:
    """One class's probability, all others' in proportion, at the same rate of jobs; and what cannot be, in words."""
    change, found, left_out = _change(per, f"+{HUNDREDTH:g}"), [], []
    for position, job_class in enumerate(base.model.classes):
        p = job_class.probability
        if amount(per, p, HUNDREDTH) * p > MOST_TAKEN * (1.0 - p):
            left_out.append(f"more of {job_class.label}, which nearly all jobs are, would leave hardly any others")
            continue
        # Neither this class nor the others change by more than the step.
        own = min(step, step * (1.0 - p) / p)
        low, high = (_with_share(base, position, p * (1.0 + side * own)) for side in (-1, 1))
        name = job_class.label
        more, fewer = (
            f"1% {how} jobs of {name} among all" if per == "percent" else f"a hundredth {how} of all jobs from {name}"
            for how in SIDES
        )
        factor = amount(per, p, HUNDREDTH) / (2.0 * own)
        found.append(Lever("share", f"share of {name}", name, change, more, fewer, low, high, factor, own))
    return found, left_out


def need_levers(base: Variant) -> tuple[list[Lever], list[str]]:
    """One more server for every job of a class; and what cannot be, in words."""
    model, found, left_out = base.model, [], []
    for position, job_class in enumerate(model.classes):
        taken = list(zip(model.kinds, model.units, model.demand(job_class), model.specific(job_class), strict=True))
        for kind, units, any_, specific in taken:
            if not any_:
                continue
            if any_ + specific >= units:
                left_out.append(f"{job_class.label} needs all {kind} already")
                continue
            more = _with_need(base, position, kind)
            several = f" ({kind})" if model.by_resource else ""
            words = f"one {_one(kind)} more for every job of {job_class.label}"
            name = f"need of {job_class.label}{several}"
            found.append(Lever("need", name, job_class.label, "+1", words, "", base, more, 1.0, doubtful=more))
    return found, left_out


def server_levers(base: Variant) -> tuple[list[Lever], list[str]]:
    """One server more, and one fewer; and what cannot be, in words."""
    model, found, left_out = base.model, [], []
    for k, (kind, units) in enumerate(zip(model.kinds, model.units, strict=True)):
        more = _with_units(base, kind, units + 1)
        of = kind if model.by_resource else ""
        found.append(Lever("servers", kind, of, "+1", f"one {_one(kind)} more", "", base, more, 1.0))
        needed = max(model.demand(c)[k] + model.specific(c)[k] for c in model.classes)
        if needed >= units:
            left_out.append(f"jobs that need all {units} {kind} could not run with one fewer")
            continue
        fewer = _with_units(base, kind, units - 1)
        words = f"one {_one(kind)} fewer"
        found.append(Lever("servers", kind, of, "-1", words, "", base, fewer, 1.0, doubtful=fewer))
    return found, left_out


def _change(per: Per, unit: str = "+1") -> str:
    """The change as a table has it."""
    return "+1%" if per == "percent" else unit


def _one(kind: str) -> str:
    return "server" if kind == "servers" else kind


def _with_classes(base: Variant, classes: tuple[JobClass, ...]) -> Variant:
    return Variant(base.model.model_copy(update={"classes": classes}), base.rate)


def _with_class(base: Variant, position: int, **update: object) -> Variant:
    classes = list(base.model.classes)
    classes[position] = classes[position].model_copy(update=update)
    return _with_classes(base, tuple(classes))


def _with_share(base: Variant, position: int, share: float) -> Variant:
    classes = base.model.classes
    rest = (1.0 - share) / (1.0 - classes[position].probability)
    return _with_classes(
        base,
        tuple(
            c.model_copy(update={"probability": share if k == position else rest * c.probability})
            for k, c in enumerate(classes)
        ),
    )


def _with_need(base: Variant, position: int, kind: str) -> Variant:
    units = base.model.classes[position].any_units
    more: int | dict[str, int] = units | {kind: units.get(kind, 0) + 1} if isinstance(units, dict) else units + 1
    return _with_class(base, position, any_units=more)


def _with_units(base: Variant, kind: str, units: int) -> Variant:
    model = base.model
    update = {"one_kind": units} if model.resources is None else {"resources": model.resources | {kind: units}}
    return Variant(model.model_copy(update=update), base.rate)
