"""Tables, records and files of results made by hand: every cell and sentence is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loynes.errors import LoynesError, UsageError
from loynes.estimate import Estimate, key_text
from loynes.estimators.measures import ALL_JOBS, Moment
from loynes.estimators.pairs import Difference
from loynes.model import load
from loynes.results.base import _plain, dump, how_sure, read_result, without_timings
from loynes.results.charts.register import charts_of
from loynes.results.layout import Form
from loynes.results.records.certified import Certified
from loynes.results.records.check import Check, KnownThreshold
from loynes.results.records.comparison import Comparison, Differences
from loynes.results.records.evaluation import Evaluation
from loynes.results.records.exact import ClassWait, Exact, digits
from loynes.results.records.fitted import Candidate, CheckedMetric, FittedModel
from loynes.results.records.plan import Goal, Plan
from loynes.results.records.policies import Limit, PolicyComparison, PolicyPoint
from loynes.results.records.simulation import Simulation
from loynes.results.records.sweep import Point, Sweep
from loynes.results.records.threshold import Threshold
from loynes.results.table import Table, shown

ONE = {"name": "one", "need": 1, "probability": 0.75, "service": {"law": "exponential", "mean": 1.0}}
ALL = {"name": "all", "need": 4, "probability": 0.25, "service": {"law": "exponential", "mean": 0.5}}
MODEL = load({"name": "m", "servers": 4, "classes": [ONE, ALL]})
VALUE = Estimate(2.0, 1.0, 4.0)


def exact(*values: float) -> list[Estimate]:
    return [Estimate.exact(value) for value in values]


def test_an_estimate_is_three_columns() -> None:
    table = Table("t", ("name", "x", "n"), (("a", VALUE, 1), ("b", None, 2), ("c", "-", 3), ("d", 0.5, None)))
    assert table.numbers.columns == ("name", "x", "x_low", "x_high", "n")
    assert table.to_csv() == "name,x,x_low,x_high,n\na,2.0,1.0,4.0,1\nb,,,,2\nc,-,,,3\nd,0.5,,,\n"
    assert Table("t", ("x",), ((1,),)).to_csv() == "x\n1\n"
    arrow = table.numbers.to_arrow()
    assert arrow.column_names == ["name", "x", "x_low", "x_high", "n"]
    assert arrow["x"].to_pylist() == ["2.0", None, "-", "0.5"]  # texts, since there is one
    assert arrow["x_low"].to_pylist() == [1.0, None, None, None]
    assert arrow["n"].to_pylist() == [1, 2, 3, None]


def test_a_table_without_a_column() -> None:
    table = Table("t", ("a", "b", "c"), ((1, 2, 3),), ("c", "b"))
    assert table.without("b") == Table("t", ("a", "c"), ((1, 3),), ("c",))
    assert table.without("a").spare == ("c", "b")


def test_tables_for_people() -> None:
    table = Table("<t>", ("a", "b"), (("<x>", 1 / 3), ("y", VALUE)))
    html = (
        '<table class="numbers"><caption>&lt;t&gt;</caption><thead><tr><th>a</th><th>b</th></tr></thead>'
        "<tbody><tr><td>&lt;x&gt;</td><td>0.333333</td></tr><tr><td>y</td><td>2.0 [1.0, 4.0]</td></tr></tbody></table>"
    )
    assert table.to_html() == html
    assert table._repr_html_().endswith(f"</style>{html}</div>")
    assert "<caption>" not in table.to_html("")
    assert '<td class="sentence">' in Table("t", ("a", "b"), (("x", "a b c d e f g"),)).to_html()
    lines = str(table).rstrip().splitlines()
    assert lines[0].strip() == "<t>"
    assert lines[-1].split() == ["y", "2.0", "[1.0,", "4.0]"]
    assert (shown(0.25), shown(3), shown("x"), shown(math.inf)) == ("0.25", "3", "x", "inf")
    rich = Form.of(Table("t", ("a", "b", "c"), (("x", "y", "one two three four five six seven"),))).to_rich()
    assert [column.justify for column in rich.columns] == ["left", "right", "left"]  # sentences
    short = Form.of(Table("t", ("a", "b"), (("x", "one two three four five six"),))).to_rich()
    assert [column.justify for column in short.columns] == ["left", "right"]


def test_results_for_notebooks() -> None:
    """The answer once, every table, the footer without what was said, warnings, and all of it escaped."""
    result = threshold(warnings=("<far> off",), seconds=1.0)
    html = result._repr_html_()
    assert html.count("<b>m: stability:</b> threshold 2.00 ±0.10, 80.0% of the ideal") == 1
    assert "<caption>" not in html  # the table's title is the result's
    said = "strict first come, first served; times in time units"
    assert f'<p class="aside">{said}<br>piles, 90% intervals' in html
    assert '<p class="warning"><b>Warning:</b> &lt;far&gt; off</p>' in html
    model = load({"name": "<m>", "servers": 4, "description": "d", "arrivals": {"rate": 2}, "classes": [ONE, ALL]})
    html = model._repr_html_()
    assert "<b>&lt;m&gt;:</b> 4 servers, fcfs; arrivals: poisson, 2 jobs per unit of time" in html
    assert "<tr><td>all</td><td>4</td><td>0.25</td><td>exponential</td><td>0.5</td><td>1</td></tr>" in html
    assert '<p class="aside">d</p>' in html
    assert "no rate said" in MODEL._repr_html_()


def test_data_frames() -> None:
    """The same rows by pandas, polars and whoever reads Arrow."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    result = threshold()
    rows = [list(row) for row in result.tidy.rows]
    assert [list(row) for row in result.to_polars().rows()] == rows
    assert [list(row) for row in result.to_pandas().itertuples(index=False)] == rows
    assert [list(row) for row in polars.DataFrame(result).rows()] == rows
    assert pyarrow.table(result) == result.to_arrow()
    mixed = Table("t", ("x", "y"), ((VALUE, 1), ("-", 2.5)))  # an estimate is three columns there, too
    assert pyarrow.table(mixed).column_names == ["x", "x_low", "x_high", "y"]


