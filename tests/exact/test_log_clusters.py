"""Logs on nodes and with limits of users: every question runs them as replay does, and replay as the book says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import TraceError, UsageError
from loynes.traces.changes import Changes, changed
from loynes.traces.trace import Trace

HAS = {"cpu": 8, "gpu": 2}
# Some of these logs bring more work than there are servers for, or jobs that are too large.
pytestmark = pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")


def log(jobs: int = 500, seed: int = 5) -> Trace:
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.random(jobs)) * 28 * 86400.0
    gpu = rng.choice([0, 1, 2, 4], jobs, p=[0.5, 0.3, 0.15, 0.05])
    cpu = rng.integers(1, 5, jobs) + 2 * gpu
    service = np.round(rng.exponential(12_000.0, jobs)) + 1.0
    demand = {"cpu": cpu.astype(np.int64), "gpu": gpu.astype(np.int64)}
    labels = {"user": rng.choice(["ann", "bob", "cyd"], jobs)}
    return Trace(submit - submit[0], cpu.astype(np.int64), service, np.full(jobs, np.nan), labels, demand)


LOG = log()
ON_NODES: dict[str, Any] = {"nodes": 3, "has": HAS, "policy": "easy"}


def test_questions_of_a_log_run_it_as_its_replay_does() -> None:
    replayed = loynes.replay(LOG, **ON_NODES, user_limit={"gpu": 4})
    found = loynes.evaluate(LOG, **ON_NODES, user_limit={"gpu": 4}, resamples=2)
    assert found.overall.wait.mean.estimate == pytest.approx(replayed.overall.wait.mean.estimate, rel=1e-12)
    assert set(found.system.fragmentation) == {"cpu", "gpu"}
    assert 0 < found.system.fragmentation["gpu"].estimate < found.system.resources["gpu"].hol_loss.estimate
    assert "3 nodes of cpu 8, gpu 2 under easy" in found.title.replace("cpu 8 gpu 2", "cpu 8, gpu 2")
    for said in ("as few tasks for a job as fit on nodes", "no user holds more than 4 gpus"):
        assert said in found.footer
        assert said in replayed.footer


def test_more_nodes_are_better() -> None:
    plan = loynes.plan(LOG, **ON_NODES, vary="nodes", slo="mean(wait) <= 3000", resamples=4, probability=0.6)
    tried = {one.value: one.wait.estimate for one in plan.tried if one.wait is not None}
    assert [tried[n] for n in sorted(tried)] == sorted(tried.values(), reverse=True)
    assert tried[plan.answer] <= 3000
    assert f"{plan.answer:g} nodes meet" in plan.statement
    sweep = loynes.sweep(LOG, **ON_NODES, vary={"nodes": [3, 4], "policy": ["fcfs", "easy"]}, resamples=2)
    means = [case.result.overall.wait.mean.estimate for case in sweep.cases]
    assert means[2] < means[0]
    assert means[3] < means[1] < means[0]
    cases = loynes.replay_cases(LOG, nodes="3,4", has=HAS, policies="fcfs,easy")
    assert [case.result.overall.wait.mean.estimate for case in cases.cases] == pytest.approx(means, rel=1e-12)
    assert [case.name for case in cases.cases][1::2] == ["easy on 3 nodes", "easy on 4 nodes"]


def test_the_least_number_of_nodes() -> None:
    """Jobs of 8 GPUs in pieces of at most 2 need four nodes; half of them are busy, so that more are not needed."""
    count = 40
    given = loynes.read_trace({
        "submit": np.arange(count) * 86400.0, "need": np.full(count, 8), "gpu": np.full(count, 8),
        "service": np.full(count, 43_200.0),
    })  # fmt: skip
    options: dict[str, Any] = {"nodes": 9, "has": {"gpu": 2}, "vary": "nodes", "slo": "p99(wait) <= 1", "resamples": 2}
    assert loynes.plan(given, **options).answer == 4
    with pytest.raises(UsageError, match=r"most 3: at least 4 nodes are needed \(for its largest jobs, and 4"):
        loynes.plan(given, **options, most=3)
    with pytest.raises(UsageError, match="vary 'servers': must be one of nodes, scale"):
        loynes.plan(given, **options | {"vary": "servers"})


def test_advice_comparison_and_sensitivity_on_nodes() -> None:
    options = {name: value for name, value in ON_NODES.items() if name != "policy"}
    compared = loynes.compare(LOG, **options, policies="fcfs,easy", resamples=3)
    advice = loynes.advise(LOG, **options, policies="easy", resamples=3)
    means = [[case.result.overall.wait.mean.estimate for case in one.cases] for one in (compared, advice)]
    assert means[0] == means[1]
    sure = loynes.sensitivity(LOG, **ON_NODES, resamples=3)
    by_lever = {(one.lever, one.change): one for one in sure.effects}
    assert by_lever["nodes", "+1"].effect.estimate < 0
    assert by_lever["nodes", "+1"].words == "one more node"


SINGLE = {
    "submit": LOG.submit, "need": LOG.demand["cpu"], "cpu": LOG.demand["cpu"], "service": LOG.service,
    "user": LOG.labels["user"],
}  # fmt: skip


SINGLE_TRACE = loynes.read_trace(SINGLE)


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 1.3},
        {"scale": 0.6, "run_times": 1.5},
        {"max_need": 4},
        {"max_need": 4, "larger": "split"},
        {"max_need": 4, "larger": "refuse"},
        {"without": "bob"},
        {"user_limit": 12},
        {"user_limit": 6, "user_borrow": 8},
        {"outages": ("from=3d, until=6d, lost=25%",)},
        {"outages": ("from=0s, lost=25%",)},
    ],
)
@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_nodes_of_one_unit_are_servers(policy: str, change: dict[str, Any]) -> None:
    """Whatever is changed about the log, or lost (nodes that are drained go one by one, as servers do)."""
    on_nodes = loynes.replay(SINGLE, nodes=24, has={"cpu": 1}, policy=policy, **change)
    servers = loynes.replay(SINGLE, servers=24, policy=policy, **change)
    np.testing.assert_allclose(on_nodes.each["wait"], servers.each["wait"], rtol=0, atol=1e-6)
    assert on_nodes.skipped == {
        reason.replace("servers", "cpus") if "refused" in reason else reason: count
        for reason, count in servers.skipped.items()
    }
    pool = on_nodes.pooled
    assert (pool is None) == ("outages" in change)
    if pool is not None and pool.cost is not None:
        assert pool.cost.estimate == pytest.approx(0.0, abs=1e-6)


def by_the_book(trace: Any, servers: int, limit: int, borrow: int | None) -> np.ndarray[Any, Any]:
    """First come, first served: a job its user may not have yet is passed by, any other that does not fit blocks."""
    count = len(trace["submit"])
    start, running, line = np.full(count, np.nan), list[tuple[float, int]](), list[int]()
    users = sorted(set(trace["user"]))
    held = dict.fromkeys(users, 0)
    times = [(t, 1, i) for i, t in enumerate(trace["submit"])]
    while times or running:
        now = min([t for t, _, _ in times[:1]] + [end for end, _ in running])
        for end, i in [one for one in running if one[0] == now]:
            running.remove((end, i))
            held[trace["user"][i]] -= trace["need"][i]
        while times and times[0][0] == now:
            line.append(times.pop(0)[2])
        for i in list(line):
            user, need = trace["user"][i], trace["need"][i]
            most = limit if borrow is None else limit + borrow
            together = borrow is None or sum(held.values()) + need <= limit * len(users)
            if held[user] + need > most or not together:
                continue
            if sum(held.values()) + need > servers:
                break
            line.remove(i)
            held[user] += need
            start[i] = now
            running.append((now + trace["service"][i], i))
    return start - trace["submit"]


@pytest.mark.parametrize("borrow", [None, 0, 2, 5])
def test_limits_of_users_by_the_book(borrow: int | None) -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        count = 60
        trace = {
            "submit": np.sort(rng.integers(0, 120, count)).astype(float), "need": rng.integers(1, 5, count),
            "service": rng.integers(1, 12, count).astype(float), "user": rng.choice(["a", "b", "c"], count),
        }  # fmt: skip
        trace["submit"] -= trace["submit"][0]
        options = {} if borrow is None else {"user_borrow": borrow} if borrow else {}
        servers, limit = int(rng.integers(8, 14)), int(rng.integers(4, 7))
        found = loynes.replay(trace, servers=servers, user_limit=limit, **options)
        expected = by_the_book(trace, servers, limit, borrow or None)
        np.testing.assert_allclose(found.each["wait"], expected, atol=1e-9)
        free = loynes.replay(trace, servers=servers, user_limit=10 * servers)
        assert (free.each["wait"] == loynes.replay(trace, servers=servers).each["wait"]).all()


def test_who_a_user_is_and_who_needs_too_much() -> None:
    by_group = {**SINGLE, "group": np.where(SINGLE["user"] == "ann", "physics", "others")}
    found = loynes.replay(by_group, servers=24, user_limit=9, user_label="group")
    merged = {**SINGLE, "user": by_group["group"]}
    assert (found.each["wait"] == loynes.replay(merged, servers=24, user_limit=9).each["wait"]).all()
    assert "no group holds more than 9 servers" in found.footer
    large = int((SINGLE["need"] > 9).sum())
    assert large > 0
    assert found.skipped == {"needs more than a user may hold": large}
    assert any(f"{large} jobs need more than a user may hold" in text for text in found.warnings)
    assert found.details["user_label"] == "group"


def test_what_a_limit_of_users_costs() -> None:
    """compare has the log as it is beside the log with the limit, each as replay runs it."""
    found = loynes.compare(SINGLE_TRACE, servers=24, user_limit=12, resamples=3)
    assert [case.name for case in found.cases] == ["as it is", "no user holds more than 12 servers"]
    for case, limit in zip(found.cases, ({}, {"user_limit": 12}), strict=True):
        own = loynes.replay(SINGLE_TRACE, servers=24, **limit).overall.wait.mean.estimate
        assert case.result.overall.wait.mean.estimate == pytest.approx(own, rel=1e-12)


def test_a_limit_of_users_is_that_of_every_size() -> None:
    """Also where it is above what there is to begin with."""
    options: dict[str, Any] = {"user_limit": 40, "scale": 6.0, "resamples": 2}
    sweep = loynes.sweep(SINGLE_TRACE, servers=13, vary={"servers": [13, 200]}, **options)
    alone = [loynes.evaluate(SINGLE_TRACE, servers=200, **options | {"user_limit": n}) for n in (40, 26)]
    means = [one.overall.wait.mean.estimate for one in alone]
    assert sweep.cases[1].result.overall.wait.mean.estimate == means[0] < means[1]


def test_smaller_jobs_need_less_of_everything() -> None:
    """No job on more than one GPU: the work of GPUs stays, other needs are parts, rounded up."""
    trace, group = LOG, np.arange(LOG.jobs)
    given = Trace(trace.submit, trace.demand["gpu"], trace.service, trace.wait, trace.labels, trace.demand)
    for larger in ("stretch", "split"):
        log_, which = changed(given, Changes(max_need=1, larger=larger, need_of="gpu"), [], group)
        assert log_.demand["gpu"].max() == 1
        work = np.bincount(which, log_.demand["gpu"] * log_.service, trace.jobs)
        np.testing.assert_allclose(work, trace.demand["gpu"] * trace.service)
        whole = trace.demand["gpu"] <= 1
        assert (log_.demand["cpu"][whole[which]] == trace.demand["cpu"][which][whole[which]]).all()
        parts = np.bincount(which, log_.demand["cpu"], trace.jobs) if larger == "split" else log_.demand["cpu"]
        least = trace.demand["cpu"] / (1 if larger == "split" else np.maximum(trace.demand["gpu"], 1))
        assert (parts >= least).all()
        assert (parts < least + np.maximum(trace.demand["gpu"], 1)).all()
    found = loynes.replay(LOG, **ON_NODES, max_need=1, max_need_of="gpu")
    assert found.details["changes"] == ["no job on more than 1 gpus"]


def test_announced_nodes_in_a_replay() -> None:
    """Of two nodes the second is away from 10 to 20: who would be there then takes the other, once it is free.

    Unannounced, the third job starts there at 8, for nothing, and the fourth finds no gap that is short enough for it.
    """
    jobs = {"submit": [0.0, 0.0, 1.0, 1.0], "gpu": [1, 1, 1, 1], "service": [15.0, 8.0, 12.0, 1.5]}
    jobs["need"] = jobs["gpu"]
    options: dict[str, Any] = {"nodes": 2, "has": {"gpu": 1}, "placement": "first-fit", "policy": "easy"}
    known = loynes.replay(jobs, **options, outages="from=10s, until=20s, nodes=1, announced=true")
    assert known.each["wait"].tolist() == [0.0, 0.0, 14.0, 7.0]
    assert known.pooled is None
    sudden = loynes.replay(jobs, **options, outages="from=10s, until=20s, nodes=1, how=failed")
    assert sudden.each["wait"].tolist() == [0.0, 0.0, 14.0, 19.0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"user_limit": 4}, "user-limit 4: say of which resource: cpu=4"),
        ({"user_limit": {"tpu": 4}}, "user-limit 'tpu': no such resource; there are: cpu, gpu"),
        ({"user_limit": {"gpu": 0}}, "user-limit: gpu=0: must be a whole number of at least 1"),
        ({"user_limit": {"gpu": 4}, "user_label": "team"}, "user-limit: arrays has no label 'team'"),
        ({"user_borrow": {"gpu": 4}}, "user-borrow: means nothing without --user-limit"),
        ({"user_label": "group"}, "user-label: means nothing without --user-limit"),
        ({"user_limit": {"gpu": 4}, "policy": "msr"}, "policy 'msr'"),
        ({"max_need": 2}, "max-need 2: say --max-need-of, one of cpu, gpu"),
        ({"max_need": 2, "max_need_of": "tpu"}, "max-need-of 'tpu': must be one of cpu, gpu"),
        ({"max_need_of": "gpu"}, "max-need-of 'gpu': means nothing without --max-need"),
        ({"predict": "last-two"}, "predict 'last-two': is for pools of servers, not for nodes"),
        ({"outages": "from=1d, lost=2"}, "outage lost: nodes are lost whole"),
        ({"outages": "from=1d, nodes=4"}, "outage: at 86400 s 4 nodes are lost, of 3"),
        ({"outages": "from=1d, nodes=2"}, "outage: leaves too few nodes for ever for some of the jobs"),
        ({"outages": "from=1d, nodes.big=1"}, "outage nodes.big: no such entry of [[nodes]]; there are: nodes"),
        ({"outages": "from=1d, nodes=1, announced=maybe"}, "must be true or false"),
    ],
)
def test_what_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        loynes.replay(LOG, **ON_NODES | options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_refused_of_servers() -> None:
    with pytest.raises(UsageError, match="outage nodes: is for a cluster of nodes"):
        loynes.replay(SINGLE, servers=24, outages="from=1d, nodes=1")
    with pytest.raises(UsageError, match="policy 'server-filling': it stops jobs by itself, and knows no limits"):
        loynes.replay(SINGLE, servers=24, user_limit=4, policy="server-filling")
    with pytest.raises(TraceError, match="every one of its jobs needs more than a user may hold"):
        loynes.replay({**SINGLE, "need": SINGLE["need"] + 5}, servers=24, user_limit=4)
    with pytest.raises(UsageError, match="nodes: say what there is; servers, unit and resources"):
        loynes.evaluate(LOG, **ON_NODES, servers=4)


def test_a_model_of_a_log_on_nodes() -> None:
    """With a class for everything that differs, the model needs what the log does, job by job; with few, on average."""
    many = loynes.fit(LOG, nodes=3, has=HAS, classes=1000, compare=False).model
    replayed = loynes.replay(LOG, nodes=3, has=HAS)
    assert [one.text for one in many.nodes or ()] == ["3 nodes-1 nodes of cpu 8 gpu 2"]
    own = [float(np.mean(replayed.each[kind] * replayed.each["service"])) for kind in ("cpu", "gpu")]
    assert many.works == pytest.approx(own, rel=1e-9)
    needs = {tuple(many.demand(c)) for c in many.classes}
    assert needs == set(zip(replayed.each["cpu"].tolist(), replayed.each["gpu"].tolist(), strict=True))
    assert {c.tasks for c in many.classes} == {1, 2}
    few = loynes.fit(LOG, nodes=3, has=HAS, classes=4, compare=False).model
    assert len(few.classes) == 4
    assert few.works == pytest.approx(own, rel=0.15)
    with pytest.raises(UsageError, match="classes: at least 2 are needed, as jobs that need other resources"):
        loynes.fit(LOG, nodes=3, has=HAS, classes=1, compare=False)


def test_a_model_of_nodes_is_tested_under_the_log_s_policy() -> None:
    found = loynes.fit(LOG, **ON_NODES, classes=4, arrivals="poisson", law="exponential")
    replayed = loynes.replay(LOG, **ON_NODES)
    assert found.replayed["all jobs"].estimate == pytest.approx(replayed.overall.wait.mean.estimate, rel=1e-12)
    assert found.modelled is not None
    checks = {one.name: one for one in found.candidates[0].checks}
    assert checks["utilization"].model.estimate == pytest.approx(checks["utilization"].log.estimate, rel=0.3)
    pooled = loynes.fit(LOG, resources={"cpu": 24, "gpu": 6}, classes=4, compare=False).model
    assert pooled.resources == {"cpu": 24, "gpu": 6}
    assert pooled.nodes is None


def test_partitions_stay_apart_in_a_model_of_a_log(tmp_path: Path) -> None:
    """Jobs of two partitions with nodes of their own are no class together, and run where they did."""
    text = """[[nodes]]
partition = "day"
count = 2
has = {cpu = 8}
[[nodes]]
partition = "night"
count = 3
has = {cpu = 12}
[arrivals]
rate = 1
[[classes]]
probability = 1
need = 1
service = { law = "exponential", mean = 1.0 }
"""
    (tmp_path / "two.toml").write_text(text)
    where = np.where(LOG.labels["user"] == "ann", "day", "night")
    trace = Trace(LOG.submit, LOG.need, LOG.service, LOG.wait, {"partition": where}, {"cpu": LOG.demand["cpu"]})
    model = loynes.fit(trace, nodes_of=str(tmp_path / "two.toml"), classes=2, compare=False).model
    assert [c.nodes for c in model.classes] in ([("nodes-1",), ("nodes-2",)], [("nodes-2",), ("nodes-1",)])
    share = {c.nodes: c.probability for c in model.classes}
    assert share["nodes-1",] == pytest.approx(float(np.mean(where == "day")))
