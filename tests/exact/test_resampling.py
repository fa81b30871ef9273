"""Logs put together anew: which days, which jobs, which sessions; and what-ifs about them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesError, TraceError, UsageError
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.kernels.events.policies import find_policy
from loynes.kernels.events.recorded import (
    COUNT,
    EXCEEDS,
    NONE,
    RESPONSE,
    SLOWDOWN,
    WAIT,
    Recorded,
    RecordedJobs,
    observe,
)
from loynes.questions.answering.objectives import Objective, objectives_of
from loynes.questions.answering.resampling import LogRunner, Outcome, _remarks, least_units
from loynes.questions.plan_log import PlanLog, Search, more_log
from loynes.results.records.log_plan import TriedValue
from loynes.traces.changes import Changes, changed
from loynes.traces.resampling import DAY, HOUR, choose_days, days_of, jobs_on, resample, same_days
from loynes.traces.sessions import sessions_of
from loynes.traces.trace import Trace, rows_of

MONTH = Path(__file__).parents[1] / "recorded" / "month.csv"


def trace(submit: list[float], need: list[int] | None = None, user: list[str] | None = None) -> Trace:
    count = len(submit)
    needs = np.array(need or [1] * count, np.int64)
    labels = {} if user is None else {"user": np.array(user)}
    return Trace(np.array(submit, float), needs, np.full(count, 60.0), np.full(count, np.nan), labels)


def hourly(days: float) -> np.ndarray:
    """A job every hour, but none at four o'clock."""
    hours = np.arange(int(24 * days))
    return hours[hours % 24 != 4] * HOUR + 60.0


def test_days_begin_at_the_quietest_hour() -> None:
    submit = hourly(30)
    days = days_of(submit, "log")
    assert days.begin == 4 * HOUR
    assert (days.length, days.season, days.block) == (29, 7, 7.0)
    assert np.diff(days.first).tolist() == [23] * 29
    assert submit[days.first[0]] == 5 * HOUR + 60.0
    assert days.stretches == 29 / 7


def test_short_logs_are_resampled_by_days() -> None:
    days = days_of(hourly(10), "log")
    assert (days.length, days.season, days.block) == (9, 1, 1.0)
    with pytest.raises(TraceError, match="log: has 3 whole days; other logs like it are made of at least 4"):
        days_of(hourly(4), "log")


def test_weekdays_stay_weekdays() -> None:
    days = days_of(hourly(60), "log")
    rng = np.random.default_rng(1)
    for _ in range(50):
        chosen = choose_days(days, rng)
        assert len(chosen) == days.length
        assert np.array_equal(chosen % 7, np.arange(len(chosen)) % 7)
    # Stretches: the next day follows unless a new one begins, one time in seven, or the log is at its end.
    follows = np.mean([np.mean(np.diff(choose_days(days, rng)) == 1) for _ in range(2000)])
    # 6/7, jumps to the very next day (1/7 of 1/8.4 of them) and what is lost at the end; five standard errors.
    assert abs(follows - (6 / 7 + 1 / 7 / 8.4) * (1 - 1 / 59)) < 0.012


def test_all_days_are_about_equally_likely() -> None:
    days = days_of(hourly(57), "log")
    assert days.length == 56
    rng = np.random.default_rng(2)
    count = np.bincount(np.concatenate([choose_days(days, rng) for _ in range(4000)]), minlength=56)
    assert np.abs(count / 4000 - 1).max() < 0.15  # a count's standard deviation is about 0.025


def test_the_jobs_of_days() -> None:
    submit = hourly(10)
    days = days_of(submit, "log")
    index, when = jobs_on(days, submit, np.array([3, 3, 0]))
    first = days.first[3]
    assert index[:23].tolist() == list(range(first, first + 23)) == index[23:46].tolist()
    assert when[0] == HOUR + 60.0
    assert np.allclose(when[23:46] - when[:23], DAY)
    assert np.all(np.diff(when) > 0)


