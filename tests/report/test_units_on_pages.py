"""Pages and charts of models that name their unit: every time has one, and it is the same time."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from loynes.estimate import Estimate
from loynes.report import page
from loynes.results.base import Result
from loynes.results.charts.chart import Bound, Limit, Lines, Place, Row, Rows, Span
from loynes.results.charts.register import charts_of
from loynes.results.charts.units import in_units
from report_data import KINDS, result_of

# Those of logs, and of what a scheduler lists, are in seconds.
OF_LOGS = ("replay", "fitted", "replay cases", "eta", "backtest")
OF_MODELS = [kind for kind in KINDS if not kind.startswith("log") and kind not in OF_LOGS]


def in_hours(kind: str) -> Result:
    """The result of a kind, of a model whose unit is hours."""

    def named(tree: Any) -> Any:
        if isinstance(tree, dict):
            found = {key: named(value) for key, value in tree.items()}
            return found | {"time_unit": "hours"} if "classes" in tree and "arrivals" in tree else found
        return [named(one) for one in tree] if isinstance(tree, list) else tree

    result = result_of(kind)
    return type(result).from_dict(named(result.to_dict()))


def words(html: str) -> str:
    body = html.partition("<header>")[2].partition('<script type="application/json"')[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


@pytest.mark.parametrize("kind", OF_MODELS)
def test_no_time_is_without_a_unit(kind: str) -> None:
    result = in_hours(kind)
    assert result.time_unit == "hours"
    html = page(result)
    for text in (words(html), html.partition('id="charts">')[2], str(result), *map(str, result.tables)):
        assert not re.search(r"units? of time|time units|to which it gives no name", text)
    facts = re.findall(r"\brate ([\d.]+)( per h| jobs/h)?", words(html).partition("The model:")[0])
    assert all(unit for _, unit in facts), facts


@pytest.mark.parametrize("kind", OF_MODELS)
def test_charts_have_the_same_times(kind: str) -> None:
    """Scaled back by the unit that its axis names, every number is what it was."""
    seconds = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0}
    seen = 0
    for then, now in zip(charts_of(result_of(kind)), charts_of(in_hours(kind)), strict=True):
        if isinstance(then, Rows) and isinstance(now, Rows) and then.units and then.units[0] == "time":
            label = now.axis if len(set(then.units)) == 1 else now.measures[0]
            (unit,) = re.findall(r"\((\w+)\)$", label)
            pairs = [(x.values[0], y.values[0]) for x, y in zip(then.rows, now.rows, strict=True)]
        elif isinstance(then, Lines) and isinstance(now, Lines) and then.units and then.units[0] == "time":
            (unit,) = re.findall(r"\((\w+)\)$", now.measures[0])
            places = zip(then.points, now.points, strict=True)
            pairs = [(a, b) for x, y in places if x.values for a, b in zip(x.values[0], y.values[0], strict=True)]
        else:
            continue
        for a, b in pairs:
            if a is not None and b is not None:
                assert b.estimate * seconds[unit] / 3600.0 == pytest.approx(a.estimate, rel=1e-12, nan_ok=True)
                seen += 1
    assert seen or kind in ("threshold", "check", "certificate")


def test_bounds_limits_and_shades_move_along() -> None:
    chart = Lines(
        title="t", vary=("time",), measures=("wait", "share"), units=("time", ""), across="time", series=("a",),
        points=(Place((0.0,), ((Estimate(0.5, 0.4, 0.6),), (Estimate.exact(0.5),))),
                Place((96.0,), ((None,), (None,)), "no answer")),
        limits=(Limit(48.0, "here"),), spans=(Span(24.0, 72.0, "outage"),), bounds=(Bound(0.25), Bound(0.9, True)),
    )  # fmt: skip
    shown = in_units(chart, "hours")
    assert isinstance(shown, Lines)
    assert shown.axes == ["time (days)"]
    assert shown.measures == ("wait (min)", "share")
    assert [place.config for place in shown.points] == [(0.0,), (pytest.approx(4.0),)]
    first = shown.points[0].values
    assert first[0][0] == Estimate(pytest.approx(30.0), pytest.approx(24.0), pytest.approx(36.0))
    assert first[1][0] == Estimate.exact(0.5)
    assert shown.limits[0].at == pytest.approx(2.0)
    assert (shown.spans[0].since, shown.spans[0].until) == (pytest.approx(1.0), pytest.approx(3.0))
    assert [bound and bound.at for bound in shown.bounds] == [pytest.approx(15.0), 0.9]
    assert in_units(chart, None) is chart


def test_measures_of_several_kinds_keep_their_own_units() -> None:
    rows = (Row("a", (Estimate.exact(48.0), Estimate.exact(0.5))), Row("b", (None, Estimate.exact(0.1))))
    chart = Rows(title="t", axis="difference", measures=("wait", "no wait"), rows=rows, units=("time", "probability"))
    shown = in_units(chart, "hours")
    assert isinstance(shown, Rows)
    assert shown.measures == ("wait (days)", "no wait")
    assert shown.axis == "difference"
    assert shown.rows[0].values == (Estimate.exact(2.0), Estimate.exact(0.5))
    assert shown.rows[1].values == (None, Estimate.exact(0.1))
