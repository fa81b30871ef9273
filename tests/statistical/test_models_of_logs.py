"""Parts of models of logs: what a known process left in a log is found in it again. Tolerances are five standard errors
unless said otherwise; seeds are fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from loynes.errors import TraceError
from loynes.model import load
from loynes.traces.burstiness import Burstiness
from loynes.traces.modelling import class_tables, cycle_table, more_phases, session_table
from loynes.traces.phases import fit_phases, phases_table
from loynes.traces.trace import Trace

HOUR, DAY = 3600.0, 86400.0


def trace(submit: np.ndarray, need: np.ndarray | int = 1, service: np.ndarray | float = 60.0) -> Trace:
    count = len(submit)
    needs = np.broadcast_to(np.asarray(need, np.int64), count).copy()
    services = np.broadcast_to(np.asarray(service, float), count).copy()
    return Trace(submit - submit[0], needs, services, np.full(count, np.nan), {})


def test_two_hidden_phases() -> None:
    """Bins whose phase is not known: rates to five standard errors, moves to as many, and half as much again since
    where a phase ends can be seen only roughly."""
    rng = np.random.default_rng(1)
    rate, move, bins = np.array([[2.0, 0.1], [0.3, 0.8]]), np.array([0.02, 0.05]), 20_000
    phase = np.zeros(bins, np.int64)
    change = rng.random(bins)
    for t in range(1, bins):
        phase[t] = phase[t - 1] ^ int(change[t] < move[phase[t - 1]])
    counts = rng.poisson(rate[phase]).astype(float)
    found, moves = fit_phases(counts, 2)
    order = np.argsort(-found[:, 0])
    found, moves = found[order], moves[np.ix_(order, order)]
    there = np.bincount(phase)
    assert np.all(np.abs(found - rate) < 1.5 * 5.0 * np.sqrt(rate / there[:, None]))
    left = np.array([moves[0, 1], moves[1, 0]])
    assert np.all(np.abs(left - move) < 1.5 * 5.0 * np.sqrt(move / there))
    assert np.all(np.diag(moves) == 0.0)


def test_phases_become_arrivals() -> None:
    """By turns of about a day jobs of one class come, then those of another: phases tell them apart, and the model has
    the log's own rate and classes."""
    rng = np.random.default_rng(2)
    turns = np.cumsum(rng.exponential(DAY, 120))
    submit = np.sort(rng.uniform(0.0, turns[-1], 12_000))
    turn = np.searchsorted(turns, submit) % 2
    group = np.where(rng.random(12_000) < 0.95, turn, 1 - turn)
    table = phases_table(trace(submit), group, 2)
    mix = np.array(table["mix"])
    assert np.abs(np.sort(mix[:, 0]) - [0.05, 0.95]).max() < 0.03  # how well a turn's end is known adds to 0.01
    classes = [{"need": k + 1, "service": {"law": "exponential", "mean": 1.0}} for k in range(2)]
    model = load({"servers": 2, "arrivals": table, "classes": classes})
    assert model.rate == pytest.approx(12_000 / turns[-1], rel=0.02)
    assert model.classes[0].probability == pytest.approx(float(np.mean(group == 0)), abs=0.03)
    with pytest.raises(TraceError, match="too short for 8 phases"):
        phases_table(trace(submit[:100]), group[:100], 8)