def test_number_0_is_the_log_itself() -> None:
    log = loynes.read_trace(MONTH)
    days, session = days_of(log.submit, "log"), sessions_of(log)
    index, when = resample(days, log.submit, session, 1, 0)
    assert np.array_equal(index, np.arange(log.jobs))
    assert np.array_equal(when, log.submit)
    one, again, other = (resample(days, log.submit, session, 1, number) for number in (1, 1, 2))
    assert np.array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize("number", [0, 5])
def test_scales_share_what_they_can(number: int) -> None:
    """Fewer jobs are some of those of the log, more are all of them and others; sessions stay whole."""
    log = loynes.read_trace(MONTH)
    days, session = days_of(log.submit, "log"), sessions_of(log)

    def scaled(scale: float) -> tuple[np.ndarray, np.ndarray]:
        return resample(days, log.submit, session, 3, number, scale)

    index, when = scaled(1.0)
    jobs = set(zip(index.tolist(), when.tolist(), strict=True))
    half, most = (set(zip(*(part.tolist() for part in scaled(scale)), strict=True)) for scale in (0.5, 0.8))
    assert half < most < jobs
    assert jobs < set(zip(*(part.tolist() for part in scaled(1.5)), strict=True))
    times = scaled(2.3)[1]
    assert np.all(np.diff(times) >= 0)
    assert abs(len(times) / len(when) - 2.3) < 0.25
    kept = scaled(0.5)[0]
    if number == 0:
        assert set(session[kept].tolist()).isdisjoint(session[np.setdiff1d(index, kept)].tolist())


def test_sessions() -> None:
    log = trace([0, 10, 20, 1000, 2300, 2400], user=["a", "b", "a", "a", "a", "b"])
    # Twenty minutes after its last job a user's session is over.
    assert sessions_of(log).tolist() == [0, 1, 0, 0, 2, 3]
    # Without users, jobs of one need are taken for one user's.
    assert sessions_of(trace([0, 10, 20], need=[1, 2, 1])).tolist() == [0, 1, 0]


def test_changes() -> None:
    log = trace([0.0, 3600.0, 7200.0], need=[1, 8, 4], user=["a", "b", "a"])
    names, group = ["small", "large"], np.array([0, 1, 1])
    smaller, _ = changed(log, Changes(max_need=4), names, group)
    assert smaller.need.tolist() == [1, 4, 4]
    assert smaller.service.tolist() == [60.0, 120.0, 60.0]
    assert smaller.work == log.work
    assert changed(log, Changes(run_times=0.5), names, group)[0].service.tolist() == [30.0] * 3
    for name, left in (("a", [8]), ("user=a", [8]), ("large", [1]), ("small", [8, 4])):
        rest, classes = changed(log, Changes(without=(name,)), names, group)
        assert rest.need.tolist() == left
        assert len(classes) == len(left)
    with pytest.raises(UsageError, match="'c': arrays has no class or user of that name; classes are small, large"):
        changed(log, Changes(without=("c",)), names, group)
    with pytest.raises(TraceError, match="no job is left without large"):
        changed(log, Changes(without=("small", "large")), names, group)
    with pytest.raises(UsageError, match="limits: arrays has no requested times"):
        changed(log, Changes(limits=0.5), names, group)


def test_limits_end_jobs() -> None:
    log = loynes.read_trace({"submit": [0, 1], "need": [1, 1], "service": [100, 10], "requested_time": [150, 50]})
    halved, _ = changed(log, Changes(limits=0.5), ["all"], np.zeros(2, np.int64))
    assert halved.service.tolist() == [75.0, 10.0]
    assert halved.requested is not None
    assert halved.requested.tolist() == [75.0, 25.0]


def test_classes_by_night() -> None:
    """The log begins at midnight; a job of the class at 10 o'clock comes at 20, one at 23 stays."""
    log = trace([0.0, 10 * HOUR, 11 * HOUR, 23 * HOUR])
    group = np.array([0, 1, 0, 1])
    moved, classes = changed(log, Changes(to_night=("big",)), ["small", "big"], group)
    assert moved.submit.tolist() == [0.0, 11 * HOUR, 20 * HOUR, 23 * HOUR]
    assert classes.tolist() == [0, 0, 1, 1]


