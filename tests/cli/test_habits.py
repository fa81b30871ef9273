"""Habits of a command line: objectives with exit codes, endings of -o, what was written, --quiet, completion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import loynes
from loynes.cli.app import app, main
from loynes.errors import UsageError
from loynes.estimate import Estimate
from loynes.kernels.events.policies import policies
from loynes.model import builtin_names
from loynes.questions.answering.judging import judged
from loynes.questions.answering.objectives import objectives_of
from loynes.results.files import check_writable
from loynes.results.judged import unmet_words

RECORDED = Path(__file__).parents[1] / "recorded"
MODEL = str(RECORDED / "models" / "small.toml")
MONTH = str(RECORDED / "month.csv")
QUICK = ("--load", "0.5", "--samples", "3000")


def run(*line: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(line))
    return int(end.value.code or 0)


# --- objectives ---


@pytest.mark.parametrize(
    ("slo", "code", "met", "said"),
    [
        (("mean(wait) <= 1e9",), 0, ["yes"], ""),
        (("mean(wait) <= 1e9", "mean(wait) <= 1e-9"), 1, ["yes", "no"], "not met: mean(wait) <= 1e-9"),
        (("utilization >= 0.01", "p99.9(wait) <= 1e9"), 0, ["yes", "yes"], ""),
        (("no_wait >= 0.99999", "hol_loss >= 1e9"), 1, ["no", "no"], "not met: no_wait >= 0.99999, hol_loss >= 1e9"),
    ],
)
def test_evaluate(
    slo: tuple[str, ...], code: int, met: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [word for one in slo for word in ("--slo", one)]
    assert run("evaluate", MODEL, *QUICK, *asked) == code
    out, err = capsys.readouterr()
    assert "objectives" in out
    assert (f"loynes: {said}\n" in err) == bool(said)
    assert run("evaluate", MODEL, *QUICK, *asked, "--json") == code
    data = json.loads(capsys.readouterr().out)
    assert [one["met"] for one in data["objectives"]] == met
    assert [one["text"] for one in data["objectives"]] == list(slo)
    assert data["question"]["slo"] == list(slo)


def test_a_bound_within_the_interval_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    mean = loynes.evaluate(MODEL, load=0.5, samples=3000).overall.wait.mean
    assert run("evaluate", MODEL, *QUICK, "--slo", f"mean(wait) <= {mean.estimate!r}") == 1
    out, err = capsys.readouterr()
    assert re.search(r"mean\(wait\) <= .* unsure", out)
    assert "loynes: not shown to be met: mean(wait) <= " in err
    assert "(the bound lies within the interval)" in err


def test_a_lower_bound_shows_no_short_waits(capsys: pytest.CaptureFixture[str]) -> None:
    forward = ("evaluate", MODEL, *QUICK, "--method", "forward")
    assert run(*forward, "--slo", "mean(wait) <= 1e9") == 1
    assert "not shown to be met: mean(wait) <= 1e9 (waits are known from below only)" in capsys.readouterr().err
    assert run(*forward, "--slo", "mean(wait) <= 1e-9") == 1
    assert "not met: mean(wait) <= 1e-9" in capsys.readouterr().err
    assert run(*forward, "--slo", "utilization <= 0.9") == 0


@pytest.mark.parametrize(
    ("text", "low", "high", "plain", "from_below"),
    [
        ("mean(wait) <= 2", 1, 2, "yes", "unsure"),
        ("mean(wait) <= 2", 2.1, 3, "no", "no"),
        ("mean(wait) <= 2", 1, 3, "unsure", "unsure"),
        ("mean(wait) >= 2", 2, 3, "yes", "yes"),
        ("mean(wait) >= 2", 1, 1.9, "no", "unsure"),
        ("no_wait >= 0.5", 0.6, 0.7, "yes", "unsure"),
        ("no_wait >= 0.5", 0.3, 0.4, "no", "no"),
        ("no_wait <= 0.5", 0.3, 0.4, "yes", "yes"),
        ("variance(wait) <= 2", 1, 2, "yes", "unsure"),
        ("variance(wait) <= 2", 3, 4, "no", "unsure"),
        ("utilization <= 0.5", 0.4, 0.4, "yes", "yes"),
        ("mean(wait) <= 2", float("nan"), float("nan"), "unsure", "unsure"),
    ],
)
def test_verdicts(text: str, low: float, high: float, plain: str, from_below: str) -> None:
    """With the intervals of both sides, and where waits may be longer than they seem."""
    from types import SimpleNamespace
    from typing import Any

    value = Estimate(0.5 * (low + high), low, high)
    waits = SimpleNamespace(wait=SimpleNamespace(mean=value, variance=value), no_wait=value)
    result: Any = SimpleNamespace(overall=waits, classes={}, system=SimpleNamespace(utilization=value))
    objectives = objectives_of([text], [], searched=False)
    assert judged(objectives, result)[0].met == plain
    (below,) = judged(objectives, result, lower="from below only")
    assert below.met == from_below
    assert bool(unmet_words([below])) == (from_below != "yes")
    name = objectives[0].metric.name
    assert judged(objectives, result, unbounded=[name])[0].met == "unsure"


def test_simulations_and_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate = ("simulate", MODEL, "--load", "0.5", "--jobs", "300", "--replicas", "32", "--policy", "easy")
    assert run(*simulate, "--slo", "p95(wait) <= 1e9") == 0
    assert run(*simulate, "--slo", "p95(wait) <= 0", "--slo", "mean(response) <= 1e9", "--json") == 1
    assert [one["met"] for one in json.loads(_json(capsys))["objectives"]] == ["no", "yes"]
    assert run(*simulate, "--slo", "P(wait > 1e9) <= 0.5", "--slo", "p80(response) <= 1e9") == 0
    log = ("evaluate", MONTH, "--servers", "12", "--resamples", "3", "--slo", "P(wait > 1e9) <= 0.5")
    page = str(tmp_path / "log.html")
    assert run(*log, "-o", page) == 0
    assert "The objective is met." in Path(page).read_text(encoding="utf-8")
    assert run(*log, "--slo", "utilization <= 0.0001", "-o", str(tmp_path / "run")) == 1
    assert run("resume", str(tmp_path / "run")) == 1
    assert "not met: utilization <= 0.0001" in capsys.readouterr().err


def _json(capsys: pytest.CaptureFixture[str]) -> str:
    out = capsys.readouterr().out
    return out[out.index("{\n") :]


def test_bad_objectives(capsys: pytest.CaptureFixture[str]) -> None:
    for text, said in (("p95(wait) = 3", "must be written with <= or >="), ("speed <= 3", "is not known; there are"),
                       ("mean(wait[T9]) <= 3", "no class 'T9'")):  # fmt: skip
        assert run("evaluate", MODEL, *QUICK, "--slo", text) == 2
        assert said in capsys.readouterr().err


# --- what is written, and where ---


def test_endings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another program's ending is refused; a folder may have a dot if it is there, ends in a slash, or in digits."""
    for name in ("x.xlsx", "x.txt", "x.v2", "x.json5"):
        assert run("check", MODEL, "-o", str(tmp_path / name)) == 2
        said = capsys.readouterr().err
        assert f"nothing is written to .{name.partition('.')[2]} files; there are .json, .csv, .parquet, .html" in said
        with pytest.raises(UsageError, match="nothing is written to"):
            loynes.check(MODEL).save(tmp_path / name)
    assert run("sample", MODEL, *QUICK, "-o", str(tmp_path / "w.xls")) == 2
    assert "there are .parquet, .csv;" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    for name in ("run.v2/", "run.v2", "load-0.75", ".hidden"):
        assert run("check", MODEL, "-o", f"{tmp_path}/{name}") == 0
        assert (tmp_path / name / "result.json").exists()
    loynes.check(MODEL, folder=tmp_path / "py.v3")
    check_writable(f"{tmp_path}/new.v4/")


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "html", "svg", "png", "pdf"])
def test_what_was_written_is_said(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / f"x.{ending}")
    assert run("check", MODEL, "-o", path, "--json") == 0
    out, said = capsys.readouterr()
    json.loads(out)
    assert re.fullmatch(rf"wrote {re.escape(path)}, \d+ (kB|bytes)\n", said)
    assert run("check", MODEL, "-o", path, "-q") == 0
    assert capsys.readouterr().err == ""


