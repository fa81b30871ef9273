"""What-ifs on a log, bounded slowdowns, and what jobs are called: against plain Python, and against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loynes
from loynes.kernels.events.engine import run_jobs
from loynes.kernels.events.predictions import guessed
from loynes.questions.answering.long_plans import long_plans
from loynes.questions.answering.objectives import objectives_of
from loynes.questions.answering.orders import order_of
from loynes.traces.changes import Changes, changed

RNG = np.random.default_rng(21)
COUNT = 400
LOG = {
    "submit": np.cumsum(np.round(RNG.exponential(3000.0, COUNT))),
    "need": RNG.choice([1, 2, 5, 8], COUNT, p=[0.4, 0.3, 0.2, 0.1]),
    "service": np.round(RNG.exponential(6000.0, COUNT)) + 1.0,
    "requested_time": np.round(RNG.exponential(9000.0, COUNT)) + 1.0,
    "user": RNG.choice(["a", "b", "c"], COUNT),
}


def waits(**options: object) -> np.ndarray:
    return loynes.replay(LOG, **options).each["wait"]  # type: ignore[arg-type]


def test_larger_jobs() -> None:
    """Stretched and split jobs bring the work they brought; refused ones are counted."""
    trace = loynes.read_trace(LOG)
    group = np.arange(COUNT)
    for larger in ("stretch", "split", "refuse"):
        log, which = changed(trace, Changes(max_need=3, larger=larger), [], group)
        assert log.need.max() <= 3
        work = np.bincount(which, log.need * log.service, COUNT)
        kept = trace.need <= 3 if larger == "refuse" else np.ones(COUNT, bool)
        np.testing.assert_allclose(work, np.where(kept, trace.need * trace.service, 0.0))
        if larger == "split":
            assert np.bincount(which).tolist() == [-(-n // 3) for n in trace.need]
            assert (log.service == trace.service[which]).all()
            assert (log.submit == trace.submit[which]).all()
    result = loynes.replay(LOG, servers=8, max_need=3, larger="refuse")
    refused = int((LOG["need"] > 3).sum())
    assert (result.jobs, result.skipped) == (COUNT - refused, {"refused: needs more than 3 servers": refused})
    assert result.jobs + sum(result.skipped.values()) == result.records


def test_killed_at_the_limit() -> None:
    result = loynes.replay(LOG, servers=8, policy="easy", kill_at_limit=True)
    np.testing.assert_array_equal(result.each["service"], np.minimum(LOG["service"], LOG["requested_time"]))
    assert result.details["killed"] == int((LOG["service"] > LOG["requested_time"]).sum())
    with pytest.raises(loynes.UsageError, match="kill-at-limit: arrays has no requested times"):
        loynes.replay({k: v for k, v in LOG.items() if k != "requested_time"}, servers=8, kill_at_limit=True)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_servers_that_are_never_there(policy: str) -> None:
    """Lost from the beginning for ever is the same as not there; lost when all is over is as if nothing was."""
    np.testing.assert_allclose(
        waits(servers=12, policy=policy, outages=("from=0s, lost=4",)), waits(servers=8, policy=policy), atol=1e-6
    )
    with_all = loynes.replay(LOG, servers=12, policy=policy)
    later = (f"from={with_all.span + 1:.0f} s, until={with_all.span + 100:.0f} s, lost=50%, how=failed",)
    np.testing.assert_allclose(waits(servers=12, policy=policy, outages=later), with_all.each["wait"], atol=1e-6)


def test_a_failure_by_hand() -> None:
    """Two servers fail at 5 until 20: one that is alone on both starts again from nothing when they are back."""
    log = {"submit": [0.0, 6.0, 100.0], "need": [2, 1, 1], "service": [10.0, 3.0, 1.0]}
    result = loynes.replay(log, servers=2, outages=("from=5s, until=20s, lost=2, how=failed",))
    assert result.each["wait"].tolist() == [20.0, 24.0, 0.0]
    drained = loynes.replay(log, servers=2, outages=("from=5s, until=20s, lost=2",))
    assert drained.each["wait"].tolist() == [0.0, 14.0, 0.0]


class ToldError(Exception):
    """What somebody who watches was told, who waits for no more."""


class Watcher:
    def __call__(self, share: float, text: str) -> None: ...

    def notice(self, text: str) -> None:
        raise ToldError(text)


def test_a_line_that_is_too_long_to_plan_for_is_told_before() -> None:
    """Twice the work that 8 servers do, in 8,000 jobs: half of them will be in line; with a depth nobody is told."""
    submit = np.arange(8000.0)
    jobs = {"submit": submit, "need": np.full(8000, 4), "service": np.full(8000, 4.0), "requested_time": submit + 9.0}
    with pytest.raises(ToldError, match=r"about 4,000 jobs will be in line .* --depth 100"):
        loynes.replay(jobs, servers=8, policy="conservative", progress=Watcher())
    in_line = [(order_of("conservative", {}), 2.0, True), (order_of("conservative", {}), 2.0, False)]
    in_line += [(order_of("conservative", {"depth": 5}), 2.0, True), (order_of("easy", {}), 2.0, True)]
    in_line += [(order_of("conservative", {}), 1.1, True)]
    assert [bool(long_plans(order, 8000, load, early)) for order, load, early in in_line] == [True, *[False] * 4]


def test_bounded_slowdowns() -> None:
    """max(1, response / max(service, threshold)), in replays, in resamples and in simulations."""
    for threshold in (10.0, 5000.0):
        result = loynes.replay(LOG, servers=8, policy="easy", slowdown_threshold=threshold, classes="user")
        wait, service = result.each["wait"], result.each["service"]
        one_by_one = [max(1.0, (w + s) / max(s, threshold)) for w, s in zip(wait, service, strict=True)]
        np.testing.assert_allclose(result.overall.bounded_slowdown.estimate, np.mean(one_by_one))
        mine = [x for x, user in zip(one_by_one, LOG["user"], strict=True) if user == "b"]
        np.testing.assert_allclose(result.classes["b"].bounded_slowdown.estimate, np.mean(mine))
        trace = loynes.read_trace(LOG)
        resampled = loynes.evaluate(trace, servers=8, policy="easy", slowdown_threshold=threshold, resamples=2)
        np.testing.assert_allclose(resampled.overall.bounded_slowdown.estimate, np.mean(one_by_one))


def test_bounded_slowdowns_of_models() -> None:
    """Known where times have a unit or a threshold is given; between 1 and the slowdown, to which it tends."""
    model = loynes.load("one-or-all")
    short = {"rate": 5.0, "jobs": 500, "replicas": 4, "policy": "easy"}
    assert model.time_unit is None
    assert loynes.simulate(model, **short).overall.bounded_slowdown is None
    found = [loynes.simulate(model, **short, slowdown_threshold=t).overall.bounded_slowdown for t in (1e-9, 0.5, 1e9)]
    slowdown = loynes.simulate(model, **short).slowdown["all jobs"].estimate
    np.testing.assert_allclose(found[0].estimate, slowdown)
    assert 1.0 < found[1].estimate < slowdown
    assert found[2].estimate == 1.0
    named = model.model_copy(update={"time_unit": "minutes"})
    own = loynes.simulate(named, **short).overall.bounded_slowdown
    assert own == loynes.simulate(named, **short, slowdown_threshold=1 / 6).overall.bounded_slowdown
    assert objectives_of(["bounded_slowdown <= 9"], [], slowdowns=True)[0].bound == 9.0
    with pytest.raises(loynes.UsageError, match="bounded_slowdown is known where jobs are run one by one"):
        loynes.plan(model, rate=5.0, slo=["bounded_slowdown <= 9"])


def test_guesses_too_long_at_random() -> None:
    """Uniform between the truth and 1 + f times it, and the same for a job wherever its chunk begins."""
    service = RNG.exponential(1.0, 20_000)
    guess = guessed(service, 1.0, 3.0, 7, 2, -500)
    np.testing.assert_array_equal(guess[300:], guessed(service[300:], 1.0, 3.0, 7, 2, -200))
    factor = np.sort(guess / service)
    # Kolmogorov's distance, at 1e-6: 2 exp(-2 n d^2).
    distance = np.abs((factor - 1.0) / 3.0 - np.arange(len(factor)) / len(factor)).max()
    assert distance < np.sqrt(np.log(2e6) / (2 * len(factor)))
    result = loynes.replay(LOG, servers=8, policy="easy", overestimate=3.0, seed=5)
    np.testing.assert_array_equal(
        result.each["wait"],
        run_jobs(np.array([8]), LOG["submit"] - LOG["submit"][0], LOG["need"][:, None], LOG["service"], "easy",
                 guess=guessed(LOG["service"], 1.0, 3.0, 5, 0, 0))[0][:, 0],
    )  # fmt: skip


def test_more_of_the_same() -> None:
    """All jobs of the log are there, and as many again; of a thinned one, whole sessions are."""
    more = loynes.replay(LOG, servers=16, scale=2.0)
    assert 1.5 * COUNT < more.jobs < 2.5 * COUNT
    own = list(zip(LOG["submit"].tolist(), LOG["service"].tolist(), strict=True))
    there = set(zip(more.each["submitted"].tolist(), more.each["service"].tolist(), strict=True))
    # Of a table without stamps, times are the log's own.
    assert sum((t, s) in there for t, s in own) == COUNT
    fewer = loynes.replay(LOG, servers=16, scale=0.5)
    assert fewer.jobs < COUNT
    assert (
        loynes.replay(LOG, servers=16, scale=1.0).to_dict()["overall"]
        == loynes.replay(LOG, servers=16).to_dict()["overall"]
    )


def test_cases() -> None:
    """Every case is the replay it would be by itself, and gains are differences of jobs' waits."""
    found = loynes.replay_cases(LOG, policies=["fcfs", "easy"], servers=[8, 12], classes="user")
    assert [case.name for case in found.cases] == [
        "fcfs on 8 servers", "easy on 8 servers", "fcfs on 12 servers", "easy on 12 servers"
    ]  # fmt: skip
    alone = [waits(servers=n, policy=p) for n in (8, 12) for p in ("fcfs", "easy")]
    for case, wait in zip(found.cases, alone, strict=True):
        np.testing.assert_array_equal(case.result.each["wait"], wait)
    minus = alone[3] - alone[0]
    gains = found.cases[3].gains
    assert list(gains) == ["all jobs", "a", "b", "c"]
    assert gains["all jobs"].wait == pytest.approx(minus.mean())
    mine = minus[LOG["user"] == "b"]
    assert (gains["b"].jobs, gains["b"].wait) == (len(mine), pytest.approx(mine.mean()))
    assert (gains["b"].less, gains["b"].more) == (np.mean(mine < 0), np.mean(mine > 0))
    of_need = minus[LOG["need"] == 5]
    assert found.cases[3].by_size["need 5"].wait == pytest.approx(of_need.mean())
    with pytest.warns(loynes.LoynesWarning, match="4 servers: 116 jobs need more than 4 servers"):
        smaller = loynes.replay_cases(LOG, policy="easy", servers=[4, 8])
    assert [case.result.jobs for case in smaller.cases] == [int((LOG["need"] <= 4).sum()), COUNT]
    assert set(smaller.cases[1].gains) == {"all jobs", "need 1", "need 2"}


