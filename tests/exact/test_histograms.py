"""Histograms of many classes: what is written down and counted later is what is counted in place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import loynes
from loynes.inputs.philox import STREAM_STATIONARY
from loynes.inputs.tables import job_table
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events import histograms, loop
from loynes.kernels.events.engine import Events, EventState, run_replicas
from loynes.kernels.events.histograms import Histograms
from loynes.kernels.events.policies import find_policy
from loynes.kernels.tally import BINS


def _task() -> Events:
    """Seventy classes; replica by replica jobs wait, and some still run when the last is drawn."""
    classes = [
        {"name": f"c{i}", "need": 1 + i % 5, "probability": 1 / 70,
         "service": {"law": "exponential", "mean": 1.0 + i % 3}} for i in range(70)
    ]  # fmt: skip
    model = loynes.load({"servers": 10, "classes": classes})
    table = job_table(model, 0.6 * model.ideal)
    task = Events(table, 1, STREAM_STATIONARY, np.arange(3), find_policy("easy"), burn_in=300, unit=model.mean_service)
    return replace(task, jobs_observed=40_000)


@pytest.mark.parametrize("horizon", [None, 3_000.0])
def test_written_down_or_counted_in_place(horizon: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    task = replace(_task(), horizon=horizon, burn_in=300 if horizon is None else 0)
    monkeypatch.setattr(histograms, "AT_ONCE", 5_000)
    written = run_replicas(task, CpuEngine(1))
    monkeypatch.setattr(loop, "COUNTED_IN_PLACE", 70)
    in_place = run_replicas(task, CpuEngine(1))
    for one, other in zip(written, in_place, strict=True):
        assert (one.observations.sums == other.observations.sums).all()
        for name in ("waits", "responses"):
            found, expected = getattr(one, name), getattr(other, name)
            assert found.times.dtype == expected.times.dtype
            assert (found.place == expected.place).all()
            assert (found.times == expected.times).all()
            assert found.times.sum() == one.observed == one.observations.ended


def test_journalled_and_read_back() -> None:
    task = replace(_task(), jobs_observed=500)
    state, again = EventState([None] * 3), EventState([None] * 3)
    CpuEngine(1).run(task, state, 0, 2)  # of three rows, one is still to be run
    task.restore(again, task.saved(state))
    assert again.records[2] is None
    for one, other in zip(state.records[:2], again.records[:2], strict=True):
        assert one is not None
        assert other is not None
        assert (one.observations.sums == other.observations.sums).all()
        for name in ("waits", "responses"):
            for part in Histograms._fields:
                assert (getattr(getattr(one, name), part) == getattr(getattr(other, name), part)).all()


def test_hits_are_counted() -> None:
    rng = np.random.default_rng(1)
    gathered, dense = histograms.Gathered(), np.zeros((4, BINS), np.uint32)
    for _ in range(5):
        job_class, hit = rng.integers(0, 4, 1_000), rng.integers(0, 9, 1_000)
        gathered.add(job_class, hit)
        np.add.at(dense, (job_class, hit), np.uint32(1))
        found = gathered.counted()
        assert all((a == b).all() for a, b in zip(found, Histograms.of(dense), strict=True))
    assert (found.together(1, 3) == dense[1:3].sum(axis=0)).all()