def test_the_same_days_after_a_change() -> None:
    submit = hourly(30)
    days = days_of(submit, "log")
    fewer = same_days(days, submit[::2])
    assert (fewer.begin, fewer.length) == (days.begin, days.length)
    assert fewer.first[-1] - fewer.first[0] == pytest.approx(23 * 29 / 2, abs=1)


def test_what_is_observed_of_jobs() -> None:
    """Ten jobs that wait 0, 0, 20, ..., 90 and take 10 each: a percentile is one of their values."""
    wait = np.array([90.0, 0.0, 0.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0])
    row = observe(np.stack([wait, wait + 10.0], axis=1), np.full(10, 10.0), (20.0, 85.0))
    assert row[COUNT] == 10
    assert row[WAIT : WAIT + 6] == pytest.approx([44.0, 904.0, 40.0, 80.0, 90.0, 90.0])
    assert row[RESPONSE : RESPONSE + 6] == pytest.approx([54.0, 904.0, 50.0, 90.0, 100.0, 100.0])
    assert row[NONE] == 0.2
    assert row[SLOWDOWN] == pytest.approx(5.4)
    assert row[EXCEEDS:].tolist() == [0.7, 0.1]
    nobody = observe(np.empty((0, 2)), np.empty(0), (20.0,))
    assert nobody[COUNT] == 0
    assert np.isnan(nobody[1:]).all()
    assert len(nobody) == EXCEEDS + 1


def test_averages_over_time_end_with_the_log() -> None:
    """One job an hour for half an hour, on three of four servers; two at once every midnight, so that one waits."""
    submit = np.sort(np.concatenate([hourly(10), 60.0 + DAY * np.arange(10)]))
    days, count = days_of(submit, "log"), len(submit)
    none, service = np.zeros(count, np.int64), np.full(count, 1800.0)
    jobs = RecordedJobs(submit, none, np.array([[3]]), service, service, none, np.arange(count))
    task = Recorded(1, np.array([0, 2]), jobs, days, np.array([4]), find_policy("fcfs"), groups_observed=2)
    waits, time = task.run_row(0)
    assert waits[0] == pytest.approx(waits[1], nan_ok=True)  # all are of the first group
    assert waits[:, COUNT].tolist() == [count, count, 0]
    assert waits[0, NONE] == 1 - 10 / count
    assert waits[0, WAIT] == pytest.approx(18000 / count)
    # The last job has only been submitted when the averages end.
    end = submit[-1]
    assert time == pytest.approx(
        [18000 / end, ((count - 1) * 1800 + 18000) / end, 3 * (count - 1) * 1800 / end, 18000 / end]
    )
    # Days begin after the quiet hour: of those that are put together, each has 24 jobs, and ends with its day.
    again, ended = task.run_row(2)
    assert again[0, COUNT] == 24 * days.length
    assert ended == pytest.approx([1800 / DAY, 25 * 1800 / DAY, 24 * 5400 / DAY, 1800 / DAY])
    assert task.expected_jobs(1, 2) == count
    assert task in {task}  # arrays have no hash; a task has its own
    assert replace(task, scale=2.5).expected_jobs(0, 2) == 2 * int(2.5 * count)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_the_log_itself_is_its_replay(policy: str) -> None:
    found = loynes.evaluate(MONTH, servers=10, policy=policy, resamples=2)
    replayed = loynes.replay(MONTH, servers=10, policy=policy)
    assert found.overall.wait.mean.estimate == pytest.approx(replayed.overall.wait.mean.estimate, rel=1e-12)
    for name, waits in found.classes.items():
        assert waits.wait.p95.estimate == replayed.classes[name].wait.p95.estimate
        assert waits.no_wait.estimate == replayed.classes[name].no_wait.estimate
    assert found.sampling.overall.wait.mean.low == found.sampling.overall.wait.mean.high