def test_what_jobs_are_called(tmp_path: Path) -> None:
    """Ids and submissions survive sorting and jobs that do not fit; where there are no ids, lines are."""
    lines = ["; UnixStartTime: 1000000", "; MaxProcs: 4"]
    rows = [(7, 50, 1), (3, 20, 9), (5, 10, 2)]  # number, submit, need: the second does not fit
    lines += [f"{n} {s} 0 5 {p} -1 -1 {p} 9 -1 1 1 1 -1 1 1 -1 -1" for n, s, p in rows]
    (tmp_path / "log.swf").write_text("\n".join(lines) + "\n")
    with pytest.warns(loynes.LoynesWarning, match="1 jobs need more than 4 servers"):
        each = loynes.replay(tmp_path / "log.swf").each
    assert each["id"].tolist() == [5, 7]
    assert each["submitted"].tolist() == [1000010.0, 1000050.0]
    table = {"submit": [9.0, 3.0], "need": [1, 1], "service": [1.0, 1.0]}
    assert loynes.replay(table | {"job_id": ["x", "y"]}, servers=1).each["id"].tolist() == ["y", "x"]
    each = loynes.replay(table, servers=1).each
    assert (each["id"].tolist(), each["submitted"].tolist()) == ([2, 1], [3.0, 9.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outages": ("from=x, lost=1",)}, "outage 'from=x, lost=1': 'x': a time is a number with a unit"),
        ({"outages": ("from=1d, until=2d, lost=101%",)}, "lost=101%': lost = '101%': must be at most 100%"),
        ({"outages": ("from=1d, until=2d, lost=" + 5000 * "9",)}, "lost: must be a number of servers, or a share"),
        ({"max_need": 10**20}, "must be at most"),
        ({"larger": "split"}, "larger 'split': means nothing without --max-need"),
        ({"outages": ("from=1d",)}, "must say from when, and what is lost"),
        ({"outages": ("from=1d, lost=4, gone=2",)}, "must be written like 'from=2d"),
        ({"outages": ("from=1d, lost=4",)}, "outage: leaves 4 servers for ever, and some jobs need 8"),
        ({"outages": ("from=2d, until=1d, lost=4",)}, "until = 86400: must be after from = 172800"),
        ({"outages": ("from=2024-01-01, lost=4",)}, "does not tell the date"),
        ({"predict": "last-two"}, "predict 'last-two': means nothing to policy 'fcfs'"),
        ({"policy": "easy", "predict": "requested", "inflation": 2.0}, "inflation 2: is about the true run times"),
        ({"policy": "easy", "correct": "doubling"}, "correct 'doubling': is for predictions"),
        ({"overestimate": 2.0}, "overestimate 2: means nothing to policy 'fcfs'"),
        ({"larger": "halve"}, "larger 'halve': must be one of stretch, split, refuse"),
    ],
)
def test_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(loynes.UsageError) as refused:
        loynes.replay(LOG, servers=8, **options)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
