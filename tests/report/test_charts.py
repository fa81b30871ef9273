"""One record of a chart, drawn by matplotlib and as the page's data: both have the record's numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

import loynes
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.estimators.metrics import metric
from loynes.results.base import Result
from loynes.results.charts.certified import LEAST, tail
from loynes.results.charts.chart import Bar, Bound, Chart, Lines, Part, Parts, Row, Rows, Steps, Timeline, decades
from loynes.results.charts.drawing import COLOURS, draw, picture, save_picture
from loynes.results.charts.evaluation import waits
from loynes.results.charts.register import charts_of
from loynes.results.charts.sweep import lines
from loynes.results.paths import change_in_words, in_words
from report_data import FEW, KINDS, changed, mapped, model, result_of


@pytest.fixture(autouse=True)
def _close() -> Any:
    yield
    plt.close("all")


def every_chart() -> list[tuple[str, Chart]]:
    return [(kind, chart) for kind in KINDS for chart in charts_of(result_of(kind))]


def ends(value: Estimate | None) -> list[float | None] | None:
    """As JSON holds them: an end that is not finite is null."""
    if value is None:
        return None
    return [x if math.isfinite(x) else None for x in (value.estimate, value.low, value.high)]


def numbers(value: Any) -> list[float]:
    """All finite numbers of plain data."""
    if isinstance(value, dict):
        return [x for one in value.values() for x in numbers(one)]
    if isinstance(value, list):
        return [x for one in value for x in numbers(one)]
    return [float(value)] if isinstance(value, float | int) and not isinstance(value, bool) else []


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_has_a_picture(kind: str, tmp_path: Path) -> None:
    for ending in ("png", "svg"):
        path = tmp_path / f"one.{ending}"
        save_picture(result_of(kind), path)
        first = path.read_bytes()
        save_picture(result_of(kind), path)
        assert path.read_bytes() == first
    _, given = plt.subplots()
    assert picture(result_of(kind), given) is given


def test_all_kinds_of_charts_are_there() -> None:
    assert {type(chart) for _, chart in every_chart()} == {Rows, Parts, Lines, Steps, Timeline}


def test_what_has_no_picture() -> None:
    none = changed(result_of("certificate"), certificate=None, why="a tail is heavy")
    for nothing, why in ((Result(), "no picture of this kind"), (none, "nothing to draw")):
        with pytest.raises(UsageError, match=why):
            picture(nothing)


def test_rows_have_their_numbers() -> None:
    for _, chart in every_chart():
        if not isinstance(chart, Rows):
            continue
        data = chart.to_data()
        assert [row["values"] for row in data["rows"]] == [[ends(v) for v in row.values] for row in chart.rows]  # type: ignore[attr-defined]
        ax = draw(chart)
        if chart.bars:
            assert_bars(chart, ax)
            continue
        shown = [*chart.rows[chart.pinned :], *chart.rows[: chart.pinned]]
        assert [label.get_text() for label in ax.get_xticklabels()] == [row.label for row in shown]
        measures = chart.first or range(len(chart.measures))
        wanted = sorted(v.estimate for row in shown for m in measures if (v := row.values[m]) is not None)
        assert sorted(y for bar in ax.containers for y in bar[0].get_ydata()) == pytest.approx(wanted)
        reach = sorted(v.high for row in shown for m in measures if (v := row.values[m]) and math.isfinite(v.high))
        tops = sorted(path.vertices[:, 1].max() for bar in ax.containers for path in bar[2][0].get_paths())
        assert set(np.round(reach, 9)) <= set(np.round(tops, 9))


def assert_bars(chart: Rows, ax: Any) -> None:
    """A bar a row, the first on top, and an interval over it."""
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.label for row in chart.rows]
    values = [row.values[0] for row in chart.rows]
    assert [patch.get_width() for patch in ax.patches] == pytest.approx([v.estimate for v in values if v is not None])
    reach = [(v.low, v.high) for v in values if v is not None]
    lines = [tuple(path.vertices[:, 0]) for one in ax.collections for path in one.get_paths()]
    assert np.allclose(lines, reach)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_parts_have_their_numbers() -> None:
    for _, chart in every_chart():
        if not isinstance(chart, Parts):
            continue
        parts = [(bar, part) for bar in chart.bars for part in bar.parts]
        data = [part for bar in chart.to_data()["bars"] for part in bar["parts"]]  # type: ignore[attr-defined]
        assert [part["value"] for part in data] == [ends(part.value) for _, part in parts]
        widths = [patch.get_width() for patch in draw(chart).patches]
        assert [w * bar.total for w, (bar, _) in zip(widths, parts, strict=True)] == pytest.approx(
            [part.value.estimate for _, part in parts]
        )


def test_lines_have_their_numbers() -> None:
    for _, chart in every_chart():
        if not isinstance(chart, Lines):
            continue
        data = chart.to_data()
        values = [[ends(v) for v in row] for place in chart.points for row in place.values]
        assert [row for point in data["points"] for row in point["values"]] == values  # type: ignore[attr-defined]
        if len(chart.vary) > 1:
            continue  # a picture has a line for every combination
        ax = draw(chart)
        drawn = {line.get_label(): line for line in ax.lines if not str(line.get_label()).startswith("_")}
        for n, name in enumerate(chart.series):
            label = chart.measures[chart.first[0]] if len(chart.first) > 1 else name
            column = [(place.config[0], row[n]) for place in chart.points if (row := place.values[chart.first[0]])]
            # Names, such as those of percentiles, stand side by side.
            column = [(k if isinstance(x, str) else x, v) for k, (x, v) in enumerate(column)]
            # A logarithm has no place for 0.
            wanted = [
                (x, math.nan if chart.log and v.estimate <= 0 else v.estimate) for x, v in column if v is not None
            ]
            np.testing.assert_array_equal(drawn[label].get_xydata(), np.array(wanted))


def test_steps_have_their_numbers() -> None:
    (chart, *_) = charts_of(result_of("replay"))
    assert isinstance(chart, Steps)
    series = result_of("replay").series
    panels = chart.to_data()["panels"]
    assert panels[0]["series"][0]["values"] == list(series.busy_servers)  # type: ignore[index]
    assert panels[1]["series"][0]["values"] == list(series.jobs_waiting)  # type: ignore[index]
    ax = draw(chart)
    busy, lost = (patch.get_data() for patch in ax.patches)
    assert busy.values == pytest.approx(series.busy_servers)
    assert lost.values - lost.baseline == pytest.approx(series.hol_loss)
    (right,) = [one for one in ax.figure.axes if one is not ax]
    assert right.patches[0].get_data().values == pytest.approx(series.jobs_waiting)
    assert chart.end[-1] * 86400.0 == pytest.approx(series.end[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_are_not_finite_are_left_out(kind: str) -> None:
    for change in (
        lambda e: Estimate(math.nan, math.nan, math.nan),
        lambda e: Estimate(e.estimate, -math.inf, math.inf),
    ):
        for chart in charts_of(mapped(result_of(kind), change)):
            assert all(map(math.isfinite, numbers(chart.to_data())))
            draw(chart)


def test_the_wait_over_time_and_the_jobs_waiting_beside_it() -> None:
    r = result_of("simulation")
    ax = picture(r)
    assert ax.lines[0].get_ydata().tolist() == [m.wait.estimate for m in r.moments]
    (right,) = [one for one in ax.figure.axes if one is not ax]
    assert right.lines[0].get_ydata().tolist() == [m.jobs_waiting.estimate for m in r.moments]
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "jobs waiting"
    (span,) = charts_of(r)[0].spans  # type: ignore[attr-defined]
    assert (span.since, span.until, span.label) == (5.0, 10.0, "burst of T1")
    assert [patch.get_label() for patch in ax.patches] == ["burst of T1"]


def test_policies_have_their_limits() -> None:
    r = result_of("policies")
    ax = picture(r)
    colours = {line.get_label(): line.get_color() for line in ax.lines}
    dashed = [line for line in ax.lines if str(line.get_label()).startswith("_")]
    assert [line.get_xdata()[0] for line in dashed] == [limit.rate.estimate for limit in r.limits.values()]
    assert [line.get_color() for line in dashed] == [colours[name] for name in r.limits]


def test_a_sweep_has_options() -> None:
    r = result_of("sweep")
    answers = [point.result for point in r.points if point.result is not None]
    ax = draw(lines(r, metric="hol_loss", x="rate"))
    assert ax.lines[0].get_ydata().tolist() == [one.system.hol_loss.estimate for one in answers]
    assert ax.lines[0].get_xdata().tolist() == [one.rate for one in answers]
    assert ax.lines[-1].get_xdata()[0] == answers[0].threshold.estimate
    assert ax.get_ylabel() == metric("hol_loss").label
    ax = draw(lines(r, metric="response.p90", classes=["T2"]))
    drawn = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    assert [line.get_label() for line in drawn] == ["T2"]
    assert drawn[0].get_ydata().tolist() == [one.classes["T2"].response.p90.estimate for one in answers]
    assert r.plot(metric="wait.p99").get_ylabel() == metric("wait.p99").label
    with pytest.raises(UsageError, match=r"metric 'mean': not in these results; there are .*wait\.mean"):
        lines(r, metric="mean")
    with pytest.raises(UsageError, match=r"x 'servers': must be one of load, rate$"):
        lines(r, x="servers")


def test_a_sweep_of_two_things() -> None:
    r = loynes.sweep(model(), loads=[0.3, 0.6], vary={"servers": [6, 8]}, exceeds=[1.0], **FEW)
    chart = lines(r)
    assert [line.get_label() for line in draw(chart).lines[:2]] == ["servers 6", "servers 8"]
    names = {line.get_label() for line in draw(lines(r, classes=["T1", "T5"])).lines}
    assert {"T1 servers 6", "T5 servers 8"} <= names
    rates = lines(r, x="rate")
    assert rates.vary[0] == "rate"
    limits = {limit.where: limit.at for limit in rates.limits}
    assert limits == {
        (None, float(n)): point.result.threshold.estimate for n, point in ((6, r.points[0]), (8, _eight(r)))
    }
    assert lines(r, metric="wait>1").measures[lines(r, metric="wait>1").first[0]] == "P(wait > 1)"


def _eight(result: Any) -> Any:
    return next(point for point in result.points if point.config["servers"] == 8)


def test_words_on_an_axis() -> None:
    r = loynes.sweep(model(), rates=[0.8], vary={"discipline": ["fcfs", "random"]}, **FEW)
    ax = draw(lines(r, x="discipline"))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["fcfs", "random"]


def test_differences_that_may_be_none_are_hollow() -> None:
    clear, unsure = Estimate(-1.0, -1.5, -0.5), Estimate(0.1, -0.2, 0.4)
    rows = (Row("a", (clear,)), Row("b", (unsure,)))
    ax = draw(Rows(title="", axis="difference", measures=("mean",), rows=rows, zero=True))
    assert [bar[0].get_fillstyle() for bar in ax.containers] == ["full", "none"]


def test_many_rows_and_long_names_fit() -> None:
    r = result_of("evaluation")
    many = changed(r, classes={f"a class with a long name, number {n}": r.overall for n in range(60)})
    assert len(picture(many).get_xticklabels()) == 40
    whole = Parts(title="", bars=(Bar("servers" * 9, 4.0, (Part("busy" * 20, Estimate.exact(1.0), "busy"),)),))
    draw(whole).figure.canvas.draw()
    assert charts_of(r)[0].to_data() == replace(charts_of(r)[0]).to_data()


def test_titles_and_notes_say_what_is_drawn() -> None:
    (shares,) = charts_of(result_of("check"))
    assert shares.picture_title == "three: where jobs and work come from"
    assert charts_of(result_of("threshold"))[0].picture_title == "three: what the servers do when the cluster is full"
    r = result_of("evaluation")
    assert charts_of(r)[0].note == "p95: 95 of 100 jobs wait at most so long. Bars are intervals."
    assert waits(r, "").note == "p95: 95 of 100 jobs wait at most so long."
    r = result_of("exact")
    assert charts_of(r)[0].title == "Mean waits by class"
    assert charts_of(changed(r, overall=None))[0].title == "What the servers do when the cluster is full"
    assert charts_of(result_of("comparison"))[0].zero  # type: ignore[attr-defined]
    r = result_of("simulation")
    assert charts_of(r)[0].note == "Bands are intervals. Shaded: changes of the scenario."
    assert charts_of(changed(r, model=model()))[0].note == "Bands are intervals."
    assert "Crosses at the top have no answer." in charts_of(result_of("sweep"))[0].note
    r = result_of("sensitivity")
    first, *others = r.effects
    endless = changed(r, effects=(changed(first, effect=Estimate.exact(math.inf)), *others))
    (drawn,) = charts_of(endless)
    assert drawn.note.endswith(f"no effect. Left out, since the cluster would be unstable: {first.label}.")
    assert [row.label for row in drawn.rows] == [one.label for one in others]  # type: ignore[attr-defined]
    assert charts_of(r)[0].note.endswith("so there may be no effect.")


def test_what_is_cut_is_said() -> None:
    rows = tuple(Row(f"{n}", (Estimate.exact(1.0),)) for n in range(41))
    chart = Rows(title="", axis="", measures=("mean",), rows=rows)
    assert chart.to_data()["note"] == "The first 40 of 41 rows; the table has all."
    assert replace(chart, rows=rows[:40]).to_data()["note"] == ""


def test_values_far_apart() -> None:
    def far(*values: float) -> bool:
        return decades([None, *(Estimate.exact(value) for value in values)])

    assert [far(1.0, 101.0), far(1.0, 100.0), far(0.0, 5.0), far(1.0, math.inf), far()] == [True, *[False] * 4]


def test_objectives_beside_their_bounds() -> None:
    """p95(wait) <= 6 and no_wait >= 0.3 over all values tried; then as parts of their bounds, one turned over."""
    r = result_of("plan")
    curve, together, *_ = charts_of(r)
    assert isinstance(curve, Lines)
    assert isinstance(together, Rows)
    assert curve.measures == ("p95(wait)", "no_wait", "mean wait")
    assert curve.bounds == (Bound(6.0), Bound(0.3, at_least=True), None)
    assert [place.config[0] for place in curve.points] == sorted({one["value"] for one in r.tried})
    assert all(len(place.values) == 3 for place in curve.points)
    at = {place.config[0]: place.values for place in curve.points}
    assert at[r.answer][2][0].half_width <= r.meets.overall.wait.mean.half_width
    bounds = [line.get_ydata()[0] for line in draw(curve).lines if list(line.get_xdata()) == [0, 1]]
    assert bounds == [6.0]
    met = next(row for row in together.rows if row.label == r.named(r.answer))
    first, second = (goal.meets for goal in r.objectives)
    assert met.values[0] == first.scaled(1 / 6.0)
    assert met.values[1] == Estimate(0.3 / second.estimate, 0.3 / second.high, 0.3 / second.low)


def test_a_bound_is_drawn_until_it_is_negligible() -> None:
    r = result_of("certificate")
    (chart,) = charts_of(r)
    assert isinstance(chart, Lines)
    assert chart.points[0].config == (0.0,)
    assert tail(r.certificate, float(chart.points[-1].config[0])) == pytest.approx(LEAST)


def test_bars_have_the_colour_of_their_sign() -> None:
    rows = (Row("up", (Estimate(1.0, 0.5, 2.0),)), Row("down", (Estimate(-1.0, -2.0, -0.5),)))
    ax = draw(Rows(title="", axis="", measures=("mean",), rows=rows, zero=True, bars=True))
    up, down = (patch.get_edgecolor()[:3] for patch in ax.patches)
    assert (up, down) == (mpl.colors.to_rgb(COLOURS[1]), mpl.colors.to_rgb(COLOURS[0]))


def test_parts_that_are_wide_enough_say_how_much_they_are() -> None:
    parts = tuple(Part(name, Estimate.exact(x), "busy") for name, x in (("a", 0.9), ("b", 0.07), ("c", 0.03)))
    one = Bar("one", 1.0, parts)
    ax = draw(Parts(title="", bars=(one, one)))
    assert [text.get_text() for text in ax.texts] == ["90%", "7%"] * 2
    assert [text.get_text() for text in draw(Parts(title="", bars=(one,))).texts] == []


def test_one_measure_needs_no_legend() -> None:
    values = (Estimate.exact(1.0), Estimate.exact(2.0))
    assert draw(Rows(title="", axis="", measures=("a",), rows=(Row("x", values[:1]),))).get_legend() is None
    assert draw(Rows(title="", axis="", measures=("a", "b"), rows=(Row("x", values),))).get_legend() is not None


@pytest.mark.parametrize("kind", ["evaluation", "simulation", "exact", "replay"])
def test_tails_are_drawn(kind: str) -> None:
    """plot(kind="tail"): a line for all jobs and every class, over the grid of the record; a wrong kind is named."""
    r = result_of(kind)
    ax = r.plot(kind="tail")
    assert ax.get_yscale() == "log"
    assert {line.get_label() for line in ax.lines} == set(r.tails.classes)
    one = next(line for line in ax.lines if line.get_label() == "all jobs")
    first = r.tails.classes["all jobs"].estimate[0]
    assert one.get_xydata()[0].tolist() == [0.0, first]
    assert first == pytest.approx(1.0 - float(getattr(r.overall.no_wait, "estimate", r.overall.no_wait)), abs=1e-9)
    with pytest.raises(UsageError, match=r"there is no such chart of this result; there are .*tail"):
        r.plot(kind="pie")


def test_every_class_under_every_policy() -> None:
    r = result_of("policies")
    rows = next(chart for chart in charts_of(r) if chart.about == "classes")
    assert isinstance(rows, Rows)
    assert rows.measures == r.policies
    point = {(one.rate, one.policy): one.result for one in r.points}
    highest = max(rate for rate, _ in point if all(point[rate, name] is not None for name in r.policies))
    for row in rows.rows[1:]:
        assert row.values == tuple(point[highest, name].classes[row.label].wait.mean for name in r.policies)
    by_class = next(chart for chart in charts_of(r) if chart.about == "class lines")
    assert isinstance(by_class, Lines)
    assert {place.config[1] for place in by_class.points} == {row.label for row in rows.rows[1:]}


def test_paths_in_words() -> None:
    told = {
        "classes.T15.service.mean": "mean service of T15", "classes.T1.need": "need of T1", "servers": "servers",
        "arrivals.rate": "arrival rate", "resources.gpu": "gpu", "load": "load",
    }  # fmt: skip
    assert {path: in_words(path) for path in told} == told
    assert change_in_words("classes.T15.service.mean=5") == "mean service of T15 = 5"
    r = loynes.compare(model(), change=["classes.T5.service.mean=0.5"], load=0.5, **FEW)
    assert r.called[1] == "mean service of T5 = 0.5"
    assert r.names[1] == "classes.T5.service.mean=0.5"
