"""When waiting jobs start: by hand, against the event loop, against exact laws; what a history teaches; scores."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.estimators.forecasts import (
    LEVELS,
    SortedStarts,
    conformal_levels,
    pinball,
    scores,
    share_error,
    sorted_starts,
    stretches,
)
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.forecast import Forecast, ForecastState, Later, later_jobs
from loynes.kernels.events.policies import find_policy
from loynes.questions.answering.added_jobs import AddedJobs
from loynes.traces.run_times import POINTS, RunTimeLaws, full_limits, learn, no_history, remaining
from loynes.traces.snapshot import Snapshot
from loynes.traces.trace import Trace

# The chance that one of the statistical checks below fails though all is right.
FALSE_ALARM = 1e-6


def snapshot(running: int, need: list[int], limit: list[float], elapsed: list[float] | None = None) -> Snapshot:
    count = len(need)
    return Snapshot(
        ids=tuple(map(str, range(count))),
        running=running,
        demand={"servers": np.array(need)},
        elapsed=np.array(elapsed or [0.0] * count),
        limit=np.array(limit, float),
        submit=np.zeros(count),
        labels={},
    )


def draws(
    jobs: Snapshot, laws: RunTimeLaws, servers: int, policy: str = "fcfs", count: int = 1, **ways: object
) -> ForecastState:
    need = np.ascontiguousarray(jobs.need(("servers",)))
    edges = np.linspace(0.0, 50.0, 26)
    rule = find_policy(policy)
    task = Forecast(1, np.arange(count), need, np.array([servers]), jobs.running, laws, edges, rule, **ways)  # type: ignore[arg-type]
    state = task.new_state()
    CpuEngine(1).run(task, state, 0, count)
    return state


def test_first_come_first_served_by_hand() -> None:
    """Four servers. Two run until 3 and 7; 3 servers are wanted, then 1, then 4."""
    jobs = snapshot(2, [2, 2, 3, 1, 4], [10, 10, 5, 2, 1], [7, 3, 0, 0, 0])
    state = draws(jobs, full_limits(jobs), 4)
    assert state.starts.tolist() == [[7, 7, 12]]
    # Busy at 0, 2, ...: 4 until 3, 2 until 7, then 4, at 10 three, at 12 four.
    assert state.busy[0, :8].tolist() == [4, 4, 2, 2, 4, 3, 4, 0]


def test_easy_by_hand() -> None:
    """The head waits for 4 servers at 7; a job of 2 for 5 does not delay it, one of 2 for 8 would."""
    jobs = snapshot(2, [2, 2, 4, 2, 2], [10, 10, 5, 8, 4], [7, 3, 0, 0, 0])
    assert draws(jobs, full_limits(jobs), 4, "easy").starts.tolist() == [[7, 12, 3]]
    assert draws(jobs, full_limits(jobs), 4, "fcfs").starts.tolist() == [[7, 12, 12]]


@pytest.mark.parametrize("reach", [1.0, 60.0, 600.0, 1e5])
@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize("long", [40.0, 4000.0])
def test_piles_and_events_agree_to_the_last_bit(kinds: int, reach: float, long: float) -> None:
    """However much of the line lies before the last edge: ends share the calendar's last cell, or its first ones, or
    lie one to a cell. Large jobs are followed by small ones, so that lists in a cell grow into heaps. Some are equal.
    """
    rng = np.random.default_rng(int(reach) + kinds)
    units, running, waiting = np.array([100, 150])[:kinds], 20, 250
    count = running + waiting
    need = rng.integers(1, 4, (count, kinds))
    need[running:] *= np.where(np.arange(waiting) // 50 % 2, 1, rng.integers(1, 30, waiting))[:, None]
    limit = np.where(rng.random(count) < 0.05, long, rng.uniform(1, 20, count))
    limit[::3] = np.rint(limit[::3])
    jobs = snapshot(running, need[:, 0].tolist(), limit.tolist())
    jobs = replace(jobs, elapsed=np.where(np.arange(count) < running, rng.random(count) * limit, 0.0))
    laws = no_history(jobs)
    laws.quantiles[laws.law[:1]] = np.rint(laws.quantiles[laws.law[:1]] * 4) / 4  # quarters of limits: many are equal
    found = {}
    for way in (False, True):
        task = Forecast(
            1, np.arange(5), need, units, running, laws, np.linspace(0.0, reach, 26), find_policy("fcfs"),
            by_events=way,
        )  # fmt: skip
        found[way] = task.new_state()
        CpuEngine(1).run(task, found[way], 0, 5)
    assert np.array_equal(found[False].starts, found[True].starts)
    assert np.array_equal(found[False].busy, found[True].busy)
    assert np.all(np.diff(found[False].starts, axis=1) >= 0)


def test_nobody_starts_later_than_if_all_took_their_limits() -> None:
    rng = np.random.default_rng(3)
    jobs = snapshot(3, [2, 3, 1, *rng.integers(1, 13, 30).tolist()], rng.uniform(1, 40, 33).tolist())
    drawn = draws(jobs, no_history(jobs), 12, count=20).starts
    assert np.all(drawn <= draws(jobs, full_limits(jobs), 12).starts)


def exponential(jobs: Snapshot, means: list[float]) -> RunTimeLaws:
    """Exponential run times, far beyond the limits that matter."""
    grid = np.linspace(0.0, 1.0, 64 * POINTS + 1)
    grid[-1] = 1.0 - 2.0**-30
    law = -np.log1p(-grid)
    passed = 1.0 - np.exp(-jobs.elapsed / np.array(means))
    count = len(jobs.ids)
    return RunTimeLaws(
        law[None, :], np.zeros(count, np.int64), np.array(means), jobs.elapsed, passed, np.full(count, 1e9)
    )


def holds(sample: np.ndarray, cdf: object) -> None:
    """A sample has a law, by Kolmogorov and Smirnov; starts are kept in single precision, which has no ties here."""
    assert stats.kstest(np.asarray(sample, float), cdf).pvalue > FALSE_ALARM


def test_exponential_run_times_against_exact_laws() -> None:
    """What is left of an exponential job is exponential again, however long it has run."""
    jobs = snapshot(2, [1, 1, 2, 1], [1e9] * 4, [5.0, 0.7, 0.0, 0.0])
    starts = draws(jobs, exponential(jobs, [2.0, 3.0, 1.0, 1.0]), 2, count=20_000).starts
    # The first waiting job needs both servers: the later of the two ends.
    holds(starts[:, 0], lambda x: (1 - np.exp(-x / 2)) * (1 - np.exp(-x / 3)))
    # The second starts when the first has ended: its run time is independent of its start.
    holds(starts[:, 1] - starts[:, 0], stats.expon(scale=1.0).cdf)
    # One server of two: the earlier of the two ends, of rate 1/2 + 1/3.
    one = snapshot(2, [1, 1, 1], [1e9] * 3, [5.0, 0.7, 0.0])
    earlier = draws(one, exponential(one, [2.0, 3.0, 1.0]), 2, count=20_000).starts
    holds(earlier[:, 0], stats.expon(scale=1.2).cdf)


def test_a_job_beyond_its_law_ends_before_its_limit() -> None:
    jobs = snapshot(1, [1, 1], [10.0, 1.0], [9.0, 0.0])
    short = RunTimeLaws(
        np.linspace(0, 0.5, POINTS + 1)[None, :], np.zeros(2, np.int64), jobs.limit, jobs.elapsed, np.array([1.0, 0.0]),
        jobs.limit,
    )  # fmt: skip
    starts = draws(jobs, short, 1, count=4_000).starts[:, 0]
    holds(starts, stats.uniform(0, 1).cdf)
    assert remaining(short, 0.5)[0] == pytest.approx(0.5)


def log(jobs: int, seed: int, users: int = 5) -> Trace:
    """Jobs of users who take each their own part of the limit: the u-th between u / users and (u + 1) / users."""
    rng = np.random.default_rng(seed)
    user, limit = rng.integers(0, users, jobs), rng.choice([3600.0, 7200.0, 86400.0], jobs)
    service = limit * (user + rng.random(jobs)) / users
    labels = {"user": user.astype(str), "requested_time": limit}
    submit = np.sort(rng.random(jobs) * 30 * 86400)
    return Trace(submit - submit[0], rng.integers(1, 5, jobs), service, np.zeros(jobs), labels, records=jobs)


def test_laws_are_those_of_the_user() -> None:
    """Each user's law comes out; an unknown user has the law of all."""
    trace = log(4000, 1)
    learnt = learn(trace, trace.submit, trace.span + 86400)
    assert learnt is not None
    assert learnt.weights[learnt.levels.index("user")] < 2
    one = snapshot(0, [1] * 6, [7200.0] * 6)
    jobs = Snapshot(**{**vars(one), "labels": {"user": np.array([*"01234", "new"])}})
    laws = learnt.laws_of(jobs, ("servers",))
    low, high = (remaining(laws, share) / 7200 for share in (0.02, 0.98))
    for user in range(5):
        assert low[user] == pytest.approx((user + 0.02) / 5, abs=0.02)
        assert high[user] == pytest.approx((user + 0.98) / 5, abs=0.02)
    assert low[5] == pytest.approx(0.02, abs=0.02)
    assert high[5] == pytest.approx(0.98, abs=0.02)


