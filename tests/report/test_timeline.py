"""The timeline of a forecast: bars are as dense as it is sure that a job runs then."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

import loynes
from loynes.results.charts.chart import MOST_ROWS, Timeline
from loynes.results.charts.drawing import draw
from loynes.results.charts.register import charts_of
from loynes.results.records.eta import Eta

LINE = Path(__file__).parents[2] / "examples" / "line"


@pytest.fixture(scope="module")
def result() -> Eta:
    history = str(LINE / "history.swf.gz")
    found = loynes.eta(LINE / "squeue.json", servers=64, history=history, draws=200)
    assert isinstance(found, Eta)
    return found


@pytest.fixture
def chart(result: Eta) -> Timeline:
    return next(chart for chart in charts_of(result) if isinstance(chart, Timeline))


def test_running_jobs_fade_out_and_waiting_ones_in(result: Eta, chart: Timeline) -> None:
    size, _ = result.unit
    running = {one.id: one for one in result.running}
    assert len(chart.rows) == len(result.running) + len(result.jobs) <= MOST_ROWS
    for row in chart.rows:
        sure = [probability for _, _, probability in row.stretches]
        for (_, end, _), (begin, _, _) in itertools.pairwise(row.stretches):
            assert begin == end
        if row.label in running:
            one = running[row.label]
            assert row.stretches[0] == (max(-one.elapsed / size, chart.begin), 0.0, 1.0)
            assert sure == sorted(sure, reverse=True)
            # Half of what is left, in probability, lies behind the median.
            assert sum(b for _, b, share in row.stretches if share == 0.6) == pytest.approx(one.median / size)
            assert row.limit == (one.limit - one.elapsed) / size
            assert row.stretches[-1][1] <= row.limit
        else:
            assert sure == sorted(sure)
            assert row.stretches[0][0] <= row.at <= row.stretches[-1][1]


def test_a_page_and_a_picture_have_it(result: Eta, chart: Timeline) -> None:
    data = json.loads(json.dumps(chart.to_data(), allow_nan=False))
    assert data["kind"] == "timeline"
    assert len(data["rows"]) == len(chart.rows)
    assert "From running to waiting" in str(result.report())
    axes = draw(chart)
    assert axes.get_xlim() == (chart.begin, chart.end)
    assert len(axes.get_yticklabels()) == len(chart.rows)
