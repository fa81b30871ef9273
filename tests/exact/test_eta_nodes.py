"""Forecasts on nodes: by hand, where running jobs' tasks are, and on nodes that are one pool."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.execution.context import Context
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.forecast import Forecast, job_classes
from loynes.kernels.events.policies import find_policy
from loynes.model.nodes import Nodes
from loynes.questions.answering.backtesting import moments
from loynes.questions.answering.forecasting import asked_limits
from loynes.questions.answering.log_nodes import NODE, LogNodes
from loynes.questions.answering.machines import Machines
from loynes.questions.answering.orders import order_of
from loynes.questions.answering.placing import fitting_on, on_nodes
from loynes.traces.run_times import full_limits, no_history
from loynes.traces.snapshot import Snapshot
from loynes.traces.snapshots.hosts import hosts_of
from loynes.traces.trace import Trace


def snapshot(
    running: int, cpus: list[int], nodes: list[int], limit: list[float], elapsed: list[float] | None = None,
    hosts: tuple[tuple[str, ...], ...] = (),
) -> Snapshot:  # fmt: skip
    count = len(cpus)
    return Snapshot(
        ids=tuple(map(str, range(1, count + 1))),
        running=running,
        demand={"cpu": np.array(cpus), NODE: np.array(nodes)},
        elapsed=np.array(elapsed or [0.0] * count),
        limit=np.array(limit, float),
        submit=np.zeros(count),
        labels={},
        hosts=hosts,
    )


def starts(jobs: Snapshot, nodes: LogNodes, policy: str = "fcfs", count: int = 1, pooled: bool = False) -> np.ndarray:
    need = np.ascontiguousarray(jobs.need(nodes.kinds))
    classes = job_classes(need, need[:0]) if pooled else on_nodes(nodes, jobs, None)[0]
    laws = full_limits(jobs) if count == 1 else no_history(jobs)
    units = np.array(list(nodes.units.values()))
    task = Forecast(
        1, np.arange(count), need, units, jobs.running, laws, np.linspace(0, 50, 26), find_policy(policy),
        classes=classes, by_events=True,
    )  # fmt: skip
    state = task.new_state()
    CpuEngine(1).run(task, state, 0, count)
    return state.starts


FOUR = LogNodes((Nodes(count=4, has={"cpu": 8}),))


@pytest.mark.parametrize(("policy", "last"), [("fcfs", 60.0), ("easy", 0.0)])
def test_by_hand(policy: str, last: float) -> None:
    """Four nodes of 8. Two are full until 180, one has 4 cpus taken until 90.

    A job of 8 takes the empty node until 60; one of 2 goes beside the 4. The next wants 8 on one node: 2 are free
    there, so that it waits for 60. The last one, of 1 cpu for 30, may pass it under EASY.
    """
    jobs = snapshot(
        2, [16, 4, 8, 2, 8, 1], [2, 1, 1, 1, 1, 1], [240, 120, 60, 60, 60, 30], [60, 30, 0, 0, 0, 0],
        (("n1", "n2"), ("n3",)),
    )  # fmt: skip
    assert starts(jobs, FOUR, policy)[0].tolist() == [0, 0, 60, last]


def test_where_tasks_are_decides() -> None:
    """Two jobs of 4 cpus: on one node they leave another whole, on two nodes none."""
    together = snapshot(2, [4, 4, 8], [1, 1, 1], [50, 70, 10], hosts=(("a",), ("a",)))
    apart = snapshot(2, [4, 4, 8], [1, 1, 1], [50, 70, 10], hosts=(("a",), ("b",)))
    two = LogNodes((Nodes(count=2, has={"cpu": 8}),))
    assert starts(together, two)[0].tolist() == [0]
    assert starts(apart, two)[0].tolist() == [50]
    # Where it is not listed, they are put together.
    assert starts(snapshot(2, [4, 4, 8], [1, 1, 1], [50, 70, 10]), two)[0].tolist() == [0]


def test_names_are_given_to_nodes_that_are_large_enough() -> None:
    """The large node is that of the large job, whichever is listed first; the small one is left for nobody."""
    mixed = LogNodes((Nodes(count=1, has={"cpu": 4}), Nodes(count=1, has={"cpu": 16})))
    jobs = snapshot(2, [2, 12, 4], [1, 1, 1], [50, 90, 10], hosts=(("x",), ("y",)))
    classes, _ = on_nodes(mixed, jobs, None)
    assert classes.node.tolist() == [0, 1]
    assert starts(jobs, mixed)[0].tolist() == [0]  # beside the 12


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
def test_one_node_is_the_pool_to_the_last_bit(policy: str) -> None:
    rng = np.random.default_rng(4)
    cpus = [3, 2, 1, *rng.integers(1, 12, 25).tolist()]
    limit = rng.uniform(5, 40, len(cpus))
    elapsed = [*(rng.random(3) * limit[:3]).tolist(), *[0.0] * 25]
    jobs = snapshot(3, cpus, [1] * len(cpus), limit.tolist(), elapsed)
    one = LogNodes((Nodes(count=1, has={"cpu": 12}),))
    assert np.array_equal(starts(jobs, one, policy, 20), starts(jobs, one, policy, 20, pooled=True))


def test_what_does_not_fit() -> None:
    wide = snapshot(0, [9, 40, 12], [1, 1, 1], [10, 10, 10])
    found = fitting_on(FOUR, wide)
    assert found.ids == ("1", "3")
    assert [note.id for note in found.left_out] == ["2"]
    assert "taken as 2 tasks" in found.assumed[0].text
    with pytest.raises(UsageError, match="job 1 runs, but would not fit"):
        fitting_on(FOUR, snapshot(1, [40, 1], [1, 1], [10, 10]))
    crowded = snapshot(3, [6, 6, 6, 1], [1, 1, 1, 1], [10, 10, 10, 10])
    with pytest.raises(UsageError, match="no room for it"):
        on_nodes(LogNodes((Nodes(count=2, has={"cpu": 9}),)), crowded, None)
    with pytest.raises(UsageError, match="no node is left"):
        on_nodes(FOUR, snapshot(5, [1] * 6, [1] * 6, [10] * 6, hosts=tuple((name,) for name in "abcde")), None)


def test_as_it_is_asked(tmp_path: Path) -> None:
    """From a listing with the nodes of running jobs; the model file's nodes are the same answer."""
    rows = "jobid,state,cpus,nodes,time,timelimit,nodelist\n1,R,8,2,60,240,n[1-2]\n2,PD,16,2,,60,\n3,PD,8,1,,60,\n"
    (tmp_path / "now.csv").write_text(rows)
    (tmp_path / "there.toml").write_text(
        '[[nodes]]\ncount = 3\nhas = { cpu = 8 }\n[arrivals]\nprocess = "poisson"\n'
        '[[classes]]\nname = "a"\nneed = { cpu = 1 }\nprobability = 1\nservice = { law = "exponential", mean = 1 }\n'
    )
    with pytest.warns(LoynesWarning, match="no history"):
        said = loynes.eta(tmp_path / "now.csv", nodes=3, has={"cpu": 8}, draws=50)
    with pytest.warns(LoynesWarning, match="no history"):
        modelled = loynes.eta(tmp_path / "now.csv", on=str(tmp_path / "there.toml"), draws=50)
    # Two whole nodes are wanted: one is empty, those of job 1 are half full for up to 180 s more.
    assert [one.by_limits for one in said.jobs] == [180, 180]
    assert said.jobs == modelled.jobs
    assert said.model.nodes == {"nodes": ["3 nodes of cpu 8"], "placement": "pack"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("n[08-10,12],gpu1", ("n08", "n09", "n10", "n12", "gpu1")),
        ("r[1-2]n[0-1]-ib", ("r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib")),
        ("", ()),
        ("n[1-", ()),
        ("n[1-999999999]", ()),
        ("r[0-9999]n[0-9999]", ()),
        ("]", ()),
    ],
)
def test_lists_of_nodes(text: str, names: tuple[str, ...]) -> None:
    assert hosts_of(text) == names


