"""Results of logs made by hand: every cell, sentence and mark of a chart is known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from loynes.estimate import Estimate
from loynes.estimators.measures import ALL_JOBS, Measures, Spread, System, Waits
from loynes.model import load
from loynes.results.charts.chart import Lines, Parts, Rows
from loynes.results.charts.register import charts_of
from loynes.results.records.fitted import Candidate, CheckedMetric, FittedModel
from loynes.results.records.log_cases import LogCase, LogComparison, LogSweep
from loynes.results.records.log_evaluation import LogEvaluation, digits, interval_text
from loynes.results.records.log_plan import LogGoal, LogPlan, TriedValue
from loynes.results.records.replay import Log
from loynes.results.times import unit_of

LOG = Log("log.swf", "logs/log.swf", "swf", "hash", 8)


def waits(mean: float) -> Waits:
    """In seconds: the mean, half of it to twice of it; percentiles are 1, 2, 3 and 4 times the mean."""
    values = [Estimate(k * mean, 0.5 * k * mean, 2 * k * mean) for k in (1, 1, 1, 2, 3, 4)]
    longer = [Estimate.exact(value.estimate + 60.0) for value in values]
    return Waits(Spread(*values), Spread(*longer), Estimate(0.5, 0.25, 0.75))


def system() -> System:
    numbers = (6.0, 0.75, 2.0, 1.0, 9.0, 3.0)
    return System(*(Estimate.exact(value) for value in numbers))


def measures(mean: float) -> Measures:
    return Measures(waits(mean), {"small": waits(mean), "large": waits(2 * mean)}, system())


def evaluation(mean: float = 3600.0, **more: Any) -> LogEvaluation:
    own = measures(mean)
    options: dict[str, Any] = {
        "model": LOG, "policy": "easy", "by": "need", "overall": own.overall, "classes": own.classes,
        "system": own.system, "ahead": measures(2 * mean), "sampling": measures(mean), "others": measures(3 * mean),
        "below": 0.625, "resamples": 40, "days": 30, "block": 7.0, "jobs": 123_456, "confidence": 0.9,
        "seconds": 1.25, "seed": 3,
    }  # fmt: skip
    return LogEvaluation(**options | more)


def test_units_of_times() -> None:
    """Each unit begins where its numbers are read best."""
    borders = (299.0, 300.0, 7199.0, 7200.0, 3 * 86400.0 - 1.0, 3 * 86400.0)
    assert [unit_of(x) for x in borders] == [
        (1.0, "seconds"), (60.0, "minutes"), (60.0, "minutes"), (3600.0, "hours"), (3600.0, "hours"), (86400.0, "days"),
    ]  # fmt: skip


def test_three_digits_and_no_power_of_ten() -> None:
    assert [digits(x) for x in (0.0, 1 / 3, 2.0, 123_456.0, 0.000_123_4)] == ["0", "0.333", "2", "123000", "0.000123"]
    assert interval_text(Estimate(60.0, 30.0, 120.0)) == "60 [30, 120]"
    assert interval_text(Estimate(60.0, 30.0, 120.0), 60.0) == "1 [0.5, 2]"


def test_an_evaluation() -> None:
    """A mean wait of an hour, whose 99th percentile is four: all in hours."""
    result = evaluation()
    assert result.title == "log.swf: waits on 8 servers under easy (hours)"
    assert result.headline == "mean wait 1 hours; between 0.5 and 2 given these 30 days"
    rows = {row[0]: row[1:] for row in result.summary.rows}
    assert list(rows) == [ALL_JOBS, "small", "large"]
    heads = dict(zip(result.summary.columns[1:], rows["large"], strict=True))
    assert heads["mean wait"] == heads["p50"] == "2 [1, 4]"
    assert heads["p95"] == "6 [3, 12]"
    assert heads["no wait"] == "0.5 [0.25, 0.75]"  # a share has no unit
    assert heads["mean response"] == "2.02 [2.02, 2.02]"
    doubt = result.doubt_summary
    assert doubt.title == "how sure the mean wait is (hours)"
    assert [row[1:] for row in doubt.rows] == [(1.0, 0.5, 2.0), (2.0, 1.0, 4.0), (1.0, 0.5, 2.0), (3.0, 1.5, 6.0)]
    assert doubt.rows[1][0] == "in the next 30 days, if they are like these"
    assert len(result.tables) == 3
    assert result.footer == (
        "40 resamples of 30 days in stretches of 7 on average, the log itself is above 62% of them; easy; "
        "90% intervals, 1.23e+05 jobs, 1.2 s, seed 3"
    )
    changed = evaluation(changes=("1.2 times the jobs", "without a"), details={"believed": "requested times"})
    assert changed.title == "log.swf: waits on 8 servers under easy, 1.2 times the jobs, without a (hours)"
    assert "; easy, believing in requested times; " in changed.footer


def test_every_interval_is_in_the_tidy_table() -> None:
    """In seconds: those of the data under the classes' own names, others with their kind."""
    rows = {(row[0], row[1]): row[2:] for row in evaluation().tidy.rows}
    assert rows[ALL_JOBS, "wait.mean"] == (3600.0, 1800.0, 7200.0)
    assert rows["large (ahead)", "wait.mean"] == (14400.0, 7200.0, 28800.0)
    assert rows["small (Monte Carlo)", "wait.p95"] == (10800.0, 5400.0, 21600.0)
    assert rows["system (resamples)", "utilization"] == (0.75, 0.75, 0.75)
    assert len(rows) == len(evaluation().tidy.rows)