def test_cases_are_paired() -> None:
    """No change is no difference, to the last bit; more servers never make a job wait longer, in turn."""
    same = loynes.compare(MONTH, servers=10, policies=["easy", "easy"], resamples=8)
    minus = same.cases[1].differences["all jobs"]["wait.mean"]
    assert (minus.low, minus.estimate, minus.high) == (0.0, 0.0, 0.0)
    sweep = loynes.sweep(MONTH, servers=10, resamples=8, vary={"servers": [9, 10, 12]})
    means = [case.result.others.overall.wait.mean.estimate for case in sweep.cases]
    assert means[0] > means[1] > means[2]


def test_a_log_that_is_unlike_its_resamples_is_remarked_upon() -> None:
    """Outside of the middle 98% of them, where there are enough to tell."""
    shares = (0.0, 0.009, 0.01, 0.5, 0.99, 0.991, 1.0)
    assert [len(_remarks(below, 1.0 - below, 50)) for below in shares] == [1, 1, 0, 0, 0, 1, 1]
    assert _remarks(1.0, 0.0, 49) == ()
    assert "is above that of 99% of its resamples" in _remarks(0.992, 0.008, 50)[0]


def test_where_nobody_waits_nothing_is_remarked_upon(recwarn: pytest.WarningsRecorder) -> None:
    """All resamples are then like the log: neither below nor above it."""
    found = loynes.evaluate(MONTH, servers=1000, resamples=50)
    assert found.overall.wait.mean.estimate == found.others.overall.wait.mean.estimate == 0.0
    assert found.warnings == ()
    assert not list(recwarn)


@pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")
def test_work_is_that_of_the_jobs_that_are_run() -> None:
    """Without those that are left out as too large, and as many times as the log is scaled."""
    log = loynes.read_trace(MONTH)
    small = rows_of(log, log.need <= 2)
    offered = small.work / small.span
    assert offered < 2.0 < log.work / log.span
    assert [len(loynes.evaluate(MONTH, servers=2, scale=x, resamples=2).warnings) for x in (1.0, 0.2)] == [1, 1]
    left_out, overload = loynes.evaluate(MONTH, servers=2, scale=3.0, resamples=2).warnings
    assert left_out.startswith(f"{int((log.need > 2).sum())} jobs need more than 2 servers")
    assert overload.startswith(f"the jobs bring work for {3.0 * offered:.6g} servers, more than 2: ")


def test_plans() -> None:
    plan = loynes.plan(MONTH, servers=10, policy="easy", slo="mean(wait) <= 1800", resamples=20)
    chances = [one.probability for one in sorted(plan.tried, key=lambda one: one.value)]
    assert plan.at_answer >= 0.95
    assert max(one.probability for one in plan.tried if one.value < plan.answer) < 0.95
    assert chances == sorted(chances)
    assert plan.objectives[0].value.estimate <= 1800
    assert plan.more_days is None or plan.more_days > 0
    assert f"{plan.answer:g} servers meet it with probability" in plan.statement
    wider = {"slo": "mean(wait) <= 20000", "vary": "scale", "probability": 0.8}
    scaled = loynes.plan(MONTH, servers=16, policy="easy", resamples=20, **wider)
    assert scaled.answer > 1.0
    # How many servers there are now is of no account where that is what is looked for.
    assert loynes.plan(MONTH, policy="easy", slo="mean(wait) <= 1800", resamples=20).answer == plan.answer
    with pytest.raises(UsageError, match=r"servers: .* does not say how many there are"):
        loynes.plan(MONTH, slo="mean(wait) <= 1800", vary="scale")
    with pytest.raises(UsageError, match=r"met with probability .* the last that was tried; allow more with --most"):
        loynes.plan(MONTH, servers=10, slo="mean(wait) <= 1", resamples=4, most=11)