def full_runs(seed: int, jobs: int = 120) -> Trace:
    """Jobs of one hour, all of which take what they asked for: who knows where they run knows when all others start."""
    rng = np.random.default_rng(seed)
    limit, cpu = rng.integers(600, 12_000, jobs).astype(np.float64), rng.integers(1, 9, jobs)
    demand = {"cpu": cpu, NODE: np.where(cpu > 4, 2, rng.integers(1, 3, jobs))}
    submit = np.sort(rng.random(jobs)) * 3600
    return Trace(submit, cpu, limit, np.zeros(jobs), {"requested_time": limit}, records=jobs, demand=demand)


@pytest.mark.parametrize("policy", ["fcfs", "easy"])
@pytest.mark.parametrize("placement", ["pack", "spread", "first-fit"])
def test_a_backtest_knows_which_nodes_jobs_are_on(placement: str, policy: str) -> None:
    """Nobody comes after the first hour, and run times are known: then starts are those of the replay, each time."""
    nodes = LogNodes((Nodes(count=2, has={"cpu": 4}), Nodes(count=1, has={"cpu": 8})), placement)
    machines, order, look = Machines(nodes.units, nodes), order_of(policy, {}), Context().deadline.look
    trace = machines.fitting(full_runs(3))
    asked = asked_limits(trace)
    start = machines.replayed(trace, order, asked, look)
    instants = np.linspace(3700.0, float(np.sort(start)[-12]), 6)
    places = machines.places(trace, order, asked, instants, look)
    told = partial(moments, trace, start, asked, machines, order, instants, draws=2, seed=1, context=Context())
    found = list(told(places=places))
    assert len(found) == 6
    for one in found:
        assert one.by_limits == pytest.approx(one.truth, rel=1e-6)  # starts are kept in single precision
    if policy == "fcfs":  # where nobody says which nodes, they are guessed: other starts, or no room
        guessed = list(told())
        assert [one.by_limits.tolist() for one in guessed] != [one.by_limits.tolist() for one in found]


def test_backtests_on_nodes_as_they_are_asked(tmp_path: Path) -> None:
    """In a replay no instant is left out; by the log's own starts, of more jobs than fit, some are, and it is said."""
    trace = full_runs(4, 400)
    cpu, nodes, asked = trace.demand["cpu"], trace.demand[NODE], trace.service
    rows = [
        f"{40 * i},{0.8 * asked[i]:.0f},{cpu[i]},{nodes[i]},{asked[i]:.0f},{40 * i + 5000 * (i % 3)}"
        for i in range(trace.jobs)
    ]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["submit,run,cpu,nodes,requested_time,start", *rows]) + "\n")
    ask = {"backtest": str(log), "nodes": 100, "has": {"cpu": 4}, "instants": 12, "draws": 20}
    replayed = loynes.eta_backtest(**ask)
    assert replayed.instants == 12
    assert replayed.model.nodes["nodes"] == ["100 nodes of cpu 4"]
    left_out = "of 12 instants the log's running jobs could not all be put on these nodes: left out"
    with pytest.warns(LoynesWarning, match="own scheduler"), pytest.warns(LoynesWarning, match=left_out):
        recorded = loynes.eta_backtest(**ask, recorded=True)
    assert 2 <= recorded.instants < 12
    with pytest.raises(UsageError, match="at 12 of 12 instants"):
        loynes.eta_backtest(**ask | {"nodes": 4}, recorded=True)
