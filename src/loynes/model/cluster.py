"""A model: servers, the classes of jobs that share them, and how jobs arrive."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated, Any

from pydantic import Field, Strict, model_validator

from loynes.model.arrivals import Poisson
from loynes.model.fields import Count, Probability, Record, check_sum_to_one
from loynes.model.laws import ServiceLaw

# One 64-bit word a server and replica: beyond this a dense vector no longer fits anywhere sensible.
MOST_SERVERS = 1_000_000

Text = Annotated[str, Strict()]


class JobClass(Record):
    """Jobs that need the same number of servers and draw their service from the same law."""

    name: Annotated[Text, Field(min_length=1)] | None = None
    need: Count
    probability: Probability
    service: ServiceLaw

    @property
    def label(self) -> str:
        """The name; inside a model there always is one."""
        return self.name or f"need-{self.need}"


class Model(Record):
    """A cluster of identical servers under first come, first served, and its workload."""

    name: Text | None = None
    description: Text | None = None
    servers: Annotated[Count, Field(le=MOST_SERVERS)]
    arrivals: Poisson = Poisson()
    classes: tuple[JobClass, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> Model:
        for position, job_class in enumerate(self.classes):
            if job_class.need > self.servers:
                raise ValueError(
                    f"classes[{position}].need = {job_class.need}: must be at most servers = {self.servers}"
                )
        check_sum_to_one("classes: probabilities", tuple(c.probability for c in self.classes))
        named = _with_names(self.classes)
        if named != self.classes:
            object.__setattr__(self, "classes", named)
        return self

    @property
    def label(self) -> str:
        return self.name or "model"

    @property
    def rate(self) -> float | None:
        return self.arrivals.rate

    @property
    def work(self) -> float:
        """E[need x service]: server time that one job takes."""
        return math.fsum(c.probability * c.need * c.service.mean for c in self.classes)

    @property
    def mean_service(self) -> float:
        return math.fsum(c.probability * c.service.mean for c in self.classes)

    @property
    def ideal(self) -> float:
        """The threshold if no server were ever blocked: servers / E[need x service]."""
        return self.servers / self.work

    @property
    def highest_moment(self) -> float:
        return min(c.service.highest_moment for c in self.classes)

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of the content: servers, arrivals and classes, not the model's name."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"name", "description"})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def with_rate(self, rate: float) -> Model:
        """The same model with another arrival rate."""
        return Model.model_validate(self.to_dict() | {"arrivals": {"process": "poisson", "rate": float(rate)}})

    def identity(self) -> dict[str, Any]:
        """What a result says of its model: name, content hash and definition."""
        return {"name": self.label, "hash": self.hash, "definition": self.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `loynes.load` reads back to an equal model."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.to_dict())


def _with_names(classes: tuple[JobClass, ...]) -> tuple[JobClass, ...]:
    """Give unnamed classes a name after their need; refuse names given twice."""
    given = [c.name for c in classes if c.name is not None]
    twice = sorted({n for n in given if given.count(n) > 1})
    if twice:
        raise ValueError(f"classes: names must differ, {twice[0]!r} is used twice")
    taken = set(given)
    named = []
    for job_class in classes:
        if job_class.name is None:
            name, n = job_class.label, 1
            while name in taken:
                n += 1
                name = f"{job_class.label}-{n}"
            taken.add(name)
            job_class = job_class.model_copy(update={"name": name})
        named.append(job_class)
    return tuple(named)
