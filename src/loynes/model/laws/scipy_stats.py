"""Any law of scipy.stats as a service law: kept as its name and parameters, rebuilt when used.

scipy.stats says moments, distribution function and quantiles; whether the tail is exponential, and how many moments
are finite, it does not say, so both are found from its survival function far out (`loynes.model.laws.tails`).
"""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Annotated, Any, Literal, Protocol, TypeGuard

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, Strict, model_validator

from loynes.arrays import Array
from loynes.errors import ModelError
from loynes.model.fields import LARGEST, SMALLEST
from loynes.model.laws.bounded import Uniform
from loynes.model.laws.empirical import MOST_VALUES, Empirical
from loynes.model.laws.law import Law
from loynes.model.laws.tails import Tail, tail_of
from loynes.model.laws.truncated import Shifted

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]

# What may be left out of a discrete law's support.
LEFT_OUT = 1e-15
# How far a quantile may be off, relatively, before its neighbours are trusted more.
CLOSE = 1e-8
# Logits: enough to see a slope to go on with where scipy.stats has no quantiles.
LEVER = 1.0


class Frozen(Protocol):
    """What a law of scipy.stats with its parameters has, of which loynes reads these."""

    dist: Any
    args: tuple[Any, ...]
    kwds: dict[str, Any]


def is_frozen(value: object) -> TypeGuard[Frozen]:
    """Whether this is a law of scipy.stats with its parameters, without loading scipy to find out."""
    return all(hasattr(value, name) for name in ("dist", "args", "kwds")) and hasattr(value, "ppf")


def from_scipy(frozen: object) -> Scipy:
    """The service law of a frozen scipy.stats law, such as scipy.stats.gamma(2.0, scale=3.0)."""
    if not is_frozen(frozen):
        raise ModelError(f"a {type(frozen).__name__} is no frozen law of scipy.stats, such as scipy.stats.gamma(2.0)")
    name = str(getattr(frozen.dist, "name", "") or type(frozen.dist).__name__)
    known = _family(name)
    if type(known) is not type(frozen.dist):
        raise ModelError(f"scipy law {name!r}: is not one of scipy.stats by its name, so it cannot be written down")
    try:
        args = tuple(float(x) for x in frozen.args)
        keywords = {key: float(x) for key, x in frozen.kwds.items()}
    except (TypeError, ValueError):
        raise ModelError(f"scipy law {name!r}: its parameters must be single numbers") from None
    try:
        return Scipy(name=name, args=args, keywords=keywords)
    except ValueError as error:  # pydantic's lists what it was given over several lines
        details = error.errors()[0] if hasattr(error, "errors") else {"msg": str(error)}
        raise ModelError(str(details["msg"]).removeprefix("Value error, ")) from None


def _family(name: str) -> Any:
    from scipy import stats

    family = getattr(stats, name, None)
    return family if isinstance(family, stats.rv_continuous | stats.rv_discrete) else None


