"""Sweeps, plans and comparisons: their tables, files, errors, and that they resume."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import loynes
from loynes.cli.app import main
from loynes.errors import UsageError
from loynes.questions.answering.objectives import objectives_of
from loynes.questions.asking.options import values_of

MODEL = "five-class-exponential"


def run(*line: str) -> int:
    try:
        main(list(line))
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def test_values() -> None:
    assert values_of("0.1:0.95:0.05")[-1] == 0.95
    assert len(values_of("0.1:0.95:0.05")) == 18
    assert values_of("1,2.5,fcfs") == (1, 2.5, "fcfs")
    for wrong in ("", "1:2:0", "3:1:1", "a:b:c", "0:1:1e-9", "0,1", "fcfs", []):
        with pytest.raises(UsageError, match=r"^loads: "):
            loynes.sweep(MODEL, loads=wrong)


def test_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All combinations, an unstable one among them, in one tidy table."""
    line = ["sweep", MODEL, "--rates", "0.9,1.85", "--vary", "servers=20,24", "--precision", "0.1"]
    assert run(*line, "-o", str(tmp_path / "s.csv")) == 0
    shown = capsys.readouterr()
    assert "1 of 4 points are unstable" in shown.err
    rows = list(csv.DictReader((tmp_path / "s.csv").open()))
    assert {(row["servers"], row["rate"]) for row in rows} == {("20", "0.9"), ("24", "0.9"), ("24", "1.85")}
    assert {"all jobs", "system", "T1", "T15"} <= {row["class"] for row in rows}
    one = next(r for r in rows if r["class"] == "T1" and r["metric"] == "wait.mean" and r["servers"] == "20")
    alone = loynes.evaluate(loynes.load(MODEL, ["servers=20"]), rate=0.9, precision=0.1)
    assert float(one["estimate"]) == alone.classes["T1"].wait.mean.estimate
    assert run("sweep", MODEL) == 2
    assert "nothing to sweep" in capsys.readouterr().err
    assert run("sweep", MODEL, "--loads", "0.5", "--rates", "1") == 2
    assert run("sweep", MODEL, "--loads", "0.5", "--vary", "servers") == 2
    assert run("sweep", MODEL, "--loads", "0.5", "--vary", "classes.T99.need=1") == 2


def test_a_sweep_resumes(tmp_path: Path) -> None:
    ask: dict[str, Any] = {"loads": [0.3, 0.5], "precision": 0.1}
    whole = loynes.sweep(MODEL, **ask, folder=tmp_path / "whole")

    class StoppedError(Exception):
        pass

    def stop(share: float, text: str) -> None:
        if text.startswith("2 of"):
            raise StoppedError

    with pytest.raises(StoppedError):
        loynes.sweep(MODEL, **ask, folder=tmp_path / "torn", progress=stop)
    first = (tmp_path / "torn" / "points" / "00000" / "result.json").stat().st_mtime_ns
    loynes.resume(tmp_path / "torn")
    assert (tmp_path / "torn" / "points" / "00000" / "result.json").stat().st_mtime_ns == first
    assert (tmp_path / "torn" / "result.json").read_bytes() == (tmp_path / "whole" / "result.json").read_bytes()
    again = loynes.read_result(tmp_path / "whole")
    assert again.summary.rows == whole.summary.rows
    whole.save(tmp_path / "s.parquet")
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "s.parquet").num_rows == len(whole.tidy.rows)


