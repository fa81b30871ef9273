"""Nodes, priorities and quotas from the command line: what simulate, plan and replay make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loynes.cli.app import main

# Jobs that take all GPUs of a node, and small ones that lie in their way.
TEXT = """\
time_unit = "hours"
[[nodes]]
name = "gpu"
count = 4
has = { gpu = 8, memory = "512 GB" }
[arrivals]
rate = 4
[[classes]]
name = "one"
need = { gpu = 1, memory = "32 GB" }
probability = 0.7
service = { law = "exponential", mean = 3 }
[[classes]]
name = "whole"
need = { gpu = 8 }
probability = 0.3
service = { law = "exponential", mean = 1 }
"""
POOLED = TEXT.replace('[[nodes]]\nname = "gpu"\ncount = 4\nhas = {', "resources = {").replace(
    'gpu = 8, memory = "512 GB"', 'gpu = 32, memory = "2048 GB"'
)
# One policy in all tests: what is compiled for it is compiled once.
EASY = ("--policy", "easy", "-q")
SMALL = ("--jobs", "2000", "--replicas", "4", *EASY)


def run(*line: str) -> int:
    try:
        main(list(line))
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def answer(capsys: pytest.CaptureFixture[str], *line: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(*line, "--json") == 0, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def nodes(tmp_path: Path) -> str:
    (tmp_path / "nodes.toml").write_text(TEXT)
    return str(tmp_path / "nodes.toml")


def test_simulate_on_nodes(nodes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What nodes cost is the difference of two runs of the same jobs, and fragmentation a part of what is lost."""
    found = answer(capsys, "simulate", nodes, *SMALL)
    pooled = found["pooled"]
    means = found["overall"]["wait"]["mean"]["estimate"], pooled["wait"]["estimate"]
    assert means[0] - means[1] == pytest.approx(pooled["cost"]["estimate"], rel=1e-9)
    system = found["system"]
    assert set(system["fragmentation"]) == {"gpu", "memory"}
    assert 0 < system["fragmentation"]["gpu"]["estimate"] <= system["resources"]["gpu"]["hol_loss"]["estimate"]
    # The pooled answer is that of the pooled model itself, on the same jobs.
    (tmp_path / "pooled.toml").write_text(POOLED)
    alone = answer(capsys, "simulate", str(tmp_path / "pooled.toml"), *SMALL)
    assert alone["overall"]["wait"]["mean"] == pooled["wait"]
    assert "pooled" not in alone
    assert "fragmentation" not in alone["system"]
    # Tables, pages, pictures and rows have it.
    for ending in ("html", "png", "csv", "parquet"):
        assert run("simulate", nodes, *SMALL, "-o", str(tmp_path / f"found.{ending}")) == 0
    assert "What nodes cost" in (tmp_path / "found.html").read_text()
    assert run("simulate", nodes, *SMALL) == 0
    shown = capsys.readouterr().out
    assert "gpu fragmentation" in shown
    assert "what nodes cost" in shown
    assert run("simulate", nodes, *SMALL, "-o", str(tmp_path / "run")) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["pooled"] == pooled