def test_a_limit_nobody_had_has_the_law_of_nearly_as_long_ones() -> None:
    """Short jobs take little of their limits, long ones nearly all: one with a longer limit yet does, too."""
    rng = np.random.default_rng(9)
    long = rng.random(5000) < 0.01
    limit = np.where(long, rng.choice([40.0, 50.0, 60.0], 5000), 1.0) * 3600
    ratio = np.where(long, rng.uniform(0.9, 1.0, 5000), rng.uniform(0.0, 0.3, 5000))
    submit = np.sort(rng.random(5000) * 30 * 86400)
    trace = Trace(
        submit - submit[0], np.ones(5000, np.int64), limit * ratio, np.zeros(5000), {"requested_time": limit},
        records=5000,
    )  # fmt: skip
    learnt = learn(trace, trace.submit, trace.span + 30 * 86400)
    assert learnt is not None
    jobs = snapshot(0, [1], [100 * 3600.0])
    assert remaining(learnt.laws_of(jobs, ("servers",)), 0.1)[0] > 0.85 * jobs.limit[0]


def test_no_job_is_missing_for_being_long() -> None:
    """Of jobs that had ended by a time, short ones are too many; those that are learnt from are all alike."""
    trace = log(6000, 2)
    until = 1.5 * 86400.0
    learnt = learn(trace, trace.submit, until)
    assert learnt is not None
    ratio = trace.service / trace.labels["requested_time"]
    ended = (trace.submit + trace.service <= until) & (trace.labels["requested_time"] == 86400)
    assert ratio[ended].mean() < 0.45
    jobs = snapshot(0, [1] * 400, [86400.0] * 400)
    laws = learnt.laws_of(jobs, ("servers",))
    mean = np.mean([remaining(laws, share) / jobs.limit for share in (np.arange(50) + 0.5) / 50])
    assert mean == pytest.approx(0.5, abs=4 * 0.29 / math.sqrt(learnt.jobs))


