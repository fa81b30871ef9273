"""Forecasts on nodes: by hand, where running jobs' tasks are, and on nodes that are one pool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesWarning, UsageError
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.events.forecast import Forecast, job_classes
from loynes.kernels.events.policies import find_policy
from loynes.model.nodes import Nodes
from loynes.questions.answering.log_nodes import NODE, LogNodes
from loynes.questions.answering.placing import fitting_on, on_nodes
from loynes.traces.run_times import full_limits, no_history
from loynes.traces.snapshot import Snapshot
from loynes.traces.snapshots.hosts import hosts_of


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
