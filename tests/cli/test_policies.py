"""Policies from the command line: compared, over time, and on a log."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import loynes
from loynes.cli.app import main
from loynes.kernels.events.policies import policies

MODEL = "five-class-exponential"
SMALL = ("--jobs", "2000", "--replicas", "4", "-q")


def run(*line: str) -> int:
    try:
        main(list(line))
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def test_compare_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ("compare", MODEL, "--policies", "fcfs,easy", "--loads", "0.5,1.05", "--no-limits", *SMALL)
    assert run(*line, "-o", str(tmp_path / "p.csv")) == 0
    shown = capsys.readouterr().out
    assert "minus fcfs" in shown
    assert "more than it can carry" in shown
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert {(row["policy"], row["load"]) for row in rows} == {("fcfs", "0.5"), ("easy", "0.5"), ("easy", "1.05")}
    assert any(row["metric"] == "wait.mean minus fcfs" for row in rows)
    for ending, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".html", b"<!doctype")):
        target = tmp_path / f"p{ending}"
        assert run(*line, "-o", str(target)) == 0
        assert target.read_bytes().startswith(magic)
    first = (tmp_path / "p.svg").read_bytes()
    assert run(*line, "-o", str(tmp_path / "p.svg")) == 0
    assert (tmp_path / "p.svg").read_bytes() == first


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--policies", "fcfs", "--without", "T15"), "--without: means nothing with --policies"),
        (("--loads", "0.5"), "--loads: means something only with --policies"),
        (("--no-limits", "--load", "0.5", "--without", "T15"), "--no-limits: means something only with --policies"),
        (("--policies", "fcfs", "--limits", "0.5"), "--limits: means something only for a log"),
        (("--policies", "fcfs,lottery", "--loads", "0.5"), "policy 'lottery': must be one of fcfs"),
        (("--policies", "fcfs", "--loads", "0.5", "-o", "x.gif.toml"), "results are written to"),
        (("--policies", "smash", "--window", "0", "--loads", "0.5"), "window 0: must be at least 1"),
    ],
)
def test_wrong_comparisons(line: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", MODEL, *line) == 2
    assert said in capsys.readouterr().err


def test_over_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    burst = 'scenario=[{name="burst", from=10, until=20, rate_factor=3.0}, {from=30, lost="10%", how="failed"}]'
    line = ("simulate", MODEL, "--rate", "1.2", "--set", burst, "--replicas", "20", "-q")
    assert run(*line) == 2
    assert "--horizon" in capsys.readouterr().err
    assert run(*line, "--horizon", "50", "-o", str(tmp_path / "s.png")) == 0
    shown = capsys.readouterr().out
    assert "burst" in shown
    assert "10% servers failed" in shown
    assert "to time 50" in shown
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    assert run(*line, "--horizon", "50", "-o", str(tmp_path / "s.csv")) == 0
    capsys.readouterr()
    rows = list(csv.DictReader((tmp_path / "s.csv").open()))
    assert [float(row["time"]) for row in rows] == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    assert float(rows[3]["jobs waiting"]) > float(rows[0]["jobs waiting"])
    assert run(*line, "--at", "5,15,45", "--json", "-o", str(tmp_path / "run")) == 0
    data = json.loads(capsys.readouterr().out)
    assert [moment["time"] for moment in data["moments"]] == [5, 15, 45]
    assert data["horizon"] == 45
    found = loynes.read_result(tmp_path / "run")
    assert found.moments[1].jobs_in_system.estimate == data["moments"][1]["jobs_in_system"]["estimate"]
    assert run("report", str(tmp_path / "run"), "-o", str(tmp_path / "s.html")) == 0
    assert "those who come at" in (tmp_path / "s.html").read_text()


def log(path: Path, jobs: int = 400) -> Path:
    """An SWF log of jobs that asked for up to five times as long as they ran."""
    rng = np.random.default_rng(3)
    submit = np.floor(np.cumsum(rng.exponential(60, jobs)))
    need, service = 2 ** rng.integers(0, 4, jobs), np.ceil(rng.exponential(200, jobs))
    asked = np.ceil(service * rng.uniform(1, 5, jobs))
    lines = ["; MaxProcs: 16"]
    for i in range(jobs):
        times = f"{i + 1} {submit[i]:.0f} -1 {service[i]:.0f} {need[i]} -1 -1 {need[i]} {asked[i]:.0f}"
        lines.append(f"{times} -1 1 1 1 1 1 1 -1 -1")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_under_every_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is busy on average is the work of the log, whoever starts first; strict order by events is the replay's."""
    path = log(tmp_path / "log.swf")
    strict = loynes.replay(path)
    for policy in policies():
        found = loynes.replay(path, policy=policy)
        work = found.system.busy_servers.estimate * found.span
        assert work == pytest.approx(strict.system.busy_servers.estimate * strict.span)
        busy = np.array(found.series.busy_servers) * (np.array(found.series.end) - np.array(found.series.begin))
        assert busy.sum() == pytest.approx(work)
        waiting = np.array(found.series.jobs_waiting).mean()
        assert waiting == pytest.approx(found.system.jobs_waiting.estimate)
        assert loynes.read_result(_saved(found, tmp_path)).policy == policy
    one = loynes.replay(path, policy="smash", window=1)
    assert np.allclose(one.each["wait"], strict.each["wait"])
    assert one.system.hol_loss.estimate == pytest.approx(strict.system.hol_loss.estimate)
    assert one.series.hol_loss == pytest.approx(strict.series.hol_loss)
    asked, true = loynes.replay(path, policy="easy"), loynes.replay(path, policy="easy", inflation=1.0)
    assert asked.details["believed"] == "requested times, of 400 jobs"
    assert true.details["believed"] == "true run times"
    assert asked.overall.wait.mean != true.overall.wait.mean
    assert asked.overall.wait.mean.estimate < strict.overall.wait.mean.estimate
    assert run("replay", str(path), "--policy", "easy") == 0
    shown = capsys.readouterr().out
    assert "under easy" in shown
    assert "believing in requested times, of 400 jobs" in shown
    assert run("replay", str(path), "--policy", "first-fit", "--inflation", "2") == 2
    assert "means nothing to policy 'first-fit'" in capsys.readouterr().err


def _saved(found: loynes.Replay, folder: Path) -> Path:
    found.save(folder / "result.json")
    return folder / "result.json"


def test_time_limits_of_slurm(tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    head = "JobID|Submit|Start|End|Elapsed|AllocCPUS|State|Timelimit"
    limits = ("01:00:00", "1-00:00:00", "UNLIMITED", "Partition_Limit")
    lines = [
        f"{i}|2024-03-01T1{i}:00:00|2024-03-01T1{i}:00:00|2024-03-01T1{i}:30:00|00:30:00|4|COMPLETED|{limit}"
        for i, limit in enumerate(limits)
    ]
    path.write_text("\n".join([head, *lines]) + "\n")
    requested = loynes.read_trace(path).requested
    assert requested is not None
    assert requested[:2].tolist() == [3600, 86400]
    assert np.isnan(requested[2:]).all()
    assert loynes.replay(path, servers=4, policy="easy").details["believed"] == "requested times, of 2 jobs"
