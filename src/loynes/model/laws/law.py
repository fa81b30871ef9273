"""What every service law says of itself, and the register of all laws by the name they have in model files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from loynes.arrays import Array
from loynes.model.fields import Record
from loynes.model.laws.phases import Phases
from loynes.model.laws.recipes import Recipe

# Name in model files -> law, in the order of definition. Filled by the definition of a law, wherever that is.
LAWS: dict[str, type[Law]] = {}


class Law(Record):
    """A positive random variable; a subclass carries its parameters as fields.

    A subclass with a field `law: Literal["name"] = "name"` is a law that model files can name, from its definition on.
    It must say `mean` and `variance` (as fields or properties) and `cdf`, and how it is drawn: `quantile`, for a table
    of quantiles, or a `recipe`. All else below has a default, which is right for a law in one piece with a density
    without corners and an exponential tail.
    """

    if TYPE_CHECKING:  # fields in some laws, derived in others

        @property
        def law(self) -> str: ...

        @property
        def mean(self) -> float: ...

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        if "law" not in cls.model_fields:
            return
        name = cls.model_fields["law"].default
        known = LAWS.get(name)
        if known is not None and issubclass(cls, known):
            return
        # A notebook's cell, run again, defines the same class anew.
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"law {name!r}: is the name of {known.__module__}.{known.__qualname__} already")
        LAWS[name] = cls

    @property
    @abstractmethod
    def variance(self) -> float: ...

    @property
    def highest_moment(self) -> float:
        """The largest k with E[X^k] finite, infinity if all are."""
        return math.inf

    @property
    def light_tail(self) -> bool:
        """Whether E[exp(theta X)] is finite for some theta > 0."""
        return True

    @property
    def variation(self) -> float:
        """Coefficient of variation: standard deviation over mean."""
        return math.sqrt(self.variance) / self.mean

    @property
    def edges(self) -> tuple[float, ...]:
        """Where the distribution function jumps or bends: integrals over it are cut there."""
        return ()

    @property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        """Weights and laws this one is a mixture of; none where it is drawn in one piece."""
        return ()

    @abstractmethod
    def cdf(self, x: ArrayLike) -> Array:
        """P(X <= x), 0 for negative x."""

    def above(self, x: ArrayLike) -> Array:
        """P(X > x); laws with a tail keep its digits where it is small."""
        return np.asarray(1.0 - self.cdf(x))

    def recipe(self) -> Recipe:
        """How a law in one piece is drawn: from a table of its quantiles, unless it has a formula."""
        return Recipe("table", tabulated=self)

    def quantile(self, below: Array, above: Array) -> Array:
        """x with P(X <= x) = below and P(X > x) = above = 1 - below: of two numbers the smaller has more digits."""
        raise TypeError(f"{type(self).__name__} is not drawn from a table")

    def log_quantile(self, logit: Array) -> Array:
        """log Q(u) at u = 1/(1+exp(-logit)), ascending logits: what is tabulated.

        Define it in place of `quantile` where the logarithm is known more directly than the quantile itself.
        """
        from scipy.special import expit

        return np.log(self.quantile(expit(logit), expit(-logit)))

    def as_phases(self) -> Phases | None:
        """The same law as the time until a small Markov chain stops; None if it is not of phase type."""
        return None

    @property
    def phase_count(self) -> int:
        """How many phases `as_phases` has at least, known before they are made: their rates are a matrix."""
        return sum(part.phase_count for _, part in self.parts) or 1

    def within(self, low: float, high: float) -> Law | None:
        """This law on the condition that it lies in [low, high], where that is a law with a name; None elsewhere.

        Called only for laws in one piece, with some probability in that interval.
        """
        return None


class Composed(Law):
    """A law that is known through its parts."""

    @property
    def variance(self) -> float:
        mean = self.mean
        return math.fsum(w * (x.variance + (x.mean - mean) ** 2) for w, x in self.parts)

    @property
    def highest_moment(self) -> float:
        return min(x.highest_moment for _, x in self.parts)

    @property
    def light_tail(self) -> bool:
        return all(x.light_tail for _, x in self.parts)

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple(edge for _, law in self.parts for edge in law.edges)

    def cdf(self, x: ArrayLike) -> Array:
        return sum((w * y.cdf(x) for w, y in self.parts), np.zeros(()))

    def above(self, x: ArrayLike) -> Array:
        return sum((w * y.above(x) for w, y in self.parts), np.zeros(()))

    def as_phases(self) -> Phases | None:
        """The parts' chains side by side, each begun with its part's weight."""
        return Phases.mixed([(weight, part.as_phases()) for weight, part in self.parts])


def leaves(law: Law, weight: float = 1.0) -> Iterator[tuple[float, Law]]:
    """A law as weighted parts that are not mixtures themselves."""
    if not law.parts:
        yield weight, law
    for part, inner in law.parts:
        yield from leaves(inner, weight * part)


def at_least_zero(x: ArrayLike) -> Array:
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)