@pytest.mark.parametrize(("days", "slots"), [(70, 168), (14, 24)])
def test_a_cycle_has_the_rates_of_hours(days: int, slots: int) -> None:
    """Hours of the week where there are three weeks, else of the day; large jobs come by night."""
    rng = np.random.default_rng(3)
    hours = np.arange(24 * days)
    rate = np.where(hours % 24 < 12, 20.0, 5.0) * np.where((slots == 168) & (hours // 24 % 7 >= 5), 0.4, 1.0)
    count = rng.poisson(rate)
    count[0] = max(count[0], 1)
    submit = (np.repeat(hours, count) + rng.random(count.sum())) * HOUR
    submit[0] = 0.0  # so that hours of the log are those of the clock
    submit = np.sort(submit)
    night = submit // HOUR % 24 >= 12
    group = (rng.random(len(submit)) < np.where(night, 0.8, 0.1)).astype(np.int64)
    table = cycle_table(trace(submit), group)
    assert table["cycle"] == slots * HOUR
    found, mix = np.array(table["rates"]) * HOUR, np.array(table["mix"])
    times = len(hours) / slots
    assert np.all(np.abs(found - rate[:slots]) < 5.0 * np.sqrt(rate[:slots] / times))
    # An hour's share of large jobs, drawn towards the overall one by twenty of them.
    came = np.add.reduceat(count.reshape(-1, 24).sum(axis=0), np.arange(24))
    overall = group.mean()
    expected = np.where(np.arange(slots) % 24 >= 12, 0.8, 0.1)
    jobs = came[np.arange(slots) % 24]
    drawn = (jobs * expected + 20.0 * overall) / (jobs + 20.0)
    assert np.all(np.abs(mix[:, 1] - drawn) < 5.0 * np.sqrt(expected * (1 - expected) / jobs))
    assert np.allclose(mix.sum(axis=1), 1.0)
    assert float(found.sum()) * times == pytest.approx(len(submit), rel=0.001)


def test_sessions_keep_sizes_gaps_and_likeness() -> None:
    rng = np.random.default_rng(4)
    sessions = 4000
    size = rng.geometric(0.25, sessions)
    session = np.repeat(np.arange(sessions), size)
    first = np.diff(session, prepend=-1) > 0
    gaps = np.where(first, rng.exponential(600.0, len(session)), rng.exponential(20.0, len(session)))
    own = rng.lognormal(5.0, 1.0, len(session))
    same = np.repeat(own[first], size)
    service = np.where(first | (rng.random(len(session)) < 0.4), same, own)
    group = np.repeat(rng.integers(0, 3, sessions), size)
    log = trace(np.cumsum(gaps), service=service)
    table = session_table(log, group, session)
    law = {name: np.array(table["size"][name]) for name in ("values", "weights")}
    assert law["weights"].sum() == sessions
    assert float(law["values"] @ law["weights"]) == len(session)
    assert law["weights"][0] == np.sum(size == 1)
    model = load({"servers": 1, "classes": [{"need": 1, "probability": 1, "service": table["gap"]}]})
    assert model.classes[0].service.mean == pytest.approx(20.0, rel=5.0 / np.sqrt((~first).sum()))
    assert abs(table["repeat"] - 0.4) < 5.0 / np.sqrt((~first).sum())
    # Jobs of other classes in between end a run.
    mixed = session_table(log, np.arange(log.jobs) // 2 % 2, session)
    assert max(mixed["size"]["values"]) <= 2.0
    with pytest.raises(TraceError, match="hardly any jobs come in sessions"):
        session_table(log, group, np.arange(log.jobs))


def dispersion(table: dict[str, Any], times: np.ndarray) -> np.ndarray:
    """Variance over mean of the arrivals of a modulated Poisson process, by the covariance of its rate."""
    generator, rates = np.array(table["generator"]), np.array(table["rates"])
    phases = np.linalg.lstsq(
        np.vstack([generator.T, np.ones(len(rates))]), np.r_[np.zeros(len(rates)), 1.0], rcond=None
    )[0]
    mean = float(phases @ rates)
    found = []
    for t in times:
        u = np.linspace(0.0, t, 801)
        step = expm(generator * (u[1] - u[0]))
        seen, weight = [], phases * rates
        for _ in u:
            seen.append(float(weight @ rates) - mean * mean)
            weight = weight @ step
        found.append(1.0 + 2.0 * float(np.trapezoid((t - u) * np.array(seen), u)) / (mean * t))
    return np.array(found)


@pytest.mark.parametrize("fast", [1 / 600.0, 1 / 750.0, 1 / 900.0])
def test_two_scales_of_time(fast: float) -> None:
    """A dispersion of two terms comes out of the four phases again, to a tenth at every scale."""
    mean, slow = 1 / 60.0, fast / 60.0
    scale = np.geomspace(240.0, 80 * DAY / 40.0, 12)
    terms = [a * (1.0 - -np.expm1(-r * scale) / (r * scale)) for a, r in ((2.0, fast), (90.0, slow))]
    curve = 1.0 + terms[0] + terms[1]
    windows = tuple((80 * DAY / scale).astype(int).tolist())
    bursts = Burstiness(115_200, mean, 1.5, 0.1, 0.0, tuple(scale), tuple(curve), windows)
    log = trace(np.arange(10.0))
    table = more_phases(log, bursts)
    assert len(table["rates"]) == 4
    assert min(table["rates"]) >= 0.0
    assert np.mean(table["rates"]) == pytest.approx(mean)
    assert np.abs(dispersion(table, scale) / curve - 1.0).max() < 0.1


def test_one_scale_of_time_is_not_two() -> None:
    scale = np.geomspace(240.0, 80 * DAY / 40.0, 12)
    flat = Burstiness(9, 1 / 60.0, 1.0, 0.0, 0.0, tuple(scale), (1.0,) * 12, (100,) * 12)
    with pytest.raises(TraceError, match="do not disperse on two scales of time"):
        more_phases(trace(np.arange(10.0)), flat)


@pytest.mark.parametrize("lengths", [1, 4])
def test_lengths_keep_work_and_probabilities(lengths: int) -> None:
    rng = np.random.default_rng(6)
    need = rng.choice([1, 2, 8], 6000, p=[0.5, 0.3, 0.2])
    service = rng.lognormal(6.0, 1.5, 6000)
    service[:600] = 30.0  # many of one length: they stay together
    log = trace(np.arange(6000.0), need, service)
    tables, group = class_tables(log, 12, "empirical", lengths)
    model = load({"servers": 8, "classes": tables})
    assert len(model.classes) == 3 * lengths == group.max() + 1
    assert sum(one["probability"] for one in tables) == pytest.approx(1.0)
    assert model.work == pytest.approx(log.work / 6000)
    for k, one in enumerate(tables):
        members = group == k
        assert one["probability"] == members.mean()
        assert set(need[members]) == {one["need"]}
        assert model.classes[k].service.mean == pytest.approx(service[members].mean())
    if lengths > 1:
        assert tables[0]["name"] == "need-1-length-1"
        for first in range(0, 12, 4):
            ends = [(service[group == k].min(), service[group == k].max()) for k in range(first, first + 4)]
            assert all(ends[k][1] <= ends[k + 1][0] for k in range(3))
            shares = np.array([np.mean(group == k) for k in range(first, first + 4)])
            assert np.abs(shares / shares.sum() - 0.25).max() < 0.01
