"""Nodes, and how classes share them: entries of `[[nodes]]`, partitions, quotas; and whether jobs fit at all."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, Strict

from loynes.model.fields import Count, Record, at_most
from loynes.model.sizes import MOST_KINDS, Amount, Units, Written, by_kind, in_words

if TYPE_CHECKING:
    from loynes.model.classes import JobClass
    from loynes.model.cluster import Model

# How a task's node is chosen among those with room, and what jobs do to running ones of a smaller priority.
Placement = Literal["pack", "spread", "first-fit"]
Preemption = Literal["never", "restart", "resume"]
# Where a model does not say.
PLACEMENT: Placement = "pack"
PREEMPTION: Preemption = "never"

Name = Annotated[str, Strict(), Field(min_length=1)]
# One name or several.
Names = Annotated[
    tuple[Name, ...], Field(min_length=1), BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]
MOST_NODES = 100_000


class Nodes(Record):
    """So many nodes that are alike: each `has` so much of every resource. A partition may have several entries, and an
    entry may be in several partitions."""

    name: Name | None = None
    partition: Names | None = None
    count: Annotated[Count, Field(le=MOST_NODES)]
    has: Annotated[dict[Name, Amount], Field(min_length=1), at_most(MOST_KINDS)]

    def __hash__(self) -> int:
        return hash((self.name, self.partition, self.count, in_words(self.has)))

    @property
    def text(self) -> str:
        """16 gpu nodes of cpu 64 gpu 4."""
        called = f"{self.name} " if self.name else ""
        return f"{self.count} {called}node{'s' if self.count > 1 else ''} of {in_words(self.has)}"


class Quota(Record):
    """The most that jobs of some classes may hold at once: `limit` is theirs.

    Quotas of one `cohort` lend each other what they do not use, each borrows at most `borrow` beyond its limit.
    """

    name: Name | None = None
    classes: Names
    limit: Units
    cohort: Name | None = None
    borrow: Units | None = None

    def __hash__(self) -> int:
        return hash((self.name, self.classes, in_words(self.limit), self.cohort))

    @property
    def text(self) -> str:
        """research: llm, vision at most gpu 32."""
        lent = "" if self.cohort is None else f", borrowing within {self.cohort}"
        return f"{self.label}: at most {in_words(self.limit)}{lent}"

    @property
    def label(self) -> str:
        return self.name or ", ".join(self.classes)


def entry_names(nodes: tuple[Nodes, ...]) -> tuple[str, ...]:
    """What entries of [[nodes]] are called: by their names, or the only one's, or their numbers."""
    only = len(nodes) == 1
    return tuple(one.name or ("nodes" if only else f"nodes[{place}]") for place, one in enumerate(nodes))


def allowed(model: Model, job_class: JobClass) -> tuple[bool, ...]:
    """Of every entry of [[nodes]], whether jobs of a class may run there."""
    named, parts = frozenset(job_class.nodes or ()), frozenset(job_class.partition or ())
    if not named and not parts:
        return (True,) * len(model.nodes or ())
    return tuple(one.name in named or not parts.isdisjoint(one.partition or ()) for one in model.nodes or ())


def check_entries(model: Model) -> None:
    """Refuse entries of [[nodes]] with the same name, and resources that no node has any of."""
    twice = [name for name, times in Counter(one.name for one in model.nodes or () if one.name).items() if times > 1]
    if twice:
        raise ValueError(f"nodes: names must differ, {twice[0]!r} is used twice")
    for kind, units in zip(model.kinds, model.units, strict=True):
        if units == 0:
            place = next(n for n, one in enumerate(model.nodes or ()) if kind in one.has)
            raise ValueError(f"nodes[{place}].has.{kind} = 0: no node has any; leave it out")


def check_tasks(model: Model, where: str, job_class: JobClass) -> None:
    """Refuse a class whose tasks no node can take, or whose nodes are not there."""
    if model.nodes is None:
        for key in ("tasks", "per_node", "nodes", "partition"):
            value = job_class.pieces if key == "tasks" else getattr(job_class, key)
            if value is not None:
                raise ValueError(f"{where}.{key}: is for a model with [[nodes]], which this one has none of")
        return
    if job_class.specific:
        raise ValueError(f"{where}.specific: particular servers are not for a model with [[nodes]]")
    for key, wanted in (("nodes", job_class.nodes), ("partition", job_class.partition)):
        there = _names(model, key)
        known = set(there)
        for name in wanted or ():
            if name not in known:
                raise ValueError(f"{where}.{key}: {_no_such(name, key, there)}")
    where_to = [one for one, may in zip(model.nodes, allowed(model, job_class), strict=True) if may]
    counts = [one.count for one in where_to]
    each = [_tasks_on(model, job_class, one) for one in where_to]
    if not any(each):
        raise ValueError(f"{where}.{_unfitting(model, job_class, where_to)}")
    room = sum(n * count for n, count in zip(each, counts, strict=True))
    if room < job_class.tasks:
        limit = f" with per_node = {job_class.per_node}" if job_class.per_node else ""
        raise ValueError(f"{where}.tasks = {job_class.tasks}: only {room} fit on all nodes at once{limit}")


