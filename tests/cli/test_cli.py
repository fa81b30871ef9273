"""The command line as a user meets it: output, JSON, files, errors and exit codes.

Most lines are typed in this process; of each kind of ending one is a process of its own, as are those that are stopped.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loynes
from typed import typed

QUICK = ("--samples", "2000")


Run = Callable[..., subprocess.CompletedProcess[str]]


def process(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "loynes", *arguments], capture_output=True, text=True, cwd=cwd)


def ok(*arguments: str, run: Run = typed) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(code: int, *arguments: str, cwd: Path | None = None, most: int = 1, run: Run = typed) -> str:
    """One line on standard error, or at most so many; nothing on standard output."""
    done = run(*arguments, cwd=cwd)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout == ""
    assert 1 <= done.stderr.count("\n") <= most, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def leaves(tree: Any) -> list[dict[str, Any]]:
    if isinstance(tree, dict) and set(tree) == {"estimate", "low", "high"}:
        return [tree]
    return [leaf for branch in tree.values() for leaf in leaves(branch)] if isinstance(tree, dict) else []


@pytest.mark.parametrize("asked", ["", "--help", "--version"])
def test_help_is_light(asked: str) -> None:
    """Importing the package and the command line loads nothing heavy, nor does the list of commands."""
    heavy = ("numba", "numpy", "scipy", "matplotlib", "cupy", "dask", "pydantic")
    code = (
        "import atexit, sys, loynes, loynes.cli.app; "
        f"atexit.register(lambda: print([m for m in {heavy} if m in sys.modules])); "
        f"loynes.cli.app.main({[asked] if asked else []}) if {bool(asked)} else None"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.splitlines()[-1] == "[]", found


def test_help() -> None:
    assert "evaluate" in ok("--help")
    assert "Example" in ok("evaluate", "--help")
    assert loynes.__version__ in ok("--version")


def test_models() -> None:
    listing = ok("models")
    assert all(name in listing for name in loynes.builtin_names())
    assert "Borg" in listing
    assert loynes.load({**__import__("tomllib").loads(ok("models", "one-or-all"))}) == loynes.load("one-or-all")
    assert "no such built-in model" in refused(2, "models", "one-or-none")


def test_schema_and_check() -> None:
    assert json.loads(ok("schema"))["title"] == "Model"
    data = json.loads(ok("check", "five-class-exponential", "--json", "--set", "arrivals.rate=1"))
    assert data["ideal"] == pytest.approx(20 / 9.493)
    assert data["offered"] == pytest.approx(9.493)
    assert "ideal rate" in ok("check", "one-or-all")


def test_stability_json() -> None:
    data = json.loads(ok("stability", "five-class-exponential", "--precision", "0.02", "--json"))
    assert {"threshold", "ideal", "max_utilization", "discipline", "jobs", "seconds", "seed"} <= set(data)
    assert data["threshold"]["low"] < 1.80086 < data["threshold"]["high"]


@pytest.mark.parametrize("method", ["sandwich", "perfect", "forward", "backward"])
def test_evaluate_json(method: str) -> None:
    line = ("evaluate", "five-class-exponential", "--rate", "1.3", "--method", method, *QUICK, "--json")
    data = json.loads(ok(*line, run=process if method == "sandwich" else typed))
    assert {"model", "rate", "load", "method", "seed", "backend", "replicas", "jobs", "seconds", "version"} <= set(data)
    assert data["load"] == pytest.approx(1.3 / 1.80086, rel=0.02)
    if method in ("sandwich", "perfect"):
        assert {"theta", "block", "burn_in", "distance"} <= set(data["certificate"])
        assert data["certificate"]["distance"]["high"] < 0.1
        assert data["why"] == ""
    else:
        assert data["certificate"] is None
        assert data["why"]
    assert set(data["overall"]) == {"wait", "response", "no_wait"}
    assert set(data["overall"]["wait"]) == {"mean", "variance", "p50", "p90", "p95", "p99"}
    assert set(data["classes"]) == {"T1", "T2", "T5", "T10", "T15"}
    assert set(data["system"]) == {
        "busy_servers", "utilization", "idle_servers", "hol_loss", "jobs_in_system", "jobs_waiting"
    }  # fmt: skip
    for leaf in leaves({name: data[name] for name in ("overall", "classes", "system", "threshold")}):
        assert leaf["high"] is None or leaf["low"] <= leaf["estimate"] <= leaf["high"], leaf
    assert data["system"]["busy_servers"]["estimate"] == pytest.approx(1.3 * 9.493)


def test_evaluate_table() -> None:
    text = ok("evaluate", "five-class-exponential", "--load", "0.5", *QUICK)
    assert all(word in text for word in ("T15", "mean wait", "hol loss", "theta", "distance", "seed 1"))
    assert "no certificate" in ok("evaluate", "five-class-exponential", "--load", "0.5", "--method", "forward", *QUICK)


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    """In two processes, whose sets and hashes have different orders."""
    for name, run in (("a", typed), ("b", process)):
        ok("evaluate", "one-or-all", "--rate", "5", *QUICK, "-o", str(tmp_path / name), run=run)
    first, second = ((tmp_path / name / "result.json").read_bytes() for name in ("a", "b"))
    assert first == second
    assert b"seconds" not in first
    assert json.loads((tmp_path / "a" / "timing.json").read_text())["seconds"] > 0
    assert loynes.load(tmp_path / "a" / "model.toml").rate == 5
    back = loynes.read_result(tmp_path / "a")
    assert back.to_dict() | {"seconds": 0} == json.loads(first) | {"seconds": 0}


def test_files(tmp_path: Path) -> None:
    ok("evaluate", "five-class-pareto", "--rate", "1", *QUICK, "-o", str(tmp_path / "r.json"))
    result = loynes.read_result(tmp_path / "r.json")
    assert isinstance(result, loynes.Evaluation)
    assert result.rate == 1
    ok("stability", "one-or-all", "--precision", "0.05", "-o", str(tmp_path / "r.csv"))
    assert (tmp_path / "r.csv").read_text().startswith("quantity,estimate,")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.csv", "r.json"]


def test_sample(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    options = ("--rate", "1.2", "--samples", "300", "--seed", "4")
    ok("sample", "five-class-exponential", *options, "-o", str(tmp_path / "w.parquet"))
    table = pq.read_table(tmp_path / "w.parquet")
    assert table.num_rows == 300
    assert len(table["workload"][0]) == 20
    assert b"five-class" in table.schema.metadata[b"model"]
    data = json.loads(ok("sample", "five-class-exponential", *options, "-o", str(tmp_path / "w.csv"), "--json"))
    assert data["samples"] == 300
    lines = (tmp_path / "w.csv").read_text().splitlines()
    assert lines[0].startswith("replica,length,doublings,w1,w2")
    assert [float(x) for x in lines[7].split(",")[3:]] == table["workload"][6].as_py()


def test_certify() -> None:
    text = ok("certify", "five-class-exponential", "--load", "0.75")
    assert "P(V > x) <= exp(-" in text
    assert "Assumed" in text
    data = json.loads(ok("certify", "five-class-exponential", "--rate", "1", "--json"))
    assert data["certificate"]["drift"] < 0
    assert data["why"] == ""
    heavy = ("--rate", "1", "--set", 'classes.T1.service={law="lognormal",mean=0.5,cv=1}')
    assert "Services are long from a threshold on (T1" in ok("certify", "five-class-exponential", *heavy)
    data = json.loads(ok("certify", "five-class-exponential", *heavy, "--json"))
    assert data["certificate"]["long"]["thresholds"].keys() == {"T1"}
    assert data["why"] == ""


def test_heavy_tails_say_so() -> None:
    """Which services are set apart, in the table and in JSON."""
    heavy = ("--rate", "1", "--set", 'classes.T1.service={law="lognormal",mean=0.5,cv=1}', *QUICK)
    assert "services are long from" in ok("evaluate", "five-class-exponential", *heavy)
    data = json.loads(ok("evaluate", "five-class-exponential", *heavy, "--json"))
    assert data["method"] == "sandwich"
    assert data["certificate"]["long"]["thresholds"].keys() == {"T1"}


def test_what_has_no_certificate_says_so(tmp_path: Path) -> None:
    """A plain warning in the table and in JSON, and the lower bound."""
    model = str(Path(__file__).parents[1] / "recorded" / "models" / "sessions.toml")
    done = process("evaluate", model, "--load", "0.5", *QUICK)
    assert done.returncode == 0
    assert "jobs of a session are alike" in done.stdout
    assert "warning: no certificate, a lower bound only: jobs of a session" in done.stderr
    data = json.loads(ok("evaluate", model, "--load", "0.5", *QUICK, "--json"))
    assert data["certificate"] is None
    assert "jobs of a session are alike" in data["why"]
    assert "a lower bound only" in data["warnings"][0]
    out = ("--load", "0.5", "--samples", "300", "-o", str(tmp_path / "w.csv"))
    assert "these are backward samples" in typed("sample", model, *out).stderr
    assert "these are backward samples" in json.loads(ok("sample", model, *out, "--json"))["warnings"][0]


GOOD_CLASS = '[[classes]]\nneed = 1\nprobability = 1\nservice = { law = "exponential", mean = 1 }\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "servers = 4\n" + GOOD_CLASS.replace("need = 1", "need = 5"),
            "classes[0].need = 5: must be at most servers = 4",
        ),
        ("servers = 4\n" + GOOD_CLASS.replace("ity = 1", "ity = 0.9"), "probabilities must sum to 1, they sum to 0.9"),
        (
            "servers = 4\n" + GOOD_CLASS.replace("mean = 1", "mean = -1"),
            "classes[0].service.mean = -1: must be greater",
        ),
        (
            "servers = 4\n" + GOOD_CLASS.replace("mean = 1", "mean = inf"),
            "classes[0].service.mean = inf: must be finite",
        ),
        ("servers = 4\n" + GOOD_CLASS.replace("exponential", "expo"), "law = 'expo': must be one of"),
        ("servers = 4\nclass = 1\n" + GOOD_CLASS, "class: is not a known key"),
        ("servers = 4\nclasses = []\n", "classes: must have at least one entry"),
        ("this is not TOML", "not valid TOML"),
        ("", "is missing"),
    ],
)
def test_bad_model_files(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(content)
    for command in (("check",), ("evaluate", "--rate", "1", "-o", "out.json"), ("stability", "-o", "out.json")):
        text = refused(2, command[0], "bad.toml", *command[1:], cwd=tmp_path, most=9)
        assert all(re.match(r"loynes: bad.toml( line \d+)?: ", line) for line in text.splitlines())
        assert said in text
    assert [p.name for p in tmp_path.iterdir()] == ["bad.toml"]


def test_every_mistake_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("servers = 4\n" + GOOD_CLASS.replace("need = 1", "name = 'a'\nneeds = 5"))
    done = typed("check", "bad.toml", "--set", "arrivals.rate=-1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "loynes: bad.toml line 4, class 'a': needs: is not a known key; did you mean `need`?",
        "loynes: bad.toml line 4, class 'a': need = 5: must be at most servers = 4",
        "loynes: bad.toml with --set arrivals.rate=-1: arrivals.rate = -1: must be greater than 0",
    ]


def test_unstable(tmp_path: Path) -> None:
    out = ("-o", str(tmp_path / "r.json"))
    assert "is unstable" in refused(3, "evaluate", "five-class-exponential", "--rate", "2.2", *out, run=process)
    assert "the threshold is 1." in refused(3, "evaluate", "five-class-exponential", "--rate", "1.85", *out)
    assert "must be below 1" in refused(3, "evaluate", "five-class-exponential", "--load", "1", *out)
    assert "is unstable" in refused(3, "sample", "one-or-all", "--rate", "30", "-o", str(tmp_path / "w.csv"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "say --rate R"),
        (("--rate", "1", "--load", "0.5"), "a rate or a load, not both"),
        (("--rate", "-1"), "rate -1: must be"),
        (("--rate", "nan"), "rate nan: must be"),
        (("--load", "-0.5"), "load -0.5: must be"),
        (("--rate", "1", "--method", "sideways"), "must be one of sandwich, perfect, backward, forward"),
        (("--rate", "1", "--backend", "cuda"), "backend 'cuda': "),
        (("--rate", "1", "--backend", "abacus"), "must be one of auto, cpu, cuda"),
        (("--rate", "1", "--confidence", "1"), "confidence 1: must be"),
        (("--rate", "1", "--precision", "0"), "precision 0: must be"),
        (("--rate", "1", "--samples", "1"), "samples 1: must be at least 2"),
        (("--rate", "1", "--replicas", "1"), "replicas 1: must be at least 2"),
        (("--rate", "1", "--exceeds", "-1"), "exceeds: must be"),
        (("--rate", "1", "--seed", "-1"), "seed -1: must be at least 0"),
        (("--rate", "1", "--set", "servers"), "must be written path=value"),
        (("--rate", "1", "--method", "backward", "--burn-in", "64"), "means nothing to method 'backward'"),
        (("--rate", "1", "--confirmations", "2"), "means nothing to method 'sandwich'"),
        (("--rate", "1", "--delta", "1e-6"), "delta 1e-06: means nothing to method 'sandwich'"),
        (("--rate", "1", "--method", "perfect", "--delta", "0"), "delta 0: must be"),
        (("--rate", "1e-310"), "must be a finite number above 0"),
        (("--rate", "1", "--set", ".=3"), "must be written path=value"),
        (("--rate", "1", "-o", ""), "must not be empty"),
        (("--rate", "1", "-o", "nowhere/r.json"), "folder nowhere does not exist"),
        (("--rate", "1", "-o", "r.toml"), "results are written to"),
    ],
)
def test_bad_options(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    assert said in refused(2, "evaluate", "five-class-exponential", *options, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_refusals_of_a_process(tmp_path: Path) -> None:
    """A wrong file and a wrong option: the exit code and the line that a shell gets."""
    (tmp_path / "bad.toml").write_text("this is not TOML")
    here: dict[str, Any] = {"cwd": tmp_path, "run": process}
    assert "not valid TOML" in refused(2, "stability", "bad.toml", "-o", "out.json", **here)
    out = ("--rate", "1", "-o", "nowhere/r.json")
    assert "folder nowhere does not exist" in refused(2, "evaluate", "five-class-exponential", *out, **here)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.toml"]


SMALL = str(Path(__file__).parents[1] / "recorded" / "models" / "small.toml")


def interrupted(line: list[str], when: str, times: int = 1) -> tuple[int, str, str]:
    """Ctrl-C, once progress (every line of it) says something: exit code, standard output and error."""
    if os.name == "nt":
        pytest.skip("Windows sends Ctrl-C to every program of a window, the tests among them")
    told = "import loynes.cli.watch as watch; watch.LINE_EVERY = 0.0; from loynes.cli.app import main; main()"
    command = [sys.executable, "-c", told, *line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        while when not in said:
            said += process.stderr.readline()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        out, rest = process.communicate(timeout=60)
    return process.returncode, out, said + rest


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C: what is known so far, with its interval, and exit code 130."""
    target = tmp_path / "r.json"
    line = ["evaluate", SMALL, "--load", "0.6", "--precision", "0.0001", "-o", str(target)]
    code, out, said = interrupted(line, "mean wait")
    assert code == 130
    assert "all jobs" in out
    assert "±" in out
    assert "stopping (Ctrl-C again: at once)" in said
    assert "warning: stopped by an interrupt" in said
    assert json.loads(target.read_text())["stopped"]["by"] == "interrupt"