def test_folders_and_samples_say_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    assert run("evaluate", MODEL, *QUICK, "-o", folder) == 0
    assert re.search(rf"^wrote {folder}, 4 files, \d+ kB$", capsys.readouterr().err, flags=re.MULTILINE)
    for again in (("evaluate", MODEL, *QUICK, "-o", folder), ("resume", folder)):
        assert run(*again) == 0
        assert capsys.readouterr().err == f"{folder}: had the answer already, nothing was computed\n"
    assert run("resume", folder, "-q") == 0
    assert capsys.readouterr().err == ""
    samples = ("sample", MODEL, "--load", "0.5", "--samples", "20", "-o", str(tmp_path / "w.csv"))
    assert run(*samples) == 0
    assert f"wrote {tmp_path}/w.csv, " in capsys.readouterr().err
    assert run(*samples, "-q") == 0
    assert capsys.readouterr().err == ""
    page = str(tmp_path / "p.html")
    assert run("report", folder, "-o", page) == 0
    assert re.fullmatch(rf"wrote {page}, \d+ kB\n", capsys.readouterr().err)
    assert run("report", folder, "-o", page, "-q") == 0
    assert capsys.readouterr() == ("", "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--version", "-V"):
        assert run(flag) == 0
        assert capsys.readouterr().out == f"loynes {loynes.__version__}\n"