def test_pages_by_name(tmp_path: Path) -> None:
    """loynes.report is the room of pages, and makes a page when it is called."""
    import loynes
    import loynes.report as room
    from loynes.report import page

    result = threshold()
    shown = loynes.report(result, tmp_path / "page.html")
    assert shown == room(result) == page(result) == (tmp_path / "page.html").read_text()  # type: ignore[operator]
    assert repr(shown).startswith("<page of ")
    assert shown._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_json_is_plain() -> None:
    data = {"a": math.inf, "b": [math.nan, 1.5, -math.inf], "exceeds": {}, "c": {}, "d": VALUE, "resources": {"x": 1}}
    assert _plain(data, ("exceeds", "resources")) == {
        "a": None, "b": [None, 1.5, None], "c": {}, "d": VALUE.to_dict(), "resources": {"x": 1},
    }  # fmt: skip
    assert dump({"a": 1}) == '{\n  "a": 1\n}\n'
    nested = {"seconds": 1, "a": [{"read_seconds": 2, "b": 3}], "c": {"seconds": 4}}
    assert without_timings(nested) == {"a": [{"b": 3}], "c": {}}


def test_keys_read_back_equal() -> None:
    assert [key_text(x) for x in (2.0, 0.1, 1e300, 0.1 + 0.2)] == ["2", "0.1", "1e+300", "0.30000000000000004"]


def test_how_sure() -> None:
    assert how_sure(0.99) == "99% intervals"
    assert how_sure(1 - 1e-6, 32) == "99.9999% intervals from 32 replicas"


def threshold(**more: Any) -> Threshold:
    options: dict[str, Any] = {
        "model": MODEL, "threshold": Estimate(2.0, 1.9, 2.1), "ideal": 2.5, "hol_loss_saturated": VALUE,
        "discipline": "fcfs", "method": "piles", "confidence": 0.9, "replicas": 8, "variance_reduction": 2.0,
        "jobs": 12_345, "backend": "cpu", "seed": 3,
    }  # fmt: skip
    return Threshold(**options | more)