def cases(kind: type[Any] = LogComparison, count: int = 2) -> Any:
    """The first waits an hour in the mean; each of the others ten minutes less."""
    minus = {name: {"wait.mean": Estimate(-600.0, -900.0, -300.0)} for name in (ALL_JOBS, "small", "large")}
    rest = [LogCase(f"case {k}", {"servers": 8 + k}, evaluation(3000.0), minus) for k in range(2, count + 1)]
    return kind(model=LOG, cases=(LogCase("as it is", {}, evaluation()), *rest), confidence=0.9, seconds=2.0, seed=5)


def test_cases() -> None:
    result = cases()
    assert result.title == "log.swf: 2 cases on the same resamples (hours)"
    assert result.headline == "mean wait 1 hours (as it is); case 2: -0.167 [-0.25, -0.0833] more"
    assert result.summary.rows == (
        ("as it is", "1 [0.5, 2]", "-", "3 [1.5, 6]", "0.5 [0.25, 0.75]", "0.75 [0.75, 0.75]"),
        (
            "case 2", "0.833 [0.417, 1.67]", "-0.167 [-0.25, -0.0833]", "2.5 [1.25, 5]", "0.5 [0.25, 0.75]",
            "0.75 [0.75, 0.75]",
        ),
    )  # fmt: skip
    assert result.classes_summary.columns == ("class", "as it is", "case 2")
    assert result.classes_summary.rows[1] == ("large", "2 [1, 4]", "1.67 [0.833, 3.33]")
    assert result.footer == "40 resamples of 30 days, 90% intervals given the log; 2.0 s, seed 5"
    rows = [row for row in result.tidy.rows if row[2] == "wait.mean minus the first"]
    assert rows[0] == ("case 2", ALL_JOBS, "wait.mean minus the first", -600.0, -900.0, -300.0)
    assert [row[:2] for row in rows] == [("case 2", ALL_JOBS), ("case 2", "small"), ("case 2", "large")]
    assert len(cases(count=4).headline.split(";")) == 4
    assert len(cases(count=5).headline.split(";")) == 4  # three others at most
    assert [len(cases(LogSweep, count).tables) for count in (4, 5)] == [2, 1]


def test_a_class_that_a_case_does_not_have() -> None:
    result = cases()
    alone = replace(result.cases[1].result, classes={"small": waits(60.0)})
    fewer = replace(result, cases=(result.cases[0], replace(result.cases[1], result=alone)))
    assert fewer.classes_summary.rows[1] == ("large", "2 [1, 4]", "-")


