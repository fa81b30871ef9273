"""A law defined outside the package, by one class: read from plain data, drawn from its quantiles, evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

import loynes
from loynes.arrays import Array
from loynes.errors import ModelError
from loynes.inputs.jobs import draw, services
from loynes.inputs.tables import TABLE, job_table
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.reference import BLOCK
from loynes.model import Mixture, Model, laws
from loynes.model.fields import NonNegative, Positive
from support import SURE, assert_holds, single

TRIANGULAR = {"law": "triangular", "low": 0.5, "mode": 1.0, "high": 3.0}


@pytest.fixture(autouse=True, scope="module")
def triangular() -> Iterator[type[laws.Law]]:
    """The class is all there is to it; taken out of the register again, so that other tests do not meet it."""

    class Triangular(laws.Law):
        """A density that rises from low to its mode and falls to high, in straight lines."""

        law: Literal["triangular"] = "triangular"
        low: NonNegative
        mode: Positive
        high: Positive

        @property
        def mean(self) -> float:
            return (self.low + self.mode + self.high) / 3.0

        @property
        def variance(self) -> float:
            a, c, b = self.low, self.mode, self.high
            return (a * a + b * b + c * c - a * b - a * c - b * c) / 18.0

        def cdf(self, x: ArrayLike) -> Array:
            x = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
            rising = (x - self.low) ** 2 / ((self.high - self.low) * (self.mode - self.low))
            falling = 1.0 - (self.high - x) ** 2 / ((self.high - self.low) * (self.high - self.mode))
            return np.where(x < self.mode, rising, falling)

        def quantile(self, below: Array, above: Array) -> Array:
            width = self.high - self.low
            rising = self.low + np.sqrt(below * width * (self.mode - self.low))
            falling = self.high - np.sqrt(above * width * (self.high - self.mode))
            return np.where(below < (self.mode - self.low) / width, rising, falling)

    yield Triangular
    del laws.LAWS["triangular"]


def test_is_read_and_written_as_every_law_is(triangular: type[laws.Law]) -> None:
    model = single(TRIANGULAR)
    assert isinstance(model.classes[0].service, triangular)
    assert loynes.load(model.to_dict()) == model
    assert model.to_dict()["classes"][0]["service"] == TRIANGULAR
    mixed = single({"law": "mixture", "weights": [0.5, 0.5], "laws": [TRIANGULAR, {"law": "exponential", "mean": 1.0}]})
    assert isinstance(mixed.classes[0].service, Mixture)
    assert mixed.classes[0].service.mean == 0.5 * (1.5 + 1.0)
    with pytest.raises(ModelError, match=r"class 'only': service.mode = -1.0: must be greater than 0"):
        single(TRIANGULAR | {"mode": -1.0})
    with pytest.raises(ModelError, match=r"class 'only': service.law = 'triangle': must be one of .*, triangular"):
        single(TRIANGULAR | {"law": "triangle"})


def test_is_in_the_schema_for_editors() -> None:
    schema = Model.model_json_schema()
    assert schema["$defs"]["Triangular"]["properties"]["law"]["const"] == "triangular"
    for place in (
        schema["$defs"]["JobClass"]["properties"]["service"],
        schema["$defs"]["Truncated"]["properties"]["of"],
    ):
        assert place["discriminator"]["mapping"]["triangular"] == "#/$defs/Triangular"


def test_a_name_is_given_once() -> None:
    with pytest.raises(TypeError, match=r"law 'triangular': is the name of .*Triangular already"):

        class Another(laws.Law):
            law: Literal["triangular"] = "triangular"


def test_services_are_drawn_from_its_quantiles(triangular: type[laws.Law]) -> None:
    """20,000 services against the distribution function, by Kolmogorov and Smirnov: false alarms 1e-6 (SURE)."""
    table = job_table(single(TRIANGULAR), 0.5)
    assert table.recipe.tolist() == [TABLE]
    drawn = draw(table, 7, 0, 0, np.arange(20_000))
    law = triangular.model_validate(TRIANGULAR)
    assert stats.kstest(drawn.service, law.cdf).pvalue > 1 - SURE
    block = new_block(table)
    draw_block(table, np.uint64(7), 0, 0, 0, block, 0)
    np.testing.assert_array_equal(block.service, drawn.service[:BLOCK])
    # All quantiles: off by no more than interpolation costs where the density has its corner.
    u = np.linspace(0.001, 0.999, 999)
    np.testing.assert_allclose(law.cdf(services(table, np.zeros(len(u), np.int64), u)), u, atol=1e-5)


def test_is_evaluated() -> None:
    """M/G/1: the exact mean wait (Pollaczek and Khinchine) lies in the interval."""
    model = single(TRIANGULAR).with_rate(0.4)
    law = model.classes[0].service
    exact = 0.4 * (law.variance + law.mean**2) / (2.0 * (1.0 - 0.4 * law.mean))
    found = loynes.evaluate(model, method="forward", seed=3, confidence=SURE, precision=0.05)
    assert_holds(exact, found.overall.wait.mean, 0.06)
