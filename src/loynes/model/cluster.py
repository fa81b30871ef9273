"""A model: servers, the classes of jobs that share them, and how jobs arrive."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from loynes import notebook
from loynes.errors import ModelError
from loynes.model.arrivals import Arrivals, Poisson, Sessions
from loynes.model.classes import JobClass
from loynes.model.fields import LARGEST, SMALLEST, Count, Record, at_most, check_sum_to_one
from loynes.model.misfits import Misfits
from loynes.model.nodes import (
    MOST_NODES,
    Name,
    Nodes,
    Placement,
    Preemption,
    Quota,
    check_entries,
    check_quotas,
    check_tasks,
)
from loynes.model.pooling import pooled_document, unit_sizes
from loynes.model.scenario import Change, check_scenario
from loynes.model.shares import with_probabilities
from loynes.model.sizes import MOST_KINDS, MOST_SERVERS, Text, There, by_kind
from loynes.model.streams import Chain, PhaseMix, chain_of, mix_of, together
from loynes.model.units import unit_named

# Keys that are left out of a model's content where they say nothing.
OPTIONAL = (
    "servers", "resources", "nodes", "placement", "preemption", "quotas", "discipline", "scenario", "time_unit"
)  # fmt: skip
# The same of its classes, nodes, quotas and changes.
OPTIONAL_WITHIN = ("specific", "arrivals", "tasks", "per_node", "nodes", "partition", "priority", "announced")

# What one unit of time is, where the model says.
TimeUnit = Annotated[
    Literal["milliseconds", "seconds", "minutes", "hours", "days", "weeks", "years"],
    BeforeValidator(lambda given: unit_named(given) if isinstance(given, str) else given),
]


def _tables(given: object) -> object:
    if isinstance(given, int):
        raise ValueError(
            f"{given}: must be [[nodes]] tables with count and has; nodes taken whole are servers = {given}"
        )
    return given


class Model(Record):
    """A cluster under first come, first served, and its workload: identical servers, several resources, or nodes.

    With `nodes` resources are what they have together, and only event by event is it seen that a task runs on one of
    them: everything else is told of the pooled cluster, whose units are as good as each other.
    """

    name: Text | None = None
    description: Text | None = None
    time_unit: TimeUnit | None = None
    one_kind: Annotated[Count, Field(le=MOST_SERVERS)] | None = Field(None, alias="servers")
    resources: Annotated[dict[Name, There], Field(min_length=1), at_most(MOST_KINDS)] | None = None
    nodes: Annotated[tuple[Nodes, ...], Field(min_length=1), BeforeValidator(_tables), at_most(MOST_NODES)] | None = (
        None
    )
    placement: Placement | None = None
    preemption: Preemption | None = None
    quotas: tuple[Quota, ...] | None = None
    discipline: Literal["fcfs", "reserving", "random"] | None = None
    arrivals: Arrivals = Poisson()
    classes: tuple[JobClass, ...] = Field(min_length=1)
    scenario: tuple[Change, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Model:
        said = {"servers": self.one_kind, "resources": self.resources, "nodes": self.nodes}
        both = [name for name, value in said.items() if value is not None]
        if not both:
            raise ValueError("servers: is missing (or resources = { cpu = 64, gpu = 8 }, or [[nodes]])")
        if len(both) > 1:
            why = "; nodes say what there is" if "nodes" in both else ""
            raise ValueError(f"{' and '.join(both)}: say one of {'the two' if len(both) == 2 else 'them'}{why}")
        if len(self.kinds) > MOST_KINDS:
            raise ValueError(f"nodes: {len(self.kinds)} different resources, at most {MOST_KINDS} are supported")
        if self.servers > MOST_SERVERS:
            raise ValueError(f"{both[0]}: {self.servers} units in all, at most {MOST_SERVERS} are supported")
        check_entries(self)
        misfits, named = Misfits(), self.classes
        for position, job_class in enumerate(self.classes):
            with misfits.collected("servers", "resources", "nodes"):
                self._check_needs(f"classes[{position}]", job_class)
                check_tasks(self, f"classes[{position}]", job_class)
        with misfits.collected("servers", "resources", "nodes"):
            check_scenario(self)
        with misfits.collected("placement", "preemption", "nodes", "classes"):
            self._check_sharing()
        with misfits.collected("arrivals"):
            named = with_probabilities(self.classes, self.arrivals)
            shares = [f"classes[{position}].probability" for position in range(len(named))]
            with misfits.collected(*shares):
                check_sum_to_one("classes: probabilities", tuple(c.probability for c in named))
        with misfits.collected():
            named = _with_names(named)
        with misfits.collected("servers", "resources", "nodes", "classes"):
            check_quotas(self, named)
        if misfits.found:
            raise misfits
        if named != self.classes:
            object.__setattr__(self, "classes", named)
        if any(c.arrivals is not None for c in self.classes):
            _ = self.chain  # says what cannot be put together
        return self

    def __hash__(self) -> int:
        return hash(self.hash)

    @cached_property
    def chain(self) -> Chain | None:
        """What modulates arrivals, and perhaps classes, in the time of the file; None where nothing does."""
        streams = [c.arrivals for c in self.classes if c.arrivals is not None]
        if not streams:
            return chain_of(self.arrivals)
        return None if all(isinstance(stream, Poisson) for stream in streams) else together(streams)

    @cached_property
    def phase_mix(self) -> PhaseMix | None:
        """How classes depend on the arrival process, None where they do not."""
        return mix_of(self.arrivals, self.chain)

    @property
    def alike(self) -> bool:
        """Whether jobs of a session are like one another, in more than jobs are at all."""
        return isinstance(self.arrivals, Sessions) and (len(self.classes) > 1 or self.arrivals.repeat > 0)

    @property
    def independent(self) -> bool:
        """Whether a job's class does not depend on the arrival process, nor on the jobs before it."""
        return self.phase_mix is None and not self.alike

    def _check_sharing(self) -> None:
        """Refuse rules that there is nothing to rule."""
        if self.placement is not None and self.nodes is None:
            raise ValueError(
                f"placement = {self.placement!r}: is for a model with [[nodes]], which this one has none of"
            )
        if self.preemption not in (None, "never") and not self.has_priorities:
            raise ValueError(
                f"preemption = {self.preemption!r}: means nothing where all classes have the same priority"
            )

    def _check_needs(self, where: str, job_class: JobClass) -> None:
        for what, amount in (("need", job_class.any_units), ("specific", job_class.specific)):
            if isinstance(amount, dict):
                unknown = [name for name in amount if name not in self.kinds]
                if unknown:
                    there = ", ".join(self.kinds) if self.by_resource else "none, only servers"
                    raise ValueError(f"{where}.{what}.{unknown[0]}: no such resource; there are: {there}")
            elif len(self.kinds) > 1 and amount:
                raise ValueError(
                    f"{where}.{what} = {amount}: must say of which resource: {{ {self.kinds[0]} = {amount} }}"
                )
        if job_class.need == 0:
            raise ValueError(f"{where}.need: must ask for at least one server or unit of a resource")
        if self.nodes is not None:
            return  # a task must fit a node, which is more than this
        for kind, units, any_, specific in zip(
            self.kinds, self._there, by_kind(job_class.any_units, self.kinds), by_kind(job_class.specific, self.kinds),
            strict=True,
        ):  # fmt: skip
            limit = f"resources.{kind} = {units}" if self.resources else f"servers = {units}"
            name = f"need.{kind}" if isinstance(job_class.any_units, dict) else "need"
            if any_ + specific > units:
                total = f"{name} + specific = {any_ + specific}" if specific else f"{name} = {any_}"
                raise ValueError(f"{where}.{total}: must be at most {limit}")

    @property
    def by_resource(self) -> bool:
        """Whether what there is has names: several resources, or nodes that have some."""
        return self.one_kind is None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The names of the resources; `servers` where there is one kind without a name."""
        if self.nodes is not None:
            return tuple(dict.fromkeys(kind for one in self.nodes for kind in one.has))
        return ("servers",) if self.resources is None else tuple(self.resources)

    @property
    def _there(self) -> tuple[int, ...]:
        """How much there is of every resource, as the file has it."""
        if self.nodes is not None:
            each = (tuple(one.count * n for n in by_kind(one.has, self.kinds)) for one in self.nodes)
            return tuple(map(sum, zip(*each, strict=True)))
        return (self.one_kind or 0,) if self.resources is None else tuple(self.resources.values())

    @cached_property
    def unit_sizes(self) -> tuple[int, ...]:
        """What one unit of every resource is: 1, or of a size with a unit of memory the bytes that all amounts of it in
        the model are whole multiples of, as many as possible."""
        return unit_sizes(self)

    @property
    def units(self) -> tuple[int, ...]:
        """How much there is of every resource."""
        return self.in_units(self._there)

    def in_units(self, amounts: tuple[int, ...]) -> tuple[int, ...]:
        """Amounts of every resource as whole numbers of its units."""
        return tuple(int(amount) // unit for amount, unit in zip(amounts, self.unit_sizes, strict=True))

    @property
    def servers(self) -> int:
        """Units of all resources together: the length of a workload vector."""
        return sum(self.units)

    def task_demand(self, job_class: JobClass) -> tuple[int, ...]:
        """Units that one task of a job takes, of every resource; a job without tasks is one."""
        return self.in_units(by_kind(job_class.any_units, self.kinds))

    def demand(self, job_class: JobClass) -> tuple[int, ...]:
        """Units that may be any, of every resource, of all tasks."""
        return tuple(job_class.tasks * n for n in self.task_demand(job_class))

    def specific(self, job_class: JobClass) -> tuple[int, ...]:
        """Units that are particular ones, of every resource."""
        return self.in_units(by_kind(job_class.specific, self.kinds))

    def need(self, job_class: JobClass) -> int:
        """Units of all resources together that a job takes."""
        return sum(self.demand(job_class)) + sum(self.specific(job_class))

    @property
    def size(self) -> str:
        """The cluster in words: 20 servers; 64 cpu, 8 gpu."""
        return ", ".join(f"{units} {kind}" for kind, units in zip(self.kinds, self._there, strict=True))

    @property
    def has_priorities(self) -> bool:
        """Whether some jobs go before others that came earlier."""
        return len({c.priority for c in self.classes}) > 1

    @property
    def has_rules(self) -> bool:
        """Whether priorities or quotas say who may start, besides the policy."""
        return self.has_priorities or bool(self.quotas)

    @property
    def pooled(self) -> Model:
        """The same jobs where every unit of a resource is as good as another: without nodes, priorities and quotas, and
        with sizes as numbers of units."""
        return self._pooled or self

    @cached_property
    def _pooled(self) -> Model | None:
        """None where it is the model itself: models are compared by what they keep, too."""
        if self.nodes is None and not self.has_rules and all(unit == 1 for unit in self.unit_sizes):
            return None
        return Model.model_validate(pooled_document(self), context={"time_unit": self.time_unit})

    @property
    def order(self) -> str:
        """The discipline: `fcfs`, strictly in turn; `reserving`, where servers a job does not take are free for the
        jobs behind it; `random`, where a job's servers are drawn at random, whatever their work."""
        return self.discipline or "fcfs"

    def with_discipline(self, discipline: str | None) -> Model:
        """The same model under another discipline; None leaves it as it is."""
        if discipline is None or discipline == self.order:
            return self
        return Model.model_validate(self.to_dict() | {"discipline": discipline})

    @cached_property
    def plain(self) -> bool:
        """One kind of server, any of which will do, in turn: the model of the paper's first sections."""
        any_will_do = not any(any(self.specific(c)) for c in self.classes)
        return len(self.kinds) == 1 and any_will_do and self.order != "random"

    @property
    def label(self) -> str:
        return self.name or "model"

    @property
    def rate(self) -> float | None:
        """Jobs per unit of time, if the model says."""
        streams = [c.arrivals.jobs_rate for c in self.classes if c.arrivals is not None]
        together = math.fsum(rate for rate in streams if rate is not None) if streams else None
        return together if self.arrivals.jobs_rate is None else self.arrivals.jobs_rate

    @cached_property
    def works(self) -> tuple[float, ...]:
        """E[need x service] of every resource: unit time that one job takes."""
        taken = [[a + b for a, b in zip(self.demand(c), self.specific(c), strict=True)] for c in self.classes]
        return tuple(
            math.fsum(
                c.probability * units[kind] * c.service.mean for c, units in zip(self.classes, taken, strict=True)
            )
            for kind in range(len(self.kinds))
        )

    @cached_property
    def bottleneck(self) -> int:
        """Which resource would be used up first, were nothing ever blocked."""
        return max(range(len(self.kinds)), key=lambda kind: self.works[kind] / self.units[kind])

    @property
    def work(self) -> float:
        """E[need x service]: server time that one job takes, of the bottleneck."""
        return self.works[self.bottleneck]

    @cached_property
    def mean_service(self) -> float:
        return math.fsum(c.probability * c.service.mean for c in self.classes)

    @property
    def ideal(self) -> float:
        """The threshold if no server were ever blocked: servers / E[need x service], of the bottleneck."""
        return self.units[self.bottleneck] / self.work

    @cached_property
    def highest_moment(self) -> float:
        return min(c.service.highest_moment for c in self.classes)

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of the content: servers, arrivals and classes, not the model's name."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"name", "description"})
        # What only some models have is left out where there is none.
        content = {key: value for key, value in content.items() if key not in OPTIONAL or value}
        for table in [one for key in ("classes", "nodes", "quotas", "scenario") for one in content.get(key) or ()]:
            for key in OPTIONAL_WITHIN:
                if key in table and not table[key]:
                    del table[key]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_rate(self, rate: float) -> Model:
        """The same model with another arrival rate: arrivals come faster or slower, in the same pattern."""
        if not SMALLEST <= rate <= LARGEST:
            raise ModelError(f"arrivals.rate {rate:g}: must be a finite number above 0")
        # Nothing else depends on it: phases and slots are kept as the file has them.
        return self.model_copy(update={"arrivals": self.arrivals.model_copy(update={"rate": float(rate)})})

    def identity(self) -> dict[str, Any]:
        """What a result says of its model: name, content hash and definition."""
        return {"name": self.label, "hash": self.hash, "definition": self.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `loynes.load` reads back to an equal model."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def _repr_html_(self) -> str:
        """For notebooks: the cluster, its arrivals, and a row a class."""
        columns = ("class", "need", "probability", "service", "mean", "cv")
        rows = [
            (c.label, c.need_text, f"{c.probability:.6g}", c.service.law, f"{c.service.mean:.6g}",
             f"{c.service.variation:.4g}")
            for c in self.classes
        ]  # fmt: skip
        own = [c.label for c in self.classes if c.arrivals is not None]
        process = "a stream for every class" if own else self.arrivals.process
        rate = "no rate said" if self.rate is None else f"{self.rate:.6g} jobs per unit of time"
        facts = (
            f"{self.size}, {self.order}; arrivals: {process}, {rate}; without blocking it could take {self.ideal:.6g}"
        )
        return notebook.framed(
            notebook.paragraph(facts, lead=f"{self.label}:"),
            notebook.table("", columns, rows),
            *([notebook.paragraph(self.description, "aside")] if self.description else []),
        )

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.to_dict())


def _with_names(classes: tuple[JobClass, ...]) -> tuple[JobClass, ...]:
    """Give unnamed classes a name after their need; refuse names given twice."""
    given = [c.name for c in classes if c.name is not None]
    twice = sorted(name for name, times in Counter(given).items() if times > 1)
    if twice:
        raise ValueError(f"classes: names must differ, {twice[0]!r} is used twice")
    taken, numbers = set(given), Counter[str]()  # the last number that was tried after a label
    named = []
    for job_class in classes:
        if job_class.name is None:
            label = name = job_class.label
            n = max(numbers[label], 1)
            while name in taken:
                n += 1
                name = f"{label}-{n}"
            numbers[label] = n
            taken.add(name)
            job_class = job_class.model_copy(update={"name": name})
        named.append(job_class)
    return tuple(named)
