"""Replays against the reference, bit for bit, and against an event-by-event run that shares no code with either."""

from __future__ import annotations

import heapq
import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loynes
from loynes.errors import LoynesWarning, TraceError, UsageError
from loynes.estimators.jobs import average_in_windows
from loynes.kernels import reference
from loynes.kernels.cpu.stretches import run_replay
from loynes.kernels.reference import BLOCK
from loynes.questions.answering.replaying import REST
from loynes.traces.trace import TOO_LARGE
from trace_files import drawn, swf_text

Array = np.ndarray


@st.composite
def workloads(draw: Any) -> tuple[int, Array, Array, Array]:
    """Servers, needs, services and submissions; whole seconds or not, crowded or not, any number of blocks."""
    servers = draw(st.integers(1, 40))
    jobs = draw(st.integers(1, 4 * BLOCK) | st.sampled_from([1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    need = rng.integers(1, draw(st.integers(1, servers)) + 1, jobs)
    service = rng.lognormal(3.0, draw(st.floats(0.0, 2.0)), jobs) + 0.1
    gap = rng.exponential(draw(st.floats(0.1, 3.0)) * 30.0 / servers, jobs) * (
        rng.random(jobs) < draw(st.floats(0.1, 1.0))
    )
    if draw(st.booleans()):
        service, gap = np.ceil(service), np.floor(gap)
    return servers, need, service, np.cumsum(gap) - gap[0]


def by_reference(servers: int, need: Array, service: Array, submit: Array) -> tuple[Array, Array, Array]:
    W, waits, losses = np.zeros(servers), [], []
    gap = np.append(np.diff(submit), 0.0)
    for first in range(0, len(need), BLOCK):
        part = slice(first, first + BLOCK)
        W, wait, loss = reference.advance_block(W, need[part], service[part], gap[part])
        waits.append(wait)
        losses.append(loss)
    return np.concatenate(waits), np.concatenate(losses), W


def event_by_event(servers: int, need: Array, service: Array, submit: Array) -> Array:
    """Starts: a job at the head of the line waits for as many ends as it takes."""
    free, clock, ends, start = servers, 0.0, [], np.empty(len(need))
    for j in range(len(need)):
        clock = max(clock, submit[j])
        while ends and (ends[0][0] <= clock or free < need[j]):
            end, back = heapq.heappop(ends)
            clock = max(clock, end)
            free += back
        free -= int(need[j])
        start[j] = clock
        heapq.heappush(ends, (clock + service[j], int(need[j])))
    return start


def levels(servers: int, need: Array, submit: Array, start: Array, end: Array) -> list[tuple[float, int, int]]:
    """Time, busy servers and waiting jobs from then on, at every event."""
    events = sorted(
        itertools.chain(
            ((t, 0, 1) for t in submit),
            ((t, int(a), -1) for t, a in zip(start, need, strict=True)),
            ((t, -int(a), 0) for t, a in zip(end, need, strict=True)),
        )
    )
    found, busy, waiting = [], 0, 0
    for time, taken, queued in events:
        busy, waiting = busy + taken, waiting + queued
        found.append((time, busy, waiting))
    return found


@pytest.mark.parametrize("as_runs", [False, True])
@settings(max_examples=60)
@given(workloads())
def test_the_reference_bit_for_bit(as_runs: bool, workload: tuple[int, Array, Array, Array]) -> None:
    found = run_replay(*workload, as_runs)
    wait, loss, W = by_reference(*workload)
    np.testing.assert_array_equal(found.wait, wait)
    np.testing.assert_array_equal(found.workload, W)
    np.testing.assert_allclose(found.loss, loss, rtol=1e-10, atol=1e-9)
    assert found.lost_in(np.array([0.0, np.inf]))[0] == pytest.approx(np.sum(loss), rel=1e-10, abs=1e-9)


def test_a_long_run_list_bit_for_bit() -> None:
    """Hundreds of runs, where the list is searched in windows, and more than one piece of work is in service."""
    rng = np.random.default_rng(11)
    jobs, servers = 40 * BLOCK + 7, 600
    need = np.where(rng.random(jobs) < 0.998, rng.integers(1, 3, jobs), rng.integers(300, servers + 1, jobs))
    service, gap = rng.lognormal(0.0, 1.0, jobs), rng.exponential(0.007, jobs)
    workload = (servers, need, service, np.cumsum(gap) - gap[0])
    wait, _, W = by_reference(*workload)
    assert np.unique(W).size > 100
    assert 0.1 < np.mean(wait > 0) < 0.9
    for as_runs in (False, True):
        found = run_replay(*workload, as_runs)
        np.testing.assert_array_equal(found.wait, wait)
        np.testing.assert_array_equal(found.workload, W)


@settings(max_examples=40)
@given(workloads(), st.integers(1, 12))
def test_events_job_by_job_and_window_by_window(workload: tuple[int, Array, Array, Array], windows: int) -> None:
    servers, need, service, submit = workload
    start = event_by_event(*workload)
    end = start + service
    trace = loynes.read_trace({"submit": submit, "need": need, "service": service})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoynesWarning)
        found = loynes.replay(trace, servers=servers, windows=windows)
    scale = float(end.max())
    np.testing.assert_allclose(found.each["wait"], start - submit, rtol=0, atol=1e-12 * scale)
    edges = np.linspace(0.0, scale, windows + 1)
    sums = np.zeros((3, windows))
    steps = levels(servers, need, submit, start, end)
    for (begin, busy, waiting), (until, _, _) in itertools.pairwise(steps):
        overlap = np.maximum(np.minimum(edges[1:], until) - np.maximum(edges[:-1], begin), 0.0)
        sums += overlap * np.array([[busy], [(servers - busy) * (waiting > 0)], [waiting]])
    width = scale / windows
    series = found.series
    for got, summed in zip((series.busy_servers, series.hol_loss, series.jobs_waiting), sums, strict=True):
        np.testing.assert_allclose(got, summed / width, rtol=1e-9, atol=1e-9 * servers * len(need))
    assert found.system.busy_servers.estimate == pytest.approx(need @ service / scale)
    assert found.system.hol_loss.estimate == pytest.approx(sums[1].sum() / scale, rel=1e-9, abs=1e-9)
    assert found.system.jobs_waiting.estimate == pytest.approx(np.sum(start - submit) / scale, rel=1e-9, abs=1e-12)


def test_windows_average_intervals() -> None:
    begin, end, weight = np.array([0.0, 1.0, 2.5, 4.0]), np.array([4.0, 1.5, 3.5, 4.0]), np.array([1.0, 2.0, 4.0, 9.0])
    found = average_in_windows(begin, end, weight, np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(found, [1.0, 2.0, 3.0, 3.0])


def synthetic(tmp_path: Path, **options: Any) -> loynes.Trace:
    path = tmp_path / "synthetic.swf"
    path.write_bytes(swf_text(drawn(**options), f"; MaxProcs: {options.get('servers', 16)}\n"))
    return loynes.read_trace(path)


def test_figures_are_those_of_the_jobs(tmp_path: Path) -> None:
    trace = synthetic(tmp_path, jobs=3000, load=0.6)
    found = loynes.replay(trace)
    wait = found.each["wait"]
    assert found.servers == 16
    assert found.overall.wait.mean.estimate == pytest.approx(wait.mean())
    assert found.overall.wait.mean.half_width == 0
    assert found.overall.wait.variance.estimate == pytest.approx(wait.var())
    assert found.overall.wait.p95.estimate == np.sort(wait)[int(np.ceil(0.95 * len(wait))) - 1]
    assert found.overall.no_wait.estimate == np.mean(wait == 0)
    assert list(found.classes) == ["need 1", "need 2", "need 4", "need 8"]
    four = found.classes["need 4"]
    assert four.response.mean.estimate == pytest.approx((wait + trace.service)[trace.need == 4].mean())
    assert found.recorded is not None
    assert found.recorded.overall.mean.estimate == pytest.approx(trace.wait.mean())
    assert sum(group.jobs for group in found.classes.values()) == found.jobs == trace.jobs
    assert found.jobs + sum(found.skipped.values()) == found.records
    # Busy, lost and otherwise idle servers are all servers; jobs in the system are those waiting and those served.
    system = found.system
    assert system.busy_servers.estimate + system.idle_servers.estimate == pytest.approx(16)
    assert 0 < system.hol_loss.estimate < system.idle_servers.estimate
    assert np.mean(found.series.busy_servers) == pytest.approx(system.busy_servers.estimate)
    assert np.mean(found.series.hol_loss) == pytest.approx(system.hol_loss.estimate)


def test_many_needs_become_powers_of_two_and_labels_classes() -> None:
    need = np.arange(1, 41)
    labels = np.array([f"u{i % 60}" for i in range(40)])
    trace = loynes.read_trace({"submit": 1000.0 * need, "need": need, "service": 1.0 + 0 * need, "user": labels})
    found = loynes.replay(trace, servers=64)
    assert list(found.classes) == ["need 1", "need 2", *(f"need {n}" for n in ("3-4", "5-8", "9-16", "17-32", "33-64"))]
    assert [group.jobs for group in found.classes.values()] == [1, 1, 2, 4, 8, 16, 8]
    assert found.classes["need 33-64"].need == (33, 40)
    assert found.recorded is None
    assert loynes.replay(trace, servers=64, classes="user").by == "user"
    crowd = np.append(np.arange(70), [5, 5, 9])
    many = {"submit": np.arange(73.0), "need": 0 * crowd + 1, "service": 1.0 + 0 * crowd, "user": crowd}
    found = loynes.replay(loynes.read_trace(many), servers=64, classes="user")
    assert len(found.classes) == 50
    assert found.classes["5"].jobs == 3
    assert found.classes[REST].jobs == 73 - 3 - 2 - 47
    with pytest.raises(UsageError, match="by 'queue': arrays has no such label; it has: user"):
        loynes.replay(trace, servers=64, classes="queue")


def test_what_cannot_be_replayed(tmp_path: Path) -> None:
    trace = loynes.read_trace({"submit": [0, 1, 100], "need": [1, 8, 2], "service": [5, 5, 5]})
    with pytest.raises(UsageError, match="does not say how many"):
        loynes.replay(trace)
    for servers in (0, 10**7):
        with pytest.raises(UsageError, match=f"servers {servers}"):
            loynes.replay(trace, servers=servers)
    with pytest.raises(UsageError, match="windows 0"):
        loynes.replay(trace, servers=8, windows=0)
    with pytest.raises(TraceError, match="every one"):
        loynes.replay({"submit": [0], "need": [9], "service": [1]}, servers=8)
    with pytest.warns(LoynesWarning, match="1 jobs need more than 4"):
        found = loynes.replay(trace, servers=4)
    assert found.skipped == {TOO_LARGE: 1}
    assert found.jobs == 2
    with pytest.warns(LoynesWarning, match="bring work for 5 servers, more than 4"):
        loynes.replay({"submit": [0, 10], "need": [1, 4], "service": [10, 10]}, servers=4)
    once = loynes.replay({"submit": [7, 7], "need": [1, 1], "service": [1, 1]}, servers=1)
    assert once.rate is None
    assert once.each["wait"].tolist() == [0, 1]


def test_results_save_and_load(tmp_path: Path) -> None:
    trace = synthetic(tmp_path, jobs=300, load=0.5)
    found = loynes.replay(trace, windows=5)
    found.save(tmp_path / "r.json")
    assert loynes.read_result(tmp_path / "r.json") == found
    found.save(tmp_path / "run")
    again = loynes.read_result(tmp_path / "run")
    assert isinstance(again, loynes.Replay)
    assert again.overall == found.overall
    data = json.loads(found.to_json())
    assert {"model", "rate", "load", "method", "seed", "backend", "replicas", "jobs", "seconds", "version"} <= set(data)
    assert {"threshold", "certificate", "overall", "classes", "system", "skipped", "recorded", "series"} <= set(data)
    assert data["method"] == "replay"
    assert data["load"] is data["certificate"] is None
    assert len(data["series"]["hol_loss"]) == 5
    assert "recorded" in str(found.summary)
    found.save(tmp_path / "jobs.csv")
    back = loynes.read_trace(tmp_path / "jobs.csv", columns={"wait": "recorded_wait"})
    np.testing.assert_array_equal(back.service, trace.service)
    np.testing.assert_array_equal(back.wait, trace.wait)
    with pytest.raises(UsageError, match="are not kept"):
        again.save(tmp_path / "again.csv")
    with pytest.raises(UsageError, match=r"replay is not written to \.toml"):
        found.save(tmp_path / "r.toml")


def test_parquet_of_all_jobs(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = loynes.replay(synthetic(tmp_path, jobs=300, load=0.5))
    found.save(tmp_path / "jobs.parquet")
    back = loynes.read_trace(tmp_path / "jobs.parquet")
    np.testing.assert_array_equal(back.wait, found.each["wait"])
    np.testing.assert_array_equal(back.labels["response"], found.each["response"])


def test_plot(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = loynes.replay(synthetic(tmp_path, jobs=300, load=0.5)).plot()
    assert axes.get_ylabel() == "servers"