class Scipy(Law):
    """A law of scipy.stats: its name, its shape parameters in order, and loc and scale by name."""

    law: Literal["scipy"] = "scipy"
    name: Annotated[str, Strict()]
    args: tuple[Number, ...] = ()
    keywords: dict[str, Number] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sound(self) -> Scipy:
        family = _family(self.name)
        if family is None:
            raise ValueError(f"name = {self.name!r} is not a continuous or discrete law of scipy.stats")
        shapes, keywords = self._in_order(family)
        object.__setattr__(self, "args", shapes)
        object.__setattr__(self, "keywords", keywords)
        what = f"scipy law {self.name!r}"
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                low, _ = self._support
                mean = self.mean
            except (TypeError, ValueError) as error:
                raise ValueError(f"{what}: {str(error).splitlines()[0]}") from None
        if math.isnan(low):
            raise ValueError(f"{what}: scipy.stats refuses these parameters")
        if low < 0:
            raise ValueError(f"{what}: its values begin at {low:g}, must be at least 0")
        if not SMALLEST <= mean <= LARGEST:
            raise ValueError(f"{what}: its mean is {mean:g}, must be finite and above 0")
        if self._discrete and self._too_many:
            raise ValueError(f"{what}: has more than {MOST_VALUES} values; a continuous law may do instead")
        return self

    def _in_order(self, family: Any) -> tuple[tuple[float, ...], dict[str, float]]:
        """Shapes as a list, loc and scale by name, both left out where they say nothing."""
        names = [name.strip() for name in family.shapes.split(",")] if family.shapes else []
        names += ["loc"] if _is_discrete(family) else ["loc", "scale"]
        given = dict(zip(names, self.args, strict=False))
        for key, value in self.keywords.items():
            if key not in names:
                raise ValueError(f"keywords.{key}: scipy law {self.name!r} takes {', '.join(names)}")
            if key in given:
                raise ValueError(f"keywords.{key}: is among args already")
            given[key] = value
        missing = [name for name in names[: family.numargs] if name not in given]
        if missing or len(self.args) > len(names):
            raise ValueError(f"args: scipy law {self.name!r} takes {', '.join(names)}, got {len(self.args)} of them")
        default = {"loc": 0.0, "scale": 1.0}
        kept = {key: given[key] for key in default if given.get(key, default[key]) != default[key]}
        return tuple(given[name] for name in names[: family.numargs]), kept

    def __hash__(self) -> int:
        return hash((self.name, self.args, tuple(sorted(self.keywords.items()))))

    @cached_property
    def _frozen(self) -> Any:
        return _family(self.name)(*self.args, **self.keywords)

    @property
    def _discrete(self) -> bool:
        return _is_discrete(self._frozen.dist)

    @cached_property
    def _support(self) -> tuple[float, float]:
        low, high = self._frozen.support()
        return float(low), float(high)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            mean, variance = (float(x) for x in self._frozen.stats(moments="mv"))
        return mean, variance if math.isfinite(variance) else math.inf

    @cached_property
    def _last(self) -> float:
        """The last value of a discrete law that is drawn, by bisection: some laws' own search runs out of memory."""
        low, high = self._support
        if high - low < MOST_VALUES:
            return high
        low, high = low - 1.0, low + MOST_VALUES - 1.0
        while high - low > 1:
            middle = math.floor(0.5 * (low + high))
            low, high = (middle, high) if float(self._frozen.sf(middle)) > LEFT_OUT else (low, middle)
        return high

    @property
    def _too_many(self) -> bool:
        """Whether more than rounding is left of a discrete law after a million values."""
        low, high = self._support
        return high - low >= MOST_VALUES and float(self._frozen.sf(low + MOST_VALUES - 1.0)) > 1e-12

    @property
    def mean(self) -> float:
        return self._moments[0]

    @property
    def variance(self) -> float:
        return self._moments[1]

    @cached_property
    def _tail(self) -> Tail:
        if math.isfinite(self._support[1]):
            return Tail(True, math.inf)
        if self.name in KNOWN_TAILS:
            light = KNOWN_TAILS[self.name]
            if light is not None or not self.args:
                return Tail(bool(light), math.inf)
            return Tail(self.args[0] >= 1.0, math.inf)
        return tail_of(self._frozen, self._discrete, math.isfinite(self.variance))

    @property
    def highest_moment(self) -> float:
        return self._tail.highest_moment

    @property
    def light_tail(self) -> bool:
        return self._tail.light

    @property
    def edges(self) -> tuple[float, ...]:
        inner = tuple(edge for _, part in self.parts for edge in part.edges)
        return tuple(sorted({*inner, *(end for end in self._support if math.isfinite(end))}))

    @cached_property
    def parts(self) -> tuple[tuple[float, Law], ...]:
        low, high = self._support
        if self._discrete:
            values = np.arange(low, self._last + 1.0)
            mass = self._frozen.pmf(values)
            drawn = mass >= SMALLEST
            return ((1.0, Empirical(values=tuple(values[drawn].tolist()), weights=tuple(mass[drawn].tolist()))),)
        if self.name in CORNERS:
            return self._straight_pieces([low + c * (high - low) for c in self.args], low, high)
        loc = self.keywords.get("loc", 0.0)
        if loc > 0 and low >= loc:
            rest = {key: value for key, value in self.keywords.items() if key != "loc"}
            return ((1.0, Shifted(of=Scipy(name=self.name, args=self.args, keywords=rest), by=loc)),)
        return ()

    def _straight_pieces(self, corners: list[float], low: float, high: float) -> tuple[tuple[float, Law], ...]:
        """A density of straight lines: up, level, down. Its quantile function has corners that no table may cross."""
        up, down = corners[0], corners[-1]
        rises, falls = float(self.cdf(up)), float(self._frozen.sf(down))
        pieces: list[tuple[float, Law]] = []
        if rises > 0:
            pieces.append((rises, Scipy(name="powerlaw", args=(2.0,), keywords={"loc": low, "scale": up - low})))
        if 1.0 - rises - falls > 1e-15:
            pieces.append((1.0 - rises - falls, Uniform(low=up, high=down)))
        if falls > 0:
            pieces.append((falls, Scipy(name="beta", args=(1.0, 2.0), keywords={"loc": down, "scale": high - down})))
        return tuple(pieces)

    def cdf(self, x: ArrayLike) -> Array:
        return np.asarray(self._frozen.cdf(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    def above(self, x: ArrayLike) -> Array:
        return np.asarray(self._frozen.sf(np.asarray(x, dtype=np.float64)), dtype=np.float64)

    def log_quantile(self, logit: Array) -> Array:
        """From scipy.stats, checked against its distribution function; where they disagree (many laws lose the far
        tail to 1 - u), the line through the last ones that agree goes on, up to the support's end."""
        from scipy.special import expit

        frozen, left = self._frozen, logit < 0
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            part = expit(-np.abs(logit))
            x = np.empty(len(logit))
            x[left], x[~left] = frozen.ppf(part[left]), frozen.isf(part[~left])
            value = np.log(x)
            good = np.isfinite(value)
            for sign, where, tail in ((1.0, left, frozen.cdf), (-1.0, ~left, frozen.sf)):
                below, above = (tail(x[where] * (1.0 + sign * s * CLOSE)) / part[where] for s in (-1.0, 1.0))
                good[where] &= (below <= 1.0 + 1e-9) & (above >= 1.0 - 1e-9)
        # In order, seen from the middle: a slip far out must not cast doubt on the rest.
        middle = int(np.argmin(np.abs(logit)))
        good[middle:] &= value[middle:] >= np.maximum.accumulate(np.where(good, value, -np.inf)[middle:])
        good[:middle] &= (value <= np.minimum.accumulate(np.where(good, value, np.inf)[::-1])[::-1])[:middle]
        if np.count_nonzero(good) < min(2, len(good)):
            raise ModelError(f"scipy law {self.name!r}: scipy.stats has no usable quantiles for these parameters")
        with np.errstate(divide="ignore"):
            return np.clip(_continued(logit, value, good), *np.log(self._support))


def _continued(logit: Array, value: Array, good: np.ndarray[Any, np.dtype[np.bool_]]) -> Array:
    """Values at the good places; lines between them, and beyond the first and the last."""
    at, known = logit[good], value[good]
    if good.all():
        return value
    result = np.where(good, value, np.interp(logit, at, known))
    for beyond, end, other in (
        (logit < at[0], 0, int(min(np.searchsorted(at, at[0] + LEVER), len(at) - 1))),
        (logit > at[-1], len(at) - 1, int(min(np.searchsorted(at, at[-1] - LEVER), len(at) - 2))),
    ):
        slope = (known[other] - known[end]) / (at[other] - at[end])
        result[beyond] = known[end] + slope * (logit[beyond] - at[end])
    return result


def _is_discrete(family: Any) -> bool:
    from scipy import stats

    return isinstance(family, stats.rv_discrete)


# Laws whose tail is on record; None: exponential or lighter exactly where the first shape is at least 1.
KNOWN_TAILS: dict[str, bool | None] = {
    "erlang": True,
    "expon": True,
    "gamma": True,
    "invgauss": True,
    "lognorm": False,
    "weibull_min": None,
}
CORNERS = ("triang", "trapezoid")