def test_running_jobs_are_judged_by_how_long_they_ran() -> None:
    trace = log(4000, 4)
    learnt = learn(trace, trace.submit, trace.span + 86400)
    assert learnt is not None
    one = snapshot(2, [1, 1], [7200.0, 7200.0], [0.3 * 7200, 0.99 * 7200])
    jobs = Snapshot(**{**vars(one), "labels": {"user": np.array(["1", "0"])}})
    left = remaining(learnt.laws_of(jobs, ("servers",)), 0.5) / 7200
    assert left[0] == pytest.approx(0.05, abs=0.02)  # a user between 0.2 and 0.4
    assert 0 < left[1] < 0.01


def test_too_short_a_history_teaches_nothing() -> None:
    trace = log(30, 5)
    assert learn(trace, trace.submit, 0.0) is None


def test_later_jobs_come_at_their_time_of_day() -> None:
    submit = np.concatenate([day * 86400.0 + np.array([3600.0, 43200.0]) for day in range(3)])
    later = Later(
        submit, np.ones((6, 1), np.int64), np.ones(6), np.ones(6), np.array([0, 2, 4, 6]), 40000.0, season=1, today=0
    )
    drawn = later_jobs(later, 1, 0, 2 * 86400.0)
    assert drawn.submit.tolist() == [3200.0, 50000.0, 89600.0, 136400.0]


def test_scores() -> None:
    truth = np.array([1.0, 2.0, 3.0])
    point = np.repeat(truth[:, None], len(LEVELS), axis=1)
    exact = scores("exact", point, truth)
    assert exact.pinball == 0
    assert set(exact.coverage.values()) == {1.0}
    off = scores("late", point + 1.0, truth)
    assert off.bias == 1
    assert off.pinball == pytest.approx(1 - np.mean(LEVELS))
    assert pinball(np.array([1.0]), np.array([3.0]), 0.9)[0] == pytest.approx(1.8)


def test_quantiles_and_places_of_draws() -> None:
    starts: SortedStarts = sorted_starts(np.array([[3, 0], [1, 0], [2, 0], [4, 5]], np.float32), np.arange(2))
    assert starts.quantile(0.5).tolist() == [2, 0]
    assert starts.quantile(0.6).tolist() == [3, 0]
    assert starts.quantile(1.0).tolist() == [4, 5]
    assert starts.within(2.0).tolist() == [0.5, 0.75]
    assert starts.place(np.array([2.0, 0.0])).tolist() == [0.375, 0.375]