def test_sensitivities_are_differences_of_replays() -> None:
    """On 12 servers the step is one server; run times are stretched by 4% to both sides; a class of its own by name."""

    def mean(servers: int = 12, factor: float = 1.0) -> float:
        log = loynes.read_trace(MONTH)
        stretched = replace(log, service=log.service * factor)
        return loynes.replay(stretched, servers=servers, policy="easy").overall.wait.mean.estimate

    found = loynes.sensitivity(MONTH, servers=12, policy="easy", resamples=3)
    effects = {(one.lever, one.change): one.effect.estimate for one in found.effects}
    assert effects["servers", "+1"] == pytest.approx(mean(13) - mean(), rel=1e-9)
    assert effects["servers", "-1"] == pytest.approx(mean(11) - mean(), rel=1e-9)
    assert effects["run times", "+1%"] == pytest.approx((mean(factor=1.04) - mean(factor=0.96)) / 8, rel=1e-9)
    assert found.base.estimate == pytest.approx(mean(), rel=1e-12)
    assert {name for name, _ in effects} >= {"jobs", "need of need 8", "jobs of need 1", "run times of need 4"}
    sizes = [abs(one.effect.estimate) for one in found.effects]
    assert sizes == sorted(sizes, reverse=True)
    without = loynes.sensitivity(MONTH, servers=12, policy="easy", resamples=3, without="need 1")
    assert {one.of for one in without.effects} == {one.of for one in found.effects} - {"need 1"}


def test_small_changes_of_a_class() -> None:
    log = trace([0.0, 1.0, 2.0, 3.0, 4.0], need=[1, 2, 1, 1, 1])
    names, group = ["one", "two"], np.array([0, 1, 0, 0, 0])
    assert changed(log, Changes(stretched=(("two", 2.0),)), names, group)[0].service.tolist() == [60, 120, 60, 60, 60]
    assert changed(log, Changes(wider=("one",)), names, group)[0].need.tolist() == [2, 2, 2, 2, 2]
    rest, classes = changed(log, Changes(fewer=(("one", 2),)), names, group)
    assert rest.submit.tolist() == [0.0, 1.0, 3.0]
    assert classes.tolist() == [0, 1, 0]


class Promises:
    """In place of a log that is run: objectives are met with a probability that is known for every value."""

    days = SimpleNamespace(length=30)
    recorded = None
    sizes = ("servers",)

    def __init__(self, chance: Callable[[float, float], float], work: float = 58.8, largest: int = 3) -> None:
        self._chance, self._work, self._largest = chance, work, largest

    def case(self, **change: float) -> SimpleNamespace:
        return SimpleNamespace(units={"servers": 10}, change=change)

    def offered(self, name: str = "") -> tuple[float, float, int]:
        return self._work, 10.0, self._largest

    def least(self, name: str, full: float) -> tuple[int, str]:
        return least_units(*self.offered(name), full)

    def run(
        self, case: SimpleNamespace, context: Context, exceeds: tuple[float, ...], percentiles: tuple[float, ...]
    ) -> float:
        context.progress(1.0, "")
        (value,) = case.change.values()
        return float(value)

    def measured(self, outcome: float) -> list[SimpleNamespace]:
        wait = SimpleNamespace(mean=Estimate.exact(outcome))
        return [SimpleNamespace(overall=SimpleNamespace(wait=wait))]

    def probability_at_most(self, outcome: float, objective: Objective, times: float = 1.0) -> float:
        return self._chance(outcome, times)


def search(
    runner: Promises, slo: tuple[str, ...] = ("mean(wait) <= 5",), context: Context | None = None, **options: object
) -> Search:
    question = PlanLog.of(MONTH, slo=slo, **options)
    return Search(question, cast(LogRunner, runner), objectives_of(slo, ["a"]), context or Context())