def fits_on(model: Model, job_class: JobClass, counts: tuple[int, ...]) -> bool:
    """Whether a job fits an empty cluster with so many nodes of every entry."""
    each = [
        _tasks_on(model, job_class, one) if may else 0
        for one, may in zip(model.nodes or (), allowed(model, job_class), strict=True)
    ]
    return sum(n * count for n, count in zip(each, counts, strict=True)) >= job_class.tasks


def _tasks_on(model: Model, job_class: JobClass, entry: Nodes) -> int:
    """How many tasks of one job an empty node takes."""
    need, has = by_kind(job_class.any_units, model.kinds), by_kind(entry.has, model.kinds)
    room = min((there // one for one, there in zip(need, has, strict=True) if one), default=0)
    return min(room, job_class.per_node or room)


def _unfitting(model: Model, job_class: JobClass, entries: list[Nodes]) -> str:
    """Why no node takes a task."""
    need = dict(zip(model.kinds, by_kind(job_class.any_units, model.kinds), strict=True))
    whose = "no node" if len(entries) == len(model.nodes or ()) else "no node that it may run on"
    for kind, one in need.items():
        most = max(entry.has.get(kind, 0) for entry in entries)
        if one > most:
            of = f"need.{kind}" if isinstance(job_class.any_units, dict) else "need"
            return f"{of} = {one}: a task runs on one node, and {whose} has more than {most}"
    return f"need: a task runs on one node, and {whose} has {in_words(need)} together"


def _names(model: Model, key: str) -> list[str]:
    if key == "nodes":
        return [one.name for one in model.nodes or () if one.name]
    return list(dict.fromkeys(name for one in model.nodes or () for name in one.partition or ()))


def _no_such(name: str, key: str, there: list[str]) -> str:
    what = "no [[nodes]] are called" if key == "nodes" else "no [[nodes]] are of a partition"
    close = get_close_matches(name, there, 1, 0.6)
    hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(there)}" if there else ""
    return f"{what} {name!r}{hint}" + ("" if there else f" (none has a {'name' if key == 'nodes' else 'partition'})")


def check_quotas(model: Model, classes: tuple[JobClass, ...]) -> None:
    """Refuse quotas of classes that are not there, or in two of them, and those that some job can never keep."""
    quotas = model.quotas or ()
    labels = {c.label: c for c in classes}
    twice = [name for name, times in Counter(one.name for one in quotas if one.name).items() if times > 1]
    if twice:
        raise ValueError(f"quotas: names must differ, {twice[0]!r} is used twice")
    holder: dict[str, int] = {}
    for place, quota in enumerate(quotas):
        where = f"quotas[{place}]"
        for name in quota.classes:
            if name not in labels:
                close = get_close_matches(name, labels, 1, 0.6)
                hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(labels)}"
                raise ValueError(f"{where}.classes: no class is called {name!r}; {hint}")
            if holder.setdefault(name, place) != place:
                raise ValueError(f"{where}.classes: {name!r} is in quotas[{holder[name]}], too; a class has one quota")
        if quota.limit == {}:
            raise ValueError(f"{where}.limit: limits nothing: say of which resource, {{ {model.kinds[0]} = 8 }}")
        for key, amount in (("limit", quota.limit), ("borrow", quota.borrow)):
            _check_kinds(model, f"{where}.{key}", amount)
        if quota.borrow is not None and quota.cohort is None:
            raise ValueError(f"{where}.borrow: needs a cohort to borrow from")
        for name in quota.classes:
            _check_kept(model, place, labels[name])


def _check_kinds(model: Model, where: str, amount: Written) -> None:
    if isinstance(amount, dict):
        unknown = [kind for kind in amount if kind not in model.kinds]
        if unknown:
            raise ValueError(f"{where}.{unknown[0]}: no such resource; there are: {', '.join(model.kinds)}")
    elif len(model.kinds) > 1 and amount is not None:
        raise ValueError(f"{where} = {amount}: must say of which resource: {{ {model.kinds[0]} = {amount} }}")


def _check_kept(model: Model, place: int, job_class: JobClass) -> None:
    """Refuse a quota that a job of a class needs more than, with what it may borrow."""
    quotas = model.quotas or ()
    quota = quotas[place]
    own, most = quota_by_kind(quota.limit, model), quota_by_kind(quota.borrow, model)
    for kind, need in enumerate(by_kind(job_class.any_units, model.kinds)):
        need *= job_class.tasks
        if own[kind] is None:
            continue
        may = own[kind] or 0
        if quota.cohort is not None:
            others = [q for n, q in enumerate(quotas) if q.cohort == quota.cohort and n != place]
            lent = sum(quota_by_kind(one.limit, model)[kind] or 0 for one in others)
            limit = most[kind]
            may += lent if limit is None else min(limit, lent)
        if need > may:
            name = f"limit.{model.kinds[kind]}" if isinstance(quota.limit, dict) else "limit"
            borrowed = "" if quota.cohort is None else f", with all it can borrow {may}"
            raise ValueError(
                f"quotas[{place}].{name} = {own[kind]}{borrowed}: a job of class {job_class.label!r} needs {need}"
            )


def quota_by_kind(amount: Written, model: Model) -> tuple[int | None, ...]:
    """Of every kind; None where there is no limit."""
    if isinstance(amount, dict):
        return tuple(amount.get(kind) for kind in model.kinds)
    return (amount,) * len(model.kinds)