def plan(**more: Any) -> LogPlan:
    options: dict[str, Any] = {
        "model": LOG, "vary": "servers", "answer": 8.0, "probability": 0.95,
        "objectives": (LogGoal("mean(wait) <= 5000", 5000.0, Estimate(3600.0, 1800.0, 7200.0), 0.96),),
        "meets": evaluation(), "more_days": None, "days": 30, "confidence": 0.9, "seconds": 2.0, "seed": 5,
        "tried": (
            TriedValue(10.0, 0.992, Estimate.exact(1800.0)), TriedValue(8.0, 0.96, Estimate.exact(3600.0)),
            TriedValue(12.0, 0.9996, Estimate.exact(60.0)), TriedValue(7.0, 0.5),
        ),
    }  # fmt: skip
    return LogPlan(**options | more)


def test_a_plan_in_a_sentence() -> None:
    first = "8 servers meet it with probability 0.960 given these 30 days"
    assert plan().statement == f"{first}; 10 with 0.992"
    assert plan(more_days=20.4).statement == f"{first}; 10 with 0.992; 20 days more of log would halve that doubt"
    # From a month and a half on, months are said.
    assert "; 46 days more" not in plan(more_days=45.7).statement
    assert "; 1.5 months more of log" in plan(more_days=45.7).statement
    assert "; 45 days more of log" in plan(more_days=45.4).statement
    assert plan(days=365).statement.startswith("8 servers meet it with probability 0.960 given these 12 months")
    sure = (TriedValue(8.0, 0.99),)
    assert plan(tried=sure).statement == "8 servers meet it with probability 0.990 given these 30 days"
    assert "with probability 0.999 given" in plan(tried=(TriedValue(8.0, 0.9994),)).statement
    assert "with probability above 0.999 given" in plan(tried=(TriedValue(8.0, 0.9995),)).statement
    two = plan(objectives=plan().objectives * 2)
    assert two.statement.startswith("8 servers meet every objective with")
    scaled = plan(
        vary="scale", answer=1.2, tried=(TriedValue(1.2, 0.96), TriedValue(1.1, 0.99), TriedValue(0.9, 0.999))
    )
    assert scaled.statement == "1.2 times the jobs meets it with probability 0.960 given these 30 days; 1.1 with 0.990"


def test_a_plan_as_tables() -> None:
    result = plan()
    assert result.at_answer == 0.96
    assert result.summary.columns == ("servers", "meets all with probability", "mean wait (hours)")
    assert result.summary.rows == (
        ("7", "0.5", "-"), ("8", "0.96", "1 [1, 1]"), ("10", "0.992", "0.5 [0.5, 0.5]"),
        ("12", "1", "0.0167 [0.0167, 0.0167]"),
    )  # fmt: skip
    assert result.goals_summary.title == "at 8 servers"
    assert result.goals_summary.rows == (("mean(wait) <= 5000", "3600 [1800, 7200]", "0.96"),)
    assert result.tidy.rows == (("mean(wait) <= 5000", 5000.0, 0.96, 3600.0, 1800.0, 7200.0),)
    assert result.footer.splitlines()[1] == (
        "4 values tried under easy, each on the same 40 resamples; 2.0 s, seed 5"
    )  # fmt: skip


def fitted(log: float, model: float | None, **more: Any) -> FittedModel:
    modelled = None if model is None else {ALL_JOBS: Estimate.exact(model)}
    arrivals: Any = SimpleNamespace(process="poisson")
    return FittedModel(
        model=load("one-or-all"), source="log", jobs=9, skipped={}, arrivals=arrivals, law="exponential",
        policy="easy", replayed={ALL_JOBS: Estimate.exact(log)}, modelled=modelled, why="", **more,
    )  # fmt: skip