def test_interrupt_before_anything_is_known(tmp_path: Path) -> None:
    """One line, exit code 130, no file; so it is, too, with a second Ctrl-C."""
    ok("evaluate", "one-or-all", "--load", "0.9", "--precision", "0.5", "--max-jobs", "1e6")  # compiles
    line = ["evaluate", "one-or-all", "--load", "0.999999", "--precision", "0.0001", "-o", str(tmp_path / "r.json")]
    for times in (1, 2):
        code, out, said = interrupted(line, "certificate", times)
        assert (code, out) == (130, "")
        assert said.endswith("loynes: interrupted; nothing is known yet, nothing was written\n")
        assert list(tmp_path.iterdir()) == []


def test_interrupted_run_goes_on(tmp_path: Path) -> None:
    """In a folder: how to go on is said, and the answer so far is there."""
    line = ["evaluate", SMALL, "--load", "0.6", "--precision", "0.0001", "-o", str(tmp_path / "run")]
    code, _, said = interrupted(line, "mean wait")
    assert code == 130
    assert f"go on with: loynes resume {tmp_path / 'run'}" in said
    assert (tmp_path / "run" / "result.json").exists()
    assert (tmp_path / "run" / "journal").is_dir()
    assert "a time is a number with a unit" in refused(2, "resume", str(tmp_path / "run"), "--time", "soon")


def test_time(tmp_path: Path) -> None:
    """The answer says that the time ended it, and what was reached; too short a time is one line."""
    line = ("evaluate", SMALL, "--load", "0.6", "--precision", "0.00001", "--time")
    ok(*line[:-1], "--max-jobs", "1e6", "--quiet")  # compiles
    done = typed(*line, "2s", "--quiet")
    assert done.returncode == 0
    assert "stopped as the time was up" in done.stderr
    assert "time 0.0005 s: was up before anything was known" in refused(2, *line, "0.5ms", "--quiet")


def test_usage_errors_exit_with_2() -> None:
    assert typed("evaluate", "five-class-exponential", "--rate", "fast").returncode == 2
    assert typed("evaluate").returncode == 2
    assert process("nonsense").returncode == 2