def test_a_threshold(tmp_path: Path) -> None:
    result = threshold(seconds=1.25)
    assert result.headline == "threshold 2.00 ±0.10, 80.0% of the ideal"
    assert result.footer == "piles, 90% intervals from 8 replicas, 1.23e+04 jobs, 1.2 s, seed 3"
    assert [row[0] for row in result.summary.rows] == [
        "threshold", "largest utilization", "servers lost when saturated", "ideal, without blocking",
    ]  # fmt: skip
    assert result.tidy.rows[1] == ("largest utilization", 0.8, pytest.approx(0.76), pytest.approx(0.84))
    assert result.to_dict()["max_utilization"] == 0.8
    assert result.tables == [result.summary]
    assert "resources" not in result.to_dict()
    several = threshold(resources={"gpu": VALUE})
    assert several.summary.rows[2] == ("gpu lost when saturated", VALUE, 1.0, 4.0)
    assert several.to_dict()["resources"] == {"gpu": {"hol_loss_saturated": VALUE.to_dict()}}
    assert Threshold.from_dict(several.to_dict()) == several
    result.save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "timing.json").read_text()) == {"seconds": 1.25}
    assert "seconds" not in json.loads((tmp_path / "run" / "result.json").read_text())
    assert (tmp_path / "run" / "model.toml").read_text() == MODEL.to_toml()
    again = read_result(tmp_path / "run")
    assert again == result
    assert again.seconds == 1.25
    result.save(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[1].startswith("threshold,2.0,1.9,2.1,1.9,2.1")
    assert "seed" not in threshold(seed=None).to_dict()
    with pytest.raises(UsageError, match=r"is not written to \.toml"):
        result.save(tmp_path / "x.toml")


def test_what_is_no_result(tmp_path: Path) -> None:
    for wrong in ("{", "{}", '{"command": "guess"}', "[]", '{"command": "stability"}'):
        (tmp_path / "x.json").write_text(wrong)
        with pytest.raises(LoynesError, match="not a result of loynes"):
            read_result(tmp_path / "x.json")
    with pytest.raises(LoynesError, match="cannot be read"):
        read_result(tmp_path / "y.json")


def test_digits() -> None:
    assert [digits(x) for x in (None, math.nan, math.inf, 1 / 3)] == ["-", "-", "inf", "0.3333333333"]


def test_exact_answers() -> None:
    base: dict[str, Any] = {
        "model": MODEL, "threshold": 2.0, "utilization": 0.5, "hol_loss_saturated": 1.0,
        "throughput": {"one": 1.5, "all": 0.5}, "states": 7, "method": "chain", "seconds": 0.5,
    }  # fmt: skip
    result = Exact(**base)
    assert (result.load, result.mean_wait, result.no_wait) == (None, None, None)
    assert (result.headline, result.footer) == ("threshold 2", "chain, 7 states, 0.5 s")
    assert [row[0] for row in result.summary.rows][-1] == "servers lost when saturated"
    assert result.class_summary.columns == ("class", "need", "saturated rate")
    wait = ClassWait(3.0, 0.25, None, {1.5: 0.125})
    result = Exact(**base | {"states": 0}, rate=0.5, overall=wait, classes={"one": wait, "all": wait}, hol_loss=0.5)
    assert (result.load, result.mean_wait, result.no_wait) == (0.25, 3.0, 0.25)
    assert result.headline == "threshold 2, mean wait 3 at rate 0.5"
    assert result.footer == "chain, 0.5 s"
    assert ("load", "0.25") in result.summary.rows
    assert ("hol loss (servers)", "0.5") in result.summary.rows
    assert "mean jobs in system" not in [row[0] for row in result.summary.rows]
    assert result.class_summary.rows[0] == ("one", "1", "1.5", "3", "-", "0.25", "0.125")
    assert result.class_summary.columns[-1] == "wait > 1.5"
    assert ("one", "wait>1.5", 0.125) in result.tidy.rows
    assert ("system", "utilization", 0.5) in result.tidy.rows
    assert all(row[-1] is not None for row in result.tidy.rows if row[0] == "system")
    assert result.tables == [result.summary, result.class_summary]  # nothing is known of the tails
    deep = ClassWait(3.0, 0.25, 2.0, {1.5: 1e-301}, 0.5, {"p50": 1.0, "p99": 4.0})
    result = Exact(**base, rate=0.5, overall=deep, classes={"one": deep, "all": deep}, decay_rate=0.125, digits=12)
    assert result.tables[-1].columns == ("class", "p50", "p99", "constant")
    assert result.tables[-1].rows[0] == ("all jobs", "1", "4", "0.5")
    assert [row[0] for row in result.tables[-1].rows] == ["all jobs", "one", "all"]
    assert ("decay rate of waits", "0.125") in result.summary.rows
    assert result.class_summary.rows[0][-1] == "< 1e-300"
    assert {("one", "p99", 4.0), ("one", "constant", 0.5), ("system", "decay_rate", 0.125)} <= set(result.tidy.rows)
    assert result.flat == result.tidy
    assert charts_of(result)[1].title == "Long waits by class"
    kinds = Exact(**base, rate=0.5, overall=wait, resources={"gpu": {"hol_loss_saturated": 2.0, "hol_loss": 0.75}})
    assert ("gpu lost when saturated", "2") in kinds.summary.rows
    assert ("hol loss (gpu)", "0.75") in kinds.summary.rows


def evaluation(mean: float = 2.0, rate: float = 0.5, servers: int = 4, jobs: int = 1000, sure: Any = None) -> Any:
    """What records of several evaluations read of one."""
    times = SimpleNamespace(mean=Estimate(mean, mean - 1, mean + 1), p95=VALUE, p99=VALUE, percentiles={})
    return SimpleNamespace(
        overall=SimpleNamespace(wait=times, no_wait=VALUE),
        system=SimpleNamespace(utilization=VALUE, hol_loss=Estimate.exact(0.5)),
        model=SimpleNamespace(servers=servers, resources={"gpu": 8}, label="m", nodes=None),
        policy="fcfs",
        is_estimate=False,
        standing="lower bound",
        rate=rate, load=0.25, jobs=jobs, replicas=32, method="sandwich", certificate=sure, warnings=("far: off",),
        threshold=Estimate.exact(2.0), tidy=Table("", ("class",), (("one", "x", 1.0, 2.0, 3.0),)),
    )  # fmt: skip


def plan(**more: Any) -> Plan:
    goals = (Goal("mean(wait) <= 3", 3.0, VALUE, Estimate.exact(5.0), Estimate.exact(1.0)),)
    options: dict[str, Any] = {
        "model": MODEL, "vary": "servers", "answer": 4.0, "objectives": goals, "meets": evaluation(),
        "fails": evaluation(5.0, servers=3), "next": evaluation(1.5, servers=5), "fails_at": 3.0, "fails_why": "",
        "adjacent": True, "certified": True, "confidence": 0.9, "seconds": 2.0, "seed": 1,
    }  # fmt: skip
    return Plan(**options | more)


def test_plans_in_a_sentence() -> None:
    assert plan().statement == "4 servers meet the objective, 3 servers do not (90%)"
    assert plan(vary="rate", answer=0.5, fails_at=0.6).statement == (
        "rate 0.5 meets the objective, rate 0.6 does not (90%)"
    )
    assert plan(certified=False).statement.startswith("4 servers meet the objective, as far as a lower bound can tell,")
    assert plan(fails_at=None, fails_why="all are needed").statement == (
        "4 servers meet the objective, and nothing smaller is possible (all are needed; 90%)"
    )
    unclear = plan(fails_at=None, tried=({"value": 3.0, "verdict": "unclear", "seed": 1},))
    assert unclear.statement == (
        "4 servers meet the objective; of nothing smaller it could be told whether it does (90%)"
    )
    unknown = plan(fails=None, fails_why="unstable", adjacent=False, vary="resources.gpu")
    assert unknown.statement == (
        "4 gpu meet the objective, 3 gpu do not (unstable); what lies between could not be told apart (90%)"
    )
    assert plan(fails_why="seen").statement == plan().statement
    two = plan(objectives=plan().objectives * 2)
    assert "every objective" in two.statement


def test_plans_as_tables() -> None:
    rows = plan().summary.rows
    assert [(row[0], row[2]) for row in rows] == [("3", "no"), ("4", "yes"), ("5", "yes")]
    assert [float(row[1]) for row in rows] == [5.0, 2.0, 1.0]
    assert plan(fails=None).summary.rows[0] == ("3", "-", "no", "-", "-", "-")
    assert len(plan(fails_at=None, fails=None, next=None).summary.rows) == 2 - 1
    assert [row[2] for row in plan().tidy.rows] == ["fails", "meets", "next"]
    by_rate = plan(vary="rate", answer=0.5, fails_at=0.6, next=evaluation(rate=0.4))
    assert [row[0] for row in by_rate.summary.rows] == ["0.6", "0.5", "0.4"]
    assert plan(vary="resources.gpu").summary.rows[-1][0] == "8"
    assert plan().footer.splitlines()[1:] == [
        "one more would take 0.5 off the mean wait of 2", "0 values tried, 2.0 s, seed 1",
    ]  # fmt: skip
    assert len(by_rate.footer.splitlines()) == len(plan(next=None).footer.splitlines()) == 2


def test_comparisons() -> None:
    def one(half: float) -> Difference:
        means = (Estimate(2.0, -1.0, 5.0), Estimate(2.0, -2.0, 6.0))
        waits = {name: Estimate(1.0, 1.0 - half, 1.0 + half) for name in ("mean", "p50", "p90", "p95", "p99")}
        return Difference(means, waits, {"mean": VALUE}, Estimate.exact(0.1))

    def comparison(half: float, rate: float = 0.5) -> Comparison:
        differences = Differences(one(half), {"one": one(half)}, {"hol_loss": VALUE})
        return Comparison(names=("x", "y"), a=evaluation(), b=evaluation(rate=rate, jobs=500), confidence=0.9,
                          differences=differences, seconds=1.0, seed=7)  # fmt: skip

    assert comparison(1.0).footer == (
        "rate 0.5, 90% intervals from 32 pairs of replicas, pairing narrows the interval of the mean 5 times, "
        "1.5e+03 jobs, 1.0 s, seed 7"
    )
    assert comparison(5.0, 0.75).footer == (
        "rates 0.5 and 0.75, 90% intervals from 32 pairs of replicas, 1.5e+03 jobs, 1.0 s, seed 7"
    )
    assert "inf times" in comparison(0.0).footer
    assert "2 times" in comparison(2.5).footer
    assert "1.1 times" in comparison(4.5).footer
    assert comparison(1.0).headline == "mean wait 1.0 ±1.0 longer"
    assert [row[:2] for row in comparison(1.0).tidy.rows][7:9] == [("one", "wait.mean"), ("one", "wait.p50")]
    assert comparison(1.0).tidy.rows[-1] == ("system", "hol_loss", 2.0, 1.0, 4.0)
    assert comparison(1.0).system_summary.rows == (("hol loss", VALUE),)


def test_sweeps() -> None:
    points = (
        Point({"servers": 4}, evaluation(jobs=100)),
        Point({"servers": 2}, None, "unstable: too fast"),
        Point({"servers": 6}, evaluation(jobs=200, sure=object())),
    )
    result = Sweep(model=MODEL, vary=("servers",), points=points, confidence=0.9, seconds=1.0, seed=2)
    assert result.headline == "3 points over servers"
    assert result.footer == "3 points, 90% intervals, 300 jobs, 1.0 s, seed 2 at every point"
    assert [row[-1] for row in result.summary.rows] == ["sandwich, lower bound", "unstable", "sandwich"]
    assert result.summary.rows[1] == (2, "", "", *("-" for _ in range(6)), "unstable")
    assert result.summary.rows[0][:3] == (4, 0.5, 0.25)
    assert [row[:6] for row in result.tidy.rows] == [(0, 4, 0.5, 0.25, 2.0, False), (2, 6, 0.5, 0.25, 2.0, True)]
    by_load = Sweep(model=MODEL, vary=("load",), points=(Point({"load": 0.3}, evaluation()),), confidence=0.9)
    assert by_load.summary.columns[:2] == ("load", "rate")


def test_policies() -> None:
    points = (
        PolicyPoint("fcfs", 0.5, 0.25, evaluation(jobs=10), None),
        PolicyPoint("easy", 0.5, 0.25, evaluation(jobs=20), VALUE),
        PolicyPoint("smash", 0.5, 0.25, None, None, "endless"),
    )
    limits = {"fcfs": Limit(Estimate.exact(2.0), "exact"), "easy": Limit(Estimate.exact(3.0), "search")}
    options: dict[str, Any] = {"model": MODEL, "policies": ("fcfs", "easy"), "ideal": 4.0, "confidence": 0.9}
    result = PolicyComparison(points=points, limits=limits, seconds=1.0, seed=1, **options)
    assert result.headline == "fcfs carries 2, easy carries 3"
    assert PolicyComparison(points=points, limits={}, **options).headline == "fcfs, easy"
    assert [row[-1] for row in result.summary.rows] == ["far", "far", "endless"]
    assert [row[4] for row in result.summary.rows] == ["-", VALUE, "-"]
    assert len(result.summary.rows[2]) == len(result.summary.columns) == 10
    assert result.limits_summary.rows[1] == ("easy", limits["easy"].rate, 1.5, 0.75, "search")
    assert len(result.tidy.rows) == 3
    assert result.tidy.rows[-1] == (0.25, 0.5, "easy", ALL_JOBS, "wait.mean minus fcfs", 2.0, 1.0, 4.0)
    assert "30 jobs" in result.footer
    assert len(result.tables) == 2
    assert PolicyComparison(points=(), limits={}, **options).tables == []
    quiet = evaluation()
    quiet.warnings = ()
    without = PolicyComparison(points=(PolicyPoint("fcfs", 0.5, 0.25, quiet, None),), limits={}, **options)
    assert "note" not in without.summary.columns


def fitted(model: float | None, log: Estimate = VALUE, **more: Any) -> FittedModel:
    modelled = None if model is None else {ALL_JOBS: Estimate(model, model - 0.5, model + 0.5), "one": VALUE}
    arrivals = SimpleNamespace(process="poisson")
    return FittedModel(model=MODEL, source="log", jobs=9, skipped={}, arrivals=arrivals, law="exponential",
                       policy="easy", replayed={ALL_JOBS: log, "one": log}, modelled=modelled, why="unstable", **more)  # type: ignore[arg-type]  # fmt: skip


def test_fits_agree_within_the_logs_noise() -> None:
    """The log's mean lies in [1, 4]: a model's mean that lies there agrees, whatever its own interval."""
    assert [fitted(x).agrees for x in (0.9, 1.0, 3.0, 4.0, 4.1, None)] == [False, True, True, True, False, None]
    assert (fitted(3.0).difference, fitted(None).difference) == (0.5, None)
    assert fitted(3.0, Estimate.exact(0.0)).difference is None
    assert fitted(3.0).headline == ("2 classes, poisson arrivals from 9 jobs, mean wait off the log's by +50.0%")
    assert fitted(None).headline == "2 classes, poisson arrivals from 9 jobs"
    assert fitted(None).title.startswith("not tested; ")
    assert "off the log's by +50.0%, inside its interval" in fitted(3.0).footer
    assert "off the log's by +150.0%, outside its interval" in fitted(5.0).footer
    assert "the model's mean wait is 12500 times the log's, outside its interval" in fitted(25_000.0).footer
    assert fitted(None).summary.rows[0][-1] == "unstable"
    assert fitted(3.0).summary.rows[1][1:5] == ("1", 0.75, 1.0, 1.0)
    assert [row[1] for row in fitted(3.0).tidy.rows] == ["replayed", "replayed", "model", "model"]
    assert len(fitted(None).tidy.rows) == 2
    assert fitted(3.0).flat == fitted(3.0).tidy


def test_fits_say_first_whether_they_were_accepted() -> None:
    good, bad = CheckedMetric("mean wait", VALUE, Estimate.exact(3.0), True), CheckedMetric("p95", VALUE, VALUE, False)
    tried = (Candidate("poisson", (good, bad), (bad, bad)), Candidate("batch", why="no batches"), Candidate("mmpp"))
    refused = fitted(3.0, accepted=False, candidates=tried)
    assert [one.accepted for one in tried] == [False, False, False]
    assert [one.missed for one in tried] == [3, 0, 0]
    first = "no model was accepted: take the log itself, loynes evaluate LOG"
    assert refused.title.startswith(first)
    assert refused.footer.splitlines()[0] == first
    assert refused.candidates_summary.title.startswith(f"{first}; tested under easy on weeks not seen")
    assert refused.candidates_summary.columns == ("arrivals", "mean wait", "p95", "result")
    assert refused.candidates_summary.rows[0][:2] == ("the log", "2 [1, 4]")
    assert refused.candidates_summary.rows[1] == ("poisson", "3", "2 *", "3 of 4 missed")
    assert refused.candidates_summary.rows[2] == ("batch", "-", "-", "no batches")
    passed = fitted(3.0, accepted=True, candidates=(Candidate("poisson", (good,), (good,)),))
    assert passed.candidates[0].accepted
    assert passed.title.startswith("accepted; ")
    assert passed.candidates_summary.rows[1] == ("poisson", "3", "accepted")


def check(model: Any = MODEL, known: KnownThreshold | None = None) -> Check:
    return Check(model=model, kernel="k", threshold=known)


def test_checks() -> None:
    """Work 0.75 x 1 + 0.25 x 4 x 0.5 = 1.25 a job; three fifths of it the small jobs'."""
    result = check()
    assert result.headline == "ideal rate 3.2, threshold ask loynes stability"
    assert check(known=KnownThreshold(2.5, "chain")).headline == "ideal rate 3.2, threshold 2.5 (exact: chain)"
    assert [row[-1] for row in result.summary.rows] == pytest.approx([0.6, 0.4])
    assert result.summary.rows[0][6] == "all"
    data = result.to_dict()
    assert (data["work"], data["offered"], data["special_case"], data["rate"]) == (1.25, None, None, None)
    assert check(MODEL.with_rate(2.0)).to_dict()["offered"] == 2.5
    assert ("offered work (busy servers)", 2.5) in check(MODEL.with_rate(2.0)).figures.rows
    assert ("arrival rate in the file", 2.0) in check(MODEL.with_rate(2.0)).figures.rows
    assert ("arrival rate in the file", "none") in result.figures.rows
    heavy = load(
        {"servers": 1, "classes": [ONE | {"probability": 1.0, "service": {"law": "pareto", "shape": 2.5, "mean": 1.0}}]}
    )
    assert check(heavy).summary.rows[0][6] == "up to 2"
    assert check(heavy).methods["perfect"] == "yes"
    assert result.methods["perfect"] == "yes"


def test_work_of_specific_servers_counts() -> None:
    """Two of any and one of its own, of eight: three times the service."""
    asks = {"probability": 1.0, "service": ONE["service"], "need": {"cpu": 2}, "specific": {"cpu": 1}}
    result = check(load({"resources": {"cpu": 8}, "classes": [{"name": "x"} | asks]}))
    assert result.summary.rows[0][-1] == 1.0
    assert result.to_dict()["works"] == {"cpu": 3.0}


def test_evaluations() -> None:
    options: dict[str, Any] = {
        "model": MODEL, "rate": 0.5, "threshold": Estimate(2.0, 1.0, 3.0), "method": "forward", "overall": None,
        "classes": {}, "system": None, "confidence": 0.9, "replicas": 4, "jobs": 1000, "backend": "cpu", "seconds": 1.0,
    }  # fmt: skip
    result = Evaluation(**options, why="heavy", seed=1)
    assert result.load == 0.25
    assert result.title == "m: waits at rate 0.5 (25.0% of the threshold)"
    line = "forward, 90% intervals from 4 replicas, 1e+03 jobs, 1.0 s, seed 1"
    assert result.footer == f"{line}\nno certificate: heavy"
    assert Evaluation(**options, seed=1).footer == line
    assert result.certificate_summary.rows[-1] == ("none", "heavy")


@pytest.mark.parametrize(
    ("servers", "need", "arrivals", "said"),
    [
        (1, 1, {}, "one server: Lindley's recurrence (M/G/1)"),
        (2, 1, {}, "every job needs one server: the recurrence of Kiefer and Wolfowitz (M/G/s)"),
        (3, 3, {}, "every job needs all servers: Lindley's recurrence (M/G/1)"),
        (3, 2, {}, None),
        (
            1,
            1,
            {"arrivals": {"process": "renewal", "gap": {"law": "deterministic", "value": 1.0}}},
            "one server: Lindley's recurrence (G/G/1)",
        ),
    ],
)
def test_special_cases(servers: int, need: int, arrivals: dict[str, Any], said: str | None) -> None:
    model = load({"servers": servers, "classes": [ONE | {"need": need, "probability": 1.0}]} | arrivals)
    assert check(model).special_case == said


def test_certificates_are_true_or_false() -> None:
    options: dict[str, Any] = {"model": MODEL, "rate": 0.5, "threshold": Estimate(2.0, 1.0, 3.0)}
    none = Certified(**options, certificate=None, why="heavy")
    assert not none
    assert (none.load, str(none), none.headline) == (0.25, "no certificate: heavy", "none: heavy")
    assert none.summary.rows == (("none", "heavy"),)
    there = Certified(**options, certificate=SimpleNamespace(theta=0.5, figures=[("theta", 0.5)]))  # type: ignore[arg-type]
    assert there
    assert there.headline == "theta 0.5"
    assert there.summary.rows == (("theta", 0.5),)
    assert replace(there, decay_rate=0.75).summary.rows[-1] == ("decay rate of waits, exact", 0.75)


def test_simulations_say_how_far_they_went() -> None:
    options: dict[str, Any] = {
        "model": MODEL, "rate": 0.5, "policy": "easy", "start": "empty", "classes": {}, "slowdown": {}, "system": None,
        "overall": None, "confidence": 0.9, "replicas": 4, "jobs": 1000, "seconds": 1.0, "seed": 1,
    }  # fmt: skip
    tail = "90% intervals from 4 replicas, 1e+03 jobs, 1.0 s, seed 1"
    assert Simulation(**options).footer == f"event by event, from empty, {tail}"
    assert Simulation(**options, horizon=9.0).footer == f"event by event, from empty to time 9, {tail}"
    nobody = Moment(2.0, None, None, None, *exact(1.0, 2.0, 3.0, 0.5))
    assert Simulation(**options, moments=(nobody,)).moments_summary.rows == (
        (2.0, "-", "-", "-", *exact(1.0, 2.0, 3.0, 0.5)),
    )
    somebody = Moment(2.0, *exact(4.0, 5.0, 6.0), *exact(1.0, 2.0, 3.0, 0.5))
    assert Simulation(**options, moments=(somebody,)).moments_summary.rows[0][1:4] == tuple(exact(4.0, 5.0, 6.0))