# --- completion ---


def offered(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What bash is offered at the end of a line, which zsh is offered, too."""
    words = line.split(" ")
    monkeypatch.setenv("_LOYNES_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    _complete()
    found = [one for one in capsys.readouterr().out.splitlines() if one]
    monkeypatch.setenv("_LOYNES_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    _complete()
    zsh = capsys.readouterr().out.replace(r"\\:", ":")
    assert all(f'"{one}"' in zsh for one in found)
    assert zsh.startswith("_arguments" if found else "_files")
    return found


def _complete() -> None:
    with pytest.raises(SystemExit) as end:
        app(prog_name="loynes")
    assert not end.value.code


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("loynes eval", ["evaluate"]),
        ("loynes evaluate five-class-exponential --backe", ["--backend"]),
        ("loynes evaluate x --method ", ["sandwich", "perfect", "backward", "forward"]),
        ("loynes evaluate x --backend c", ["cpu", "cuda", "cuda:64"]),
        ("loynes stability x --discipline r", ["reserving", "random"]),
        ("loynes fit x --law ", ["empirical", "fit", "exponential", "lognormal"]),
        ("loynes simulate x --policy conserv", ["conservative"]),
        ("loynes compare x --policies fcfs,eas", ["fcfs,easy", "fcfs,easy-sjbf"]),
        ("loynes evaluate x --slo no", ["no_wait >="]),
        ("loynes evaluate five-class-exponential --slo 'p95(wait[T1",
         ["p95(wait[T1]) <=", "p95(wait[T10]) <=", "p95(wait[T15]) <="]),
        ("loynes plan x --slo 'mean(", ["mean(wait) <=", "mean(response) <="]),
        ("loynes sensitivity x --objective hol", ["hol_loss"]),
        ("loynes sensitivity nowhere --objective 'mean(wait[T", []),
        ("loynes schema r", ["result"]),
        ("loynes schema result sweep", ["sweep", "sweep-log"]),
        ("loynes models five-class-e", ["five-class-erlang", "five-class-exponential"]),
        ("loynes evaluate five-class-e", ["five-class-erlang", "five-class-exponential"]),
    ],
)  # fmt: skip
def test_completion(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert offered(line, monkeypatch, capsys) == expected


def test_files_complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.toml", "a.yaml", "a.json", "a.swf", ".a.toml", "deep/inner/z.yml", "deep/inner/y.txt", "mine.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert offered("loynes certify a", monkeypatch, capsys) == ["a.json", "a.toml", "a.yaml"]
    assert offered("loynes evaluate a", monkeypatch, capsys) == ["a.json", "a.swf", "a.toml", "a.yaml"]
    assert offered("loynes certify d", monkeypatch, capsys) == ["deep/", "deep/inner/", "deep/inner/z.yml"]
    assert offered("loynes simulate x --policy m", monkeypatch, capsys) == [
        "most-servers-first", "msr", "msr-backfill", "mine.py"
    ]  # fmt: skip
    assert offered("loynes report a", monkeypatch, capsys) == ["a.json"]
    everything = offered("loynes check ", monkeypatch, capsys)
    assert set(builtin_names()) <= set(everything)
    assert ".a.toml" not in everything
    assert set(policies()) <= set(offered("loynes replay x --policy ", monkeypatch, capsys))


def test_a_mistake_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What nobody foresaw asks for a report, and names the file with the traceback."""
    from loynes.cli import app

    def broken(args: list[str], **ways: object) -> None:
        raise ZeroDivisionError("of\nnothing")

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(SystemExit) as end:
        app.main(["models"])
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (70, 1)
    assert "a mistake in loynes itself (ZeroDivisionError: of nothing)" in said
    file = Path(said.rsplit(" ", 1)[1].strip())
    assert "in broken" in file.read_text()
    file.unlink()
