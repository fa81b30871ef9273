"""A class of jobs: what each of them needs, how often they come, how long they run, and who goes first."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from loynes.model.arrivals import Single
from loynes.model.fields import Count, Probability, Record, Whole
from loynes.model.laws import ServiceLaw
from loynes.model.nodes import Names
from loynes.model.sizes import MOST_SERVERS, Text, Units, Written, in_words

# The probability of a class that does not say it, because its arrivals do.
UNSAID = -1.0
# Slurm's largest is the same; Kubernetes' is below.
LARGEST_PRIORITY = 2**32 - 1


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def _not_how_many(given: object) -> object:
    if isinstance(given, int):
        raise ValueError(f"{given}: must be names of [[nodes]] to run on; how many a job takes is `need`, or `tasks`")
    return given


class JobClass(Record):
    """Jobs that need the same servers (or units of several resources) and draw their service from the same law.

    `need` of them may be any; `specific` of them, besides, are particular ones, a uniformly random set for every job.
    A class has a probability, or arrivals of its own.

    On nodes a job is so many `tasks`, which start together and end together, and `need` is what one of them takes, on
    one node; `per_node` is how many of them may be on the same one. `nodes` (or a `partition`) names those that the
    class may run on. Jobs of a larger `priority` go first.
    """

    name: Annotated[Text, Field(min_length=1)] | None = None
    any_units: Units = Field(alias="need")
    specific: Units | None = None
    pieces: Count | None = Field(None, alias="tasks")
    per_node: Annotated[Count, Field(le=MOST_SERVERS)] | None = None
    nodes: Annotated[Names, BeforeValidator(_not_how_many)] | None = None
    partition: Names | None = None
    rank: Annotated[Whole, Field(le=LARGEST_PRIORITY)] | None = Field(None, alias="priority")
    probability: Probability = Field(UNSAID, json_schema_extra=_without_default)
    arrivals: Single | None = None
    service: ServiceLaw

    @property
    def label(self) -> str:
        """The name; inside a model there always is one."""
        return self.name or f"need-{self.need_text}"

    def __hash__(self) -> int:
        return hash((self.name, self.need_text, self.probability, self.service))

    @property
    def tasks(self) -> int:
        """How many pieces, that start together, a job is made of."""
        return self.pieces or 1

    @property
    def priority(self) -> int:
        """Larger goes first; 0 where it is not said."""
        return self.rank or 0

    @property
    def need(self) -> int:
        """How many servers a job takes, or units of all resources together, of all its tasks."""
        return self.tasks * (_total(self.any_units) + _total(self.specific))

    @property
    def need_text(self) -> str:
        """What a job takes, as tables show it: 4, 2+1s (one specific), cpu 4 gpu 1, 2 x gpu 4 (tasks)."""
        times = "" if self.tasks == 1 else f"{self.tasks} x "
        if not isinstance(self.any_units, dict) and not isinstance(self.specific, dict):
            return times + str(self.any_units) + (f"+{self.specific}s" if self.specific else "")
        specific = [f"{name} {n}s" for name, n in _named(self.specific).items() if n]
        return times + " ".join([*filter(None, [in_words(_named(self.any_units))]), *specific])


def _total(amount: Written) -> int:
    return sum(amount.values()) if isinstance(amount, dict) else amount or 0


def _named(amount: Written) -> dict[str, int]:
    return amount if isinstance(amount, dict) else {"servers": amount or 0}
