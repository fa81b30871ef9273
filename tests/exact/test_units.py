"""Times with units: read exactly, converted to the model's unit, shown in the unit that reads best."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import loynes
from loynes.cli.app import main
from loynes.errors import ModelError, UsageError
from loynes.estimate import Estimate
from loynes.model import load
from loynes.model.units import SECONDS, rate_in, rate_shown_in, seconds_of, shown_in, time_in, unit_named
from loynes.questions.answering.objectives import objectives_of
from loynes.questions.evaluate import Evaluate
from loynes.questions.simulate import Simulate
from loynes.results.quantity import Quantity


def cluster(unit: str | None = "hours", **more: Any) -> dict[str, Any]:
    """One class; a service of a quarter of an hour where texts are allowed."""
    said = {} if unit is None else {"time_unit": unit}
    service = more.pop("service", {"law": "exponential", "mean": "15 min" if unit else 0.25})
    return said | {"servers": 2, "classes": [{"name": "a", "need": 1, "probability": 1, "service": service}]} | more


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("4 min", 240), ("1h 30m", 5400), ("1h30m", 5400), ("1 hour, 30 minutes", 5400), ("2d", 172800),
     ("1.5 weeks", 907200), ("1 year", 31_536_000), ("250ms", 0.25), ("1-12:00:00", 129600), ("00:10:00", 600),
     ("1e2 s", 100), (".5 H", 1800), ("600", 600)],
)  # fmt: skip
def test_times_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "h", "4 parsecs", "-3 h", "4 4", "4 min x", "x" * 200, "1e999 h", "1:2", "nan", "4 month"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time"):
        seconds_of(text)


@given(value=st.floats(1e-6, 1e6), unit=st.sampled_from(list(SECONDS)))
def test_a_time_in_the_models_own_unit_is_the_number_that_was_written(value: float, unit: str) -> None:
    assert time_in(f"{value!r} {unit}", unit) == value
    assert time_in(repr(value), unit) == value
    assert rate_in(f"{value!r} per {unit.removesuffix('s')}", unit) == value


@given(value=st.floats(1e-3, 1e9), unit=st.sampled_from(list(SECONDS)))
def test_what_is_shown_is_the_same_time(value: float, unit: str) -> None:
    factor, name = shown_in(value, unit)
    assert math.isclose(value * factor * float(SECONDS[unit_named(name)]), value * float(SECONDS[unit]), rel_tol=1e-12)
    factor, name = rate_shown_in(value, unit)
    per = float(SECONDS[unit_named(name)])
    assert math.isclose(value * factor / per, value / float(SECONDS[unit]), rel_tol=1e-12)


def test_texts_in_a_model_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'time_unit = "h"\nservers = 4\n[arrivals]\nrate = "2 per 10 min"\n'
        '[[classes]]\nneed = 1\nprobability = 0.25\nservice = { law = "uniform", low = "90s", high = "1h 30m" }\n'
        '[[classes]]\nneed = 2\nprobability = 0.25\nservice = { law = "exponential", rate = "4 per hour" }\n'
        '[[classes]]\nneed = 3\nprobability = 0.25\nservice = { law = "pareto", shape = 3, low = "6 min" }\n'
        '[[classes]]\nneed = 4\nprobability = 0.25\nservice = { law = "empirical", values = ["15 min", 2, "1 d"] }\n'
        '[[scenario]]\nfrom = "1d"\nuntil = "1d 12h"\nrate_factor = 2\n'
    )
    model = load(file)
    assert model.time_unit == "hours"
    assert model.rate == 12.0
    laws = [c.service.model_dump() for c in model.classes]
    assert (laws[0]["low"], laws[0]["high"]) == (0.025, 1.5)
    assert laws[1]["mean"] == 0.25
    assert math.isclose(laws[2]["mean"], 0.15)
    assert laws[3]["values"] == (0.25, 2.0, 24.0)
    assert model.scenario is not None
    assert (model.scenario[0].since, model.scenario[0].until) == (24.0, 36.0)
    # Written out, times are numbers in the model's unit, and read back to an equal model.
    assert load(model.to_dict()) == model
    assert load(file, ["classes[1].service={law='exponential', mean='30 min'}"]).classes[1].service.mean == 0.5


def test_texts_need_a_unit_of_the_model() -> None:
    with pytest.raises(ModelError, match=r"class 'a': service.mean: '15 min': the model does not say its own unit"):
        load(cluster(None, service={"law": "exponential", "mean": "15 min"}))
    with pytest.raises(ModelError, match=r"time_unit: 'fortnights': no unit of time; there are milliseconds"):
        load(cluster("fortnights"))
    with pytest.raises(ModelError, match=r"size: mean = '4 min': a number of jobs is meant, not a time"):
        load(cluster(arrivals={"process": "batch", "size": {"law": "exponential", "mean": "4 min"}, "of": {"rate": 1}}))


def test_options_take_texts_in_the_models_unit() -> None:
    asked = Evaluate.of(cluster(), rate="30 per hour", exceeds=["90 min", 3])
    assert (asked.rate, asked.exceeds) == (30.0, (1.5, 3.0))
    over_time = Simulate.of(cluster(), rate=1, horizon="2d", at="0:12h:6h")
    assert (over_time.horizon, over_time.at) == (48.0, (0.0, 6.0, 12.0))
    with pytest.raises(UsageError, match=r"exceeds: '90 min': the model does not say its own unit"):
        Evaluate.of(cluster(None), rate=1, exceeds=["90 min"])
    with pytest.raises(UsageError, match=r"horizon: 'moons': no unit of time"):
        Simulate.of(cluster(), rate=1, horizon="2 moons")


def test_objectives_take_units() -> None:
    hour, share, tail = objectives_of(
        ["p95(wait) <= 1h", "no_wait >= 90%", "P(wait[a] > 30 min) <= 1%"], ["a"], "minutes"
    )
    assert (hour.bound, share.bound) == (60.0, 0.9)
    assert (tail.bound, tail.exceeds) == (0.01, (30.0,))
    with pytest.raises(UsageError, match=r"'1h': the model does not say its own unit"):
        objectives_of(["p95(wait) <= 1h"], ["a"])
    with pytest.raises(UsageError, match=r"'1h' is no number"):
        objectives_of(["utilization <= 1h"], ["a"], "minutes")


def test_the_same_numbers_with_units_as_without(tmp_path: Path) -> None:
    """A unit changes what is shown, never what is computed."""
    plain, named = (loynes.evaluate(cluster(unit), load=0.5, samples=4000) for unit in (None, "hours"))
    assert plain.overall == named.overall
    assert named.to_dict()["time_unit"] == "hours"
    assert "time_unit" not in plain.to_dict()
    named.save(tmp_path / "x.csv")
    head, first, *_ = (tmp_path / "x.csv").read_text().splitlines()
    assert head.endswith(",time_unit")
    assert first.endswith(",hours")
    assert set(named.to_pandas()["time_unit"]) == {"hours"}
    assert str(named.summary).count(" min") >= 5
    assert named.setting == "strict first come, first served"
    assert plain.setting == "strict first come, first served; times in time units"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(70658.2, "seconds", "19.63 h"), (3.88539e6, "seconds", "44.97 days"), (0.0041, "seconds", "4.1 ms"),
     (0.0, "hours", "0"), (math.nan, "hours", "-"), (2.5, "weeks", "17.5 days"),
     (Estimate(3600.0, 3500.0, 3700.0), "seconds", "60.0 ±1.7 min"),
     (Estimate(math.inf, math.inf, math.inf), "hours", "inf")],
)  # fmt: skip
def test_shown(value: float | Estimate, unit: str, shown: str) -> None:
    assert str(Quantity(value, "time", unit)) == shown


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(cluster()))
    with pytest.raises(SystemExit) as done:
        main(
            ["evaluate", str(file), "--rate", "4 per hour", "--samples", "4000", "--exceeds", "10 min", "--json", "-q"]
        )
    assert done.value.code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["time_unit"] == "hours"
    assert document["rate"] == 4.0
    (x,) = document["overall"]["exceeds"]
    assert float(x) == 1 / 6