def test_advice_is_for_these_nodes_and_quotas(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What advise says of a policy is what simulate does, on nodes and with quotas."""
    limited = ("--set", 'quotas=[{classes=["one"], limit={gpu=8}}]', "--set", "arrivals.rate=2")
    alone = answer(capsys, "simulate", nodes, *SMALL, *limited)
    found = answer(capsys, "advise", nodes, "--policies", "easy", "--jobs", "2000", "--replicas", "4", *limited)
    of_easy = next(one for one in found["choices"] if one["policy"] == "easy")
    assert of_easy["result"]["overall"]["wait"]["mean"] == alone["overall"]["wait"]["mean"]


def test_one_node_is_the_pooled_cluster(nodes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("--set", "nodes.gpu.count=1", "--set", "nodes.gpu.has={gpu=32, memory='2048 GB'}")
    (tmp_path / "pooled.toml").write_text(POOLED)
    on_nodes = answer(capsys, "simulate", nodes, *one, *SMALL)
    pooled = answer(capsys, "simulate", str(tmp_path / "pooled.toml"), *SMALL)
    assert on_nodes["overall"] == pooled["overall"]
    assert on_nodes["classes"] == pooled["classes"]
    assert on_nodes["system"]["resources"] == pooled["system"]["resources"]
    assert on_nodes["system"]["fragmentation"]["gpu"]["estimate"] == 0


def test_priorities_and_quotas(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those who go first wait less than they did, and those who may hold less wait longer."""
    base = answer(capsys, "simulate", nodes, *SMALL)["classes"]
    first = answer(capsys, "simulate", nodes, "--set", "classes.whole.priority=1", *SMALL)["classes"]
    assert first["whole"]["wait"]["mean"]["estimate"] < base["whole"]["wait"]["mean"]["estimate"]
    limit = "quotas=[{classes=['one'], limit={gpu=10}}]"
    held = answer(capsys, "simulate", nodes, "--set", limit, *SMALL)["classes"]
    assert held["one"]["wait"]["mean"]["estimate"] > base["one"]["wait"]["mean"]["estimate"]
    assert held["whole"]["wait"]["mean"]["estimate"] < base["whole"]["wait"]["mean"]["estimate"]


def test_nodes_that_go_and_come_back(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    outage = "scenario=[{name='a rack', from=10, until=20, nodes=2}]"
    line = ("simulate", nodes, "--set", outage, "--replicas", "20", *EASY)
    assert run(*line) == 2
    assert "--horizon" in capsys.readouterr().err
    with_rack = answer(capsys, *line, "--horizon", "40", "--at", "8,18,40")["moments"]
    without = answer(capsys, "simulate", nodes, "--replicas", "20", *EASY, "--horizon", "40", "--at", "8,18,40")[
        "moments"
    ]
    assert with_rack[0]["busy_servers"] == without[0]["busy_servers"]
    assert with_rack[1]["busy_servers"]["estimate"] <= 16
    assert with_rack[1]["jobs_waiting"]["estimate"] > without[1]["jobs_waiting"]["estimate"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("simulate", "--from", "stationary"), "from 'stationary': such states are those of the pooled cluster"),
        (("simulate", "--policy", "server-filling"), "policy 'server-filling': is for identical servers"),
        (("simulate", "--policy", "smash", "--window", "1" + 21 * "0"), "window: must be at most 2^53"),
        (
            ("simulate", "--set", "scenario=[{from=1, until=2, nodes=1, announced=true}]", "--from", "stationary"),
            "a model with nodes, priorities or quotas starts empty",
        ),
        (("simulate", "--horizon", "1e90"), "horizon 1e+90: 2.0e+93 jobs in 512 replicas"),
        (("simulate", "--jobs", str(2**40)), "jobs 1.37439e+12: 4.4e+13 jobs in 32 replicas"),
        (("simulate", "--set", "seats=" + 3000 * "["), "--set seats: lists within lists, too deep to be read"),
        (
            ("plan", "--vary", "nodes.gpu", "--most", "1e30", "--slo", "mean(wait) <= 1 h"),
            "most 1e+30: must be at most 100000",
        ),
        (("plan", "--most", "inf", "--slo", "mean(wait) <= 1 h"), "most inf: must be a finite number above 0"),
        (("plan", "--slo", "mean(wait) <= 1 h"), "vary 'servers': must be one of nodes, rate"),
        (("evaluate", "--set", "classes.one.priority=3"), "priorities: this answer is for jobs in order of arrival"),
        (("stability", "--set", "classes.one.priority=3"), "simulate has priorities"),
        (("simulate", "--set", "classes.one.need.gpu=9"), "a task runs on one node, and no node has more than 8"),
    ],
)
def test_refusals(line: tuple[str, ...], said: str, nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line[0], nodes, *line[1:]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_pooled_answers_say_what_they_leave_out(nodes: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "check", nodes)
    assert "1 node" not in json.dumps(found["warnings"])
    assert run("stability", nodes, "--precision", "0.1", "-q") == 0
    error = capsys.readouterr().err
    assert "nodes are left out: this answer is for the pooled cluster (32 gpu, 2048 GB memory)" in error
    assert "memory in units of 32 GB" in error


def test_replay_on_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes of 4 GPUs: a job of 4 waits while 2 + 2 lie on both, which a pool of 8 would not make it do."""
    rows = ["submit,service,gpu", "0,100,3", "1,100,3", "2,10,2", "3,10,1"]
    (tmp_path / "jobs.csv").write_text("\n".join(rows) + "\n")
    line = ("replay", str(tmp_path / "jobs.csv"), "--format", "csv", "--column", "gpu=gpu", *EASY)
    found = answer(capsys, *line, "--nodes", "2", "--has", "gpu=4")
    pooled = answer(capsys, *line, "--resources", "gpu=8")
    assert pooled["overall"]["wait"]["mean"]["estimate"] == pytest.approx((0 + 0 + 0 + 9) / 4)
    # As few tasks as fit: the job of 2 GPUs is one task, for which no node has room until a job of 3 ends; the last
    # job passes it, since it ends long before.
    assert found["overall"]["wait"]["mean"]["estimate"] == pytest.approx((0 + 0 + 98 + 0) / 4)
    assert found["pooled"]["wait"] == pooled["overall"]["wait"]["mean"]
    assert found["details"]["tasks"] == "as few tasks for a job as fit on nodes"
    span = found["span"]
    # Two idle GPUs, one on each node, would do for the job of 2 from 2 until 100, but for the 10 seconds of the last.
    assert found["system"]["fragmentation"]["gpu"]["estimate"] == pytest.approx(2 * 88 / span)
    one = answer(capsys, *line, "--nodes", "1", "--has", "gpu=8")
    assert one["overall"] == pooled["overall"]
    # A log that says on how many nodes a job ran.
    told = [f"{row},{n}" for row, n in zip(rows, ("node", 1, 1, 2, 1), strict=True)]
    (tmp_path / "jobs.csv").write_text("\n".join(told) + "\n")
    apart = answer(capsys, *line, "--column", "node=node", "--nodes", "2", "--has", "gpu=4")
    assert apart["overall"]["wait"]["mean"]["estimate"] == pytest.approx((0 + 0 + 0 + 9) / 4)
    # The nodes of a model file.
    (tmp_path / "two.toml").write_text(
        TEXT.replace("count = 4", "count = 2")
        .replace('gpu = 8, memory = "512 GB"', "gpu = 8")
        .replace(', memory = "32 GB"', "")
    )
    both = answer(capsys, *line, "--nodes-of", str(tmp_path / "two.toml"))
    assert both["details"]["nodes"] == ["2 gpu nodes of gpu 8"]
    for wrong, said in (
        (("--nodes", "2"), "nodes: say how many, and what each has"),
        (("--nodes", "2", "--has", "gpu=4", "--servers", "8"), "nodes: say what there is"),
        (("--nodes", "2", "--has", "tpu=4"), "tpu"),
        (("--placement", "pack"), "means something only with nodes"),
        (("--nodes-of", "five-class-exponential"), "the model has no [[nodes]]"),
    ):
        assert run(*line, *wrong) == 2
        assert said in capsys.readouterr().err