def test_the_test_of_a_fit_is_drawn_in_multiples_of_the_log() -> None:
    """Of its value; where that is 0, of the end of its interval; where all is 0, as it is."""
    model, logs = Estimate.exact(3.0), (Estimate(4.0, 2.0, 6.0), Estimate(0.0, 0.0, 2.0), Estimate.exact(0.0))
    checks = tuple(CheckedMetric(f"{n}", log, model, n == 0) for n, log in enumerate(logs))
    test, *_ = charts_of(fitted(2.0, 3.0, candidates=(Candidate("poisson", checks),)))
    assert isinstance(test, Rows)
    assert [row.label for row in test.rows] == [
        "0, weeks not seen", "1, weeks not seen: not passed", "2, weeks not seen: not passed",
    ]  # fmt: skip
    assert [row.values for row in test.rows] == [
        (Estimate(1.0, 0.5, 1.5), Estimate.exact(0.75)),
        (Estimate(0.0, 0.0, 1.0), Estimate.exact(1.5)),
        (Estimate.exact(0.0), model),
    ]


def test_how_far_a_fit_is_off() -> None:
    """The model's mean wait over the log's; nothing where the log's jobs do not wait, or the model was not run."""

    def off(log: float, model: float | None) -> float | None:
        return fitted(log, model).difference

    assert (off(2.0, 3.0), off(2.0, 1.0), off(0.0, 3.0), off(2.0, None)) == (0.5, -0.5, None, None)


def test_charts_of_an_evaluation() -> None:
    by_class, doubt, servers = charts_of(evaluation())
    assert isinstance(by_class, Rows)
    assert isinstance(doubt, Rows)
    assert isinstance(servers, Parts)
    assert by_class.picture_title == "log.swf, 8 servers, easy"
    assert by_class.axis == "wait (hours)"
    # A value is scaled by 1/3600, so that the last digit may be off.
    assert [row.values[2].estimate for row in by_class.rows if row.values[2]] == pytest.approx([3.0, 3.0, 6.0])
    assert [row.values[0].high for row in doubt.rows if row.values[0]] == pytest.approx([2.0, 4.0, 2.0, 6.0])
    assert doubt.rows[1].label == "in the next 30 days"
    assert [(part.label, part.value.estimate) for part in servers.bars[0].parts] == [
        ("busy", 6.0), ("lost to head-of-line blocking", 1.0), ("idle otherwise", 1.0),
    ]  # fmt: skip


def test_charts_of_cases() -> None:
    """Beside each other; and minus the first, class by class where there are two, else of all jobs."""
    together, by_class, minus = charts_of(cases())
    assert isinstance(together, Rows)
    assert isinstance(by_class, Rows)
    assert [row.label for row in by_class.rows] == ["small", "large"]
    assert by_class.measures == ("as it is", "case 2")
    assert isinstance(minus, Rows)
    assert together.axis == "wait (minutes)"
    assert [row.values[0].estimate for row in together.rows if row.values[0]] == pytest.approx([60.0, 50.0])
    assert (together.first, together.offer_log) == ((0, 2), True)
    assert [row.label for row in minus.rows] == [ALL_JOBS, "small", "large"]
    assert [row.values[0].low for row in minus.rows if row.values[0]] == pytest.approx([-15.0] * 3)
    assert minus.zero
    assert minus.title == "case 2 minus “as it is”"
    *_, of_three = charts_of(cases(LogSweep, 3))
    assert isinstance(of_three, Rows)
    assert [row.label for row in of_three.rows] == ["case 2", "case 3"]
    assert of_three.title == "every case minus “as it is”"
    assert len(charts_of(cases(count=1))) == 1


def test_charts_of_a_plan() -> None:
    promised, *others = charts_of(plan())
    assert isinstance(promised, Lines)
    assert [(place.config, place.values[0][0]) for place in promised.points] == [
        ((value,), Estimate.exact(chance)) for value, chance in ((7.0, 0.5), (8.0, 0.96), (10.0, 0.992), (12.0, 0.9996))
    ]
    assert promised.vary == ("servers",)
    assert [chart.to_data() for chart in others] == [chart.to_data() for chart in charts_of(evaluation())]