def test_a_search_says_how_far_it_is() -> None:
    """Nobody knows how many values it takes: twelve are expected, and it never goes back."""
    said: list[float] = []
    context = Context(progress=lambda fraction, text: said.append(fraction))
    search(Promises(lambda servers, _: float(servers >= 9)), context=context).first(0.95)
    assert said == pytest.approx([1 / 12, 2 / 12, 3 / 12, 4 / 12])


def test_a_search_finds_the_first_value() -> None:
    """At least six servers: 5.88 are busy, of which 98% may be. Each more than twelve is good enough."""
    found = search(Promises(lambda servers, _: 0.95 if servers >= 13 else 0.9))
    assert found.first(0.95) == 13.0
    # One more, then two, four; then halved.
    assert list(found.tried) == [6.0, 7.0, 9.0, 13.0, 11.0, 12.0]
    assert found.tried[12.0] == TriedValue(12.0, 0.9, Estimate.exact(12.0))
    assert found.outcomes[13.0] == 13.0
    assert search(Promises(lambda servers, _: 1.0)).first(0.95) == 6.0
    assert search(Promises(lambda servers, _: 1.0, largest=9)).first(0.95) == 9.0
    assert search(Promises(lambda servers, _: 1.0, work=0.0, largest=0)).first(0.95) == 1.0
    # Larger clusters are tried in larger strides.
    large = search(Promises(lambda servers, _: float(servers > 66), largest=64))
    assert large.first(0.95) == 67.0
    assert list(large.tried) == [64.0, 68.0, 66.0, 67.0]


def test_objectives_that_are_missed_add_up() -> None:
    """Two that are missed with probability 0.04 each are both met with 0.92 at least; and no probability is below 0."""
    both = ("mean(wait) <= 5", "p95(wait) <= 9")
    found = search(Promises(lambda servers, _: 0.96 if servers > 7 else 0.3), both)
    assert found.first(0.9) == 8.0
    assert found.tried[8.0].probability == pytest.approx(0.92)
    assert found.tried[7.0].probability == 0.0
    # Of an objective from below, what is at most the bound misses it.
    above = search(Promises(lambda servers, _: 0.3), ("no_wait >= 0.5",))
    assert above.first(0.7) == 6.0
    assert above.tried[6.0].probability == pytest.approx(0.7)


def test_a_search_gives_up() -> None:
    with pytest.raises(
        UsageError, match=r"^most 5: at least 6 servers are needed \(a job needs 3, 5\.88 are busy on av"
    ):
        search(Promises(lambda servers, _: 1.0), most=5)
    assert search(Promises(lambda servers, _: float(servers == 6)), most=6).first(0.95) == 6.0
    never = search(Promises(lambda servers, _: 0.125), most=9)
    with pytest.raises(UsageError, match=r"mean\(wait\) <= 5: met with probability 0\.125 at servers 9, the last that"):
        never.first(0.95)
    assert list(never.tried) == [6.0, 7.0, 9.0]
    assert never.first(0.99, needed=False) == 9.0
    far = search(Promises(lambda servers, _: 0.0))
    with pytest.raises(UsageError, match="at servers 96, "):  # sixteen times the least
        far.first(0.95)


def test_a_search_for_the_most_jobs() -> None:
    """5.88 of ten servers are busy, so 1.666 times the jobs fill 98% of them: from 1.65 down."""
    found = search(Promises(lambda scale, _: float(scale <= 1.2)), vary="scale")
    assert found.first(0.95) == 1.2
    assert list(found.tried) == [1.65, 1.45, 1.05, 1.25, 1.15, 1.2]
    assert search(Promises(lambda scale, _: 1.0), vary="scale", most=1.3).first(0.95) == 1.3
    with pytest.raises(UsageError, match=r"most 0\.04: must be at least 0\.05"):
        search(Promises(lambda scale, _: 1.0), vary="scale", most=0.04)
    with pytest.raises(UsageError, match=r"at scale 0\.05, the last"):
        search(Promises(lambda scale, _: 0.0), vary="scale").first(0.95)