@pytest.mark.parametrize("count", [19, 20, 39, 40, 99, 200, 300])
def test_intervals_of_few_draws_hold_what_they_say(count: int) -> None:
    """A truth that is one more draw: of n + 1 places, so many lie between two ranks."""
    starts = SortedStarts(np.arange(1, count + 1, dtype=np.float32)[None, :])
    for share in (0.5, 0.8, 0.9):
        low, high = (starts.quantile(level)[0] for level in ((1 - share) / 2, (1 + share) / 2))
        held = (high - low) / (count + 1)
        assert share - 1e-9 <= held < share + 2 / (count + 1) + 1e-9


def test_the_error_of_a_share_counts_stretches_not_jobs() -> None:
    """Weeks that are all of one kind: jobs beyond the first of each tell nothing more."""
    rng = np.random.default_rng(8)
    kinds = rng.random(400) < 0.8
    single = share_error(kinds.astype(float), np.arange(400))
    assert single == pytest.approx(math.sqrt(kinds.mean() * (1 - kinds.mean()) / 399))
    many = share_error(np.repeat(kinds, 50).astype(float), np.repeat(np.arange(400), 50))
    assert many == pytest.approx(single)
    number, length = stretches(np.array([0.5, 8.0, 15.0, 15.5]) * 86400)
    assert (number.tolist(), length) == ([0, 1, 2, 2], 86400.0)
    assert stretches(np.arange(10) * 7 * 86400.0)[1] == 7 * 86400.0


def test_recalibration_makes_earlier_truths_fall_right() -> None:
    rng = np.random.default_rng(6)
    early = rng.beta(1.0, 3.0, 1500)  # truths fell low among the draws: forecasts were late
    levels = conformal_levels(early)
    assert levels is not None
    for level, used in zip(LEVELS, levels, strict=True):
        assert np.mean(early <= used) == pytest.approx(level, abs=2 / 1500)
    assert conformal_levels(early[:50]) is None


@pytest.mark.parametrize(
    ("what_if", "shapes", "words"),
    [
        (("need=9 limit=1h",), (), "needs 9 of 8"),
        (("need=1",), (), "must say its limit"),
        (("limit=1h",), (), "must say what it needs"),
        (("need=x limit=1h",), (), "need must be a whole number"),
        (("need=1 limit=soon",), (), "limit"),
        (("one job",), (), "must be written like"),
        (("need=1 limit=1h",), ("2by4",), "must be written like 2x32"),
        ((), ("2x4",), "cuts the job of one --what-if"),
    ],
)
def test_what_cannot_be_added(what_if: tuple[str, ...], shapes: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        AddedJobs(what_if, shapes, {"servers": 8})


def test_a_job_in_pieces_starts_when_all_of_them_have(tmp_path: Path) -> None:
    """Four servers, three busy for at most an hour. Under EASY one piece starts now and the other when it has ended,
    before a job that waits for all servers; as a whole it waits for that job, too."""
    rows = "id,state,need,elapsed,limit\n1,R,3,0,3600\n2,PD,4,,3600\n"
    (tmp_path / "now.csv").write_text(rows)
    ask = {"servers": 4, "policy": "easy", "what_if": ("need=2 limit=30min",), "draws": 200}
    with pytest.warns(LoynesWarning):
        found = loynes.eta(tmp_path / "now.csv", **ask, shape=("1x1", "2x1", "1x2"))
    one, both, whole = found.what_if
    assert (one.by_limits, both.by_limits, whole.by_limits) == (0.0, 1800.0, 7200.0)
    assert one.high95 == 0.0 < both.low95 < both.median < whole.median


def test_the_cluster_from_now_on(tmp_path: Path) -> None:
    """Four servers, three busy; the job in line takes all four when they are free. Times have the units they are asked
    in."""
    (tmp_path / "now.csv").write_text("id,state,need,elapsed,limit\n1,R,3,0,3600\n2,PD,4,,3600\n")
    with pytest.warns(LoynesWarning):
        found = loynes.eta(tmp_path / "now.csv", servers=4, draws=50, within=(90.0, "30min", "2h", "36h"))
    assert found.summary.columns[-4:] == ("P(start <= 90s)", "P(start <= 30min)", "P(start <= 2h)", "P(start <= 36h)")
    first, *_, last = found.outlook_summary.rows
    assert first == ("0", "1", "1 to 1", "1", "1 to 1")
    assert last[3:] == ("0", "0 to 0")
    assert all(set(free) <= {0, 1, 4} for free in found.free)
    assert [(4 - low, 4 - high) for low, _, high in found.free] == [
        (most, least) for least, _, most in found.outlook.busy
    ]
    assert found.outlook_summary in found.tables