def test_plots_of_studies() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    swept = loynes.sweep(MODEL, loads=[0.2, 0.6], vary={"servers": [20, 24]}, precision=0.2)
    ax = swept.plot(metric="wait.p90")
    assert [line.get_label() for line in ax.get_lines()][:2] == ["servers 20", "servers 24"]
    with pytest.raises(UsageError, match=r"metric 'wait.p42'"):
        swept.plot(metric="wait.p42")
    plt.close("all")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p95(wait) >= 3", "must be written with <="),
        ("wait <= 3", "is not known; there are"),
        ("p95(wait[T7]) <= 3", "no class 'T7'; there are T1, T2, T5, T10, T15"),
        ("variance(wait) <= 3", "need not fall"),
        ("hol_loss <= 3", "need not fall"),
        ("p95(wait)", "must be written like"),
        ("p95(wait) <= -1", "at least 0"),
        ("no_wait >= 1.2", "at most 1"),
        ("p100(wait) <= 3", "between 0 and 100"),
    ],
)
def test_wrong_objectives(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        objectives_of([text], [c.label for c in loynes.load(MODEL).classes])
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slo": [], "rate": 1.0}, "no objective"),
        ({"slo": "mean(response[T15]) <= 9", "rate": 1.0}, "cannot be met: even if no job had to wait it would be 10"),
        (
            {"slo": "p95(response[T15]) <= 9", "rate": 1.0},
            "cannot be met: even if no job had to wait it would be 29.95",
        ),
        ({"slo": "mean(wait) <= 1"}, "no arrivals.rate"),
        ({"slo": "mean(wait) <= 1", "rate": 1.0, "vary": "rate"}, "give --rate or --vary rate, not both"),
        ({"slo": "mean(wait) <= 1", "rate": 1.0, "vary": "resources.gpu"}, "must be one of servers, rate"),
        ({"slo": "mean(wait) <= 1", "rate": 1.0, "most": 10}, "at least 15 are needed"),
        ({"slo": "mean(wait) <= 0.001", "rate": 1.0, "most": 16}, "not met at 16 servers"),
    ],
)
def test_plans_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(loynes.LoynesError) as error:
        loynes.plan(MODEL, **options)
    assert said in str(error.value)


def test_a_plan_and_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", MODEL, "--rate", "1.0", "--slo", "mean(wait) <= 2", "--slo", "P(wait[T1] > 10) <= 0.1"]
    assert run(*line, "-o", str(tmp_path / "plan")) == 0
    shown = capsys.readouterr().out
    assert "servers meet every objective" in shown
    found = loynes.resume(tmp_path / "plan")
    assert found.statement in shown
    data = json.loads((tmp_path / "plan" / "result.json").read_text())
    assert {"vary", "answer", "meets", "fails", "objectives"} <= set(data)
    assert found.meets.overall.wait.mean.high <= 2
    assert found.next.overall.wait.mean.estimate < found.meets.overall.wait.mean.estimate
    for ending in ("json", "csv", "parquet"):
        found.save(tmp_path / f"plan.{ending}")
    assert loynes.read_result(tmp_path / "plan.json").to_json() == found.to_json()
    found.plot()


def test_comparisons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model and itself differ by nothing; a class less can only help; errors say what is possible."""
    same = loynes.compare(MODEL, MODEL, load=0.5, precision=0.1)
    assert same.overall.wait["mean"].estimate == same.overall.wait["p95"].high == 0.0
    assert run("compare", MODEL, "--without", "T15", "--load", "0.7", "--precision", "0.05", "-o",
               str(tmp_path / "c.json")) == 0  # fmt: skip
    found = loynes.read_result(tmp_path / "c.json")
    assert found.overall.wait["mean"].high < 0
    assert "T15" not in found.classes
    found.plot()
    found.save(tmp_path / "c.csv")
    for line in (
        ["compare", MODEL],
        ["compare", MODEL, MODEL, "--without", "T1"],
        ["compare", MODEL, "--without", "T99"],
        ["compare", MODEL, "one-or-all", "--rate", "0.1", "--method", "perfect"],
    ):
        assert run(*line) == 2
    assert "there is no such class; there are T1" in capsys.readouterr().err


def test_a_reproduction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Data, both pictures and the page on agreement; a wrong name is told what there is."""
    assert run("reproduce", "hol-big-jobs", "--quick", "-o", str(tmp_path / "r")) == 0
    assert {path.name for path in (tmp_path / "r").iterdir()} == {
        "hol-big-jobs.csv", "hol-big-jobs.svg", "hol-big-jobs.png", "agreement.md", "agreement.html",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "r" / "hol-big-jobs.csv").open()))
    (row,) = [row for row in rows if float(row["big mean"]) == 0.002]
    assert float(row["exact loss"]) == pytest.approx(78.1779, abs=1e-4)
    assert "1 of 1 items agree" in (tmp_path / "r" / "agreement.md").read_text()
    page = (tmp_path / "r" / "agreement.html").read_text()
    assert "1 of 1 items agree with the print" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "loynes reproduce hol-big-jobs --quick" in page
    assert run("reproduce", "figure-1") == 2
    assert "there are all, one-or-all, hol-big-jobs" in capsys.readouterr().err