@pytest.mark.parametrize(
    ("now", "days"), [(0.2, 30.0), (0.4999, 30.0), (2e-6, 30.0), (0.5, None), (9e-7, None), (0.0, None)]
)
def test_how_much_more_log_would_halve_the_doubt(now: float, days: float | None) -> None:
    """Twice the log halves it here, so as many days again are needed; of no doubt, or of half, nothing is said."""
    runner = Promises(lambda _, times: 1.0 - now / times)
    found = more_log(objectives_of(("mean(wait) <= 5",), ["a"]), cast(LogRunner, runner), cast(Outcome, 1.0))
    assert found == (None if days is None else pytest.approx(days, rel=1e-6))


def test_a_doubt_that_no_log_takes() -> None:
    runner = cast(LogRunner, Promises(lambda _, times: 0.9 if times < 100 else 0.94))
    assert more_log(objectives_of(("mean(wait) <= 5",), ["a"]), runner, cast(Outcome, 1.0)) is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"block": 20.0}, "block 20: must be at most half of the 2. days of the log"),
        ({"scale": 0.0}, "^scale 0: must be above 0$"),
        ({"scale": -1.0}, "^scale -1: must be above 0$"),
        ({"scale": 101.0}, "^scale 101: must be at most 100$"),
        ({"scale": math.inf}, "^scale inf: must be at most 100$"),
        ({"run_times": math.nan}, "^run-times nan: must be a number$"),
        ({"limits": 1e300}, r"^limits 1e\+300: must be at most 1000000$"),
        ({"method": "forward"}, "has no option 'method'"),
    ],
)
def test_wrong_options(options: dict[str, object], text: str) -> None:
    with pytest.raises((LoynesError, TypeError), match=text):
        loynes.evaluate(MONTH, servers=10, **options)


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        ({"colour": [1]}, "vary 'colour': of a log, must be one of servers, policy, scale"),
        ({}, "nothing to sweep: give something to vary"),
        ({"servers": range(10, 60), "scale": np.linspace(0.5, 1.5, 21).tolist()}, "1050 cases: at most 1000"),
        ({"servers": [10, 0]}, "^servers 0: must be at least 1$"),
        ({"servers": [1.5]}, "^servers 1.5: must be a whole number$"),
        ({"scale": [1, 0]}, "^scale 0: must be above 0$"),
        ({"scale": [math.nan]}, "^scale nan: must be a number$"),
        ({"max_need": [0]}, "^max-need 0: must be at least 1$"),
        ({"max_need": [1.5]}, "^max-need 1.5: must be a whole number$"),
        ({"limits": [-1]}, "^limits -1: must be at least 1e-06$"),
        ({"run_times": ["abc"]}, "^run-times 'abc': must be a number$"),
    ],
)
def test_what_cannot_be_swept(vary: dict[str, list[object]], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        loynes.sweep(MONTH, servers=10, vary=vary)


def test_what_a_log_and_what_a_model_takes() -> None:
    with pytest.raises(TypeError, match="evaluate-log"):
        loynes.evaluate(MONTH, load=0.5)
    with pytest.raises(TypeError, match="has no option 'scale'"):
        loynes.evaluate("five-class-exponential", scale=2.0)


def test_numbers_of_one_policy_beside_others() -> None:
    """A window means something to one of several policies, but nothing to a single one that has none."""
    three = loynes.compare(MONTH, servers=10, policies=["fcfs", "smash"], window=3, resamples=2)
    assert [case.result.details.get("window") for case in three.cases] == [None, 3]
    with pytest.raises(UsageError, match="window 3: means nothing to policy 'fcfs'"):
        loynes.evaluate(MONTH, servers=10, window=3, resamples=2)


def test_no_time_is_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """A class of one job in a thin log has responses without any variance: its interval is wide, not undefined."""
    found = loynes.evaluate(MONTH, servers=16, scale=0.05, resamples=4)
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]
    for waits in (found.overall, *found.classes.values()):
        assert waits.response.variance.low <= waits.response.variance.estimate <= waits.response.variance.high
