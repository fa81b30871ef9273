"""Added from outside, in one place each: a metric, and a command. (A law: exact/test_outside_law.py; a policy:
exact/test_own_policies.py.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

import loynes
from loynes.cli.app import main
from loynes.estimate import Estimate
from loynes.estimators.metrics import Metric, register, unregister
from loynes.execution.context import Context
from loynes.questions.asking import question as questions_module
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.options import Option
from loynes.questions.asking.question import LoadedModel, Question
from loynes.results import base
from loynes.results.base import Result, SavedModel
from loynes.results.table import Table

MODEL = str(Path(__file__).parents[1] / "recorded" / "models" / "small.toml")


@pytest.fixture
def _tail_ratio() -> Iterator[None]:
    """How many times longer than the median response its 99th percentile is: never falls as load grows, let us say."""

    def get(waits: Any) -> Estimate:
        return waits.response.p99.scaled(1.0 / waits.response.p50.estimate)

    register(Metric("response.spread", "p99 over median response", "share", get, 1))
    yield
    unregister("response.spread")


@pytest.mark.usefixtures("_tail_ratio")
def test_a_metric() -> None:
    """Registered, it is in tidy tables, data frames, sweeps' plots and pages, and objectives of plans."""
    import matplotlib

    matplotlib.use("Agg")
    result = loynes.evaluate(MODEL, load=0.5, precision=0.3)
    waits = result.overall.response
    value = waits.p99.estimate / waits.p50.estimate
    frame = result.to_pandas()
    row = frame[(frame["class"] == "all jobs") & (frame["metric"] == "response.spread")]
    assert row["estimate"].item() == pytest.approx(value)
    swept = loynes.sweep(MODEL, loads=[0.3, 0.6], samples=3000)
    assert swept.plot(metric="response.spread").get_ylabel() == "p99 over median response"
    bound = 0.9
    with pytest.raises(loynes.UsageError, match=r"must be written with <="):
        loynes.plan(MODEL, rate=1.0, slo=f"spread(response) >= {bound}")
    plan = loynes.plan(MODEL, rate=0.4, slo="p50(response) <= 100", most=8)
    assert any(metric == "response.spread" for _, metric, *_ in plan.meets.tidy.rows)


@dataclass(frozen=True, kw_only=True, repr=False)
class Doubled(Result):
    """Twice the ideal rate: an answer that nobody needs."""

    command: ClassVar[str] = "double"

    model: SavedModel
    twice: Estimate
    times: int

    @property
    def title(self) -> str:
        return f"{self.model.label}: {self.times} times the ideal"

    @property
    def headline(self) -> str:
        return str(self.twice)

    @property
    def summary(self) -> Table:
        return Table(self.title, ("quantity", "value"), (("rate", self.twice),))


class Double(Question):
    """Some times the ideal rate of a model."""

    command: ClassVar[str] = "double"
    examples: ClassVar[tuple[str, ...]] = ("loynes double one-or-all --times 3",)

    model: LoadedModel
    times: Annotated[int, Field(ge=2, le=9), Option("How many times.", "N")] = 2

    def answer(self, context: Context) -> Doubled:
        context.progress(0.5, "half of it")
        return Doubled(model=self.model, twice=Estimate.exact(self.times * self.model.ideal), times=self.times)


double = Ask(Double, Doubled)


@pytest.fixture(autouse=True, scope="module")
def _leave_no_trace() -> Iterator[None]:
    yield
    questions_module._QUESTIONS.pop("double")
    base._RESULTS.pop("double")


def run(*line: str) -> int:
    try:
        main(list(line))
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def test_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A question and its result, two classes: Python, command line, help, JSON, files, run folder, resume, page."""
    result = double(MODEL, times=3)
    assert isinstance(result, Doubled)
    assert result.twice.estimate == 3 * loynes.load(MODEL).ideal
    assert run("double", MODEL, "--times", "3", "--json") == 0
    assert Doubled.from_dict(json.loads(capsys.readouterr().out)) == result
    assert run("double", MODEL, "--times", "1") == 2
    assert "times 1: must be at least 2" in capsys.readouterr().err
    for ending in ("json", "csv", "parquet", "html"):
        assert run("double", MODEL, "--times", "3", "-o", str(tmp_path / f"d.{ending}")) == 0
    assert loynes.read_result(tmp_path / "d.json") == result
    assert "loynes double model.toml --times 3" in (tmp_path / "d.html").read_text()
    assert run("double", MODEL, "--times", "3", "-o", str(tmp_path / "run")) == 0
    assert loynes.resume(tmp_path / "run") == result
    capsys.readouterr()
    assert run("double", "--help") == 0
    shown = capsys.readouterr().out
    assert "How many times." in shown
    assert "loynes double one-or-all --times 3" in shown
    assert run("--help") == 0
    assert "double" in capsys.readouterr().out
