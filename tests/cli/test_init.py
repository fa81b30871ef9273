"""`loynes init`: a model file that loads, from defaults, from answers, from a table; and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from loynes.cli.app import main
from loynes.model import load
from loynes.model.starting import KINDS, JobKind, enough_servers, starting_text

TABLE = 'Team;GPUs;Jobs per day;Mean duration (h);CV\nvision;1;400;0.5;\nnlp;8;20;6;2\n"big; one";32;1;24;0\n'


def init(*line: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["init", *line])
    return int(end.value.code or 0)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init("--yes") == 0
    model = load("model.toml")
    assert (model.label, model.servers, model.rate) == ("model", 16, 0.2)
    assert [(c.name, c.need) for c in model.classes] == [(kind.name, kind.need) for kind in KINDS]
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("wrote model.toml, ")
    # Every key of the first class, and of the rest of the file, has a comment above it.
    lines = (here / "model.toml").read_text().splitlines()
    first = lines[: lines.index("[[classes]]", lines.index("[[classes]]") + 1)]
    keys = [place for place, line in enumerate(first) if "=" in line and not line.startswith("#")]
    assert len(keys) == 9
    assert all(lines[place - 1].startswith("#") for place in keys)


def test_nodes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every key is explained once, and the file is one that loads."""
    assert init("nodes.toml", "--nodes", "--jobs-per-hour", "6") == 0
    model = load("nodes.toml")
    assert [(one.name, one.count) for one in model.nodes or ()] == [("gpu", 4), ("cpu", 2)]
    assert (model.rate, model.classes[0].tasks, model.has_rules) == (0.1, 2, True)
    lines = (here / "nodes.toml").read_text().splitlines()
    seen: set[tuple[str, str]] = set()
    table = ""
    for before, line in zip(["", *lines], lines, strict=False):
        table = line if line.startswith("[") else table
        key = (table, line.partition(" =")[0])
        if " = " in line and not line.startswith("#") and key not in seen and "name" not in line:
            assert before.startswith("#") or any(place == table for place, _ in seen), line
            seen.add(key)
    assert init("other.toml", "--nodes", "--servers", "3") == 2
    assert "nodes: are no servers" in capsys.readouterr().err


def test_an_old_file_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "model.toml").write_text("mine")
    assert init() == 2
    assert "model.toml: is there already; --force writes over it" in capsys.readouterr().err
    assert (here / "model.toml").read_text() == "mine"
    assert init("--force", "-q", "--servers", "4", "--jobs-per-hour", "6") == 0
    assert capsys.readouterr() == ("", "")
    assert (load("model.toml").servers, load("model.toml").rate) == (4, 0.1)
    assert init("model.yaml") == 2


def answers(given: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Answer questions; what was asked is in the list that comes back."""
    seen: list[str] = []

    def prompt(text: str, default: str, err: bool) -> str:
        assert err
        seen.append(text)
        return given.pop(0) or default

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    return seen


def test_questions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["0", "24", "30", "2", "", "30", "2", "five", "5", "60 %", "small", "big", "", "", ""]
    seen = answers(given, monkeypatch)
    assert init("asked.toml") == 0
    assert not given
    model = load("asked.toml")
    assert (model.servers, model.rate) == (24, 0.5)
    assert [(c.name, c.need, c.service.mean, c.probability) for c in model.classes] == [
        ("small", 2, 5.0, 0.6), ("big", 4, 20.0, 0.4),
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "'0': must be a whole number of at least 1\n" in said
    assert "'30': must be a whole number of at least 1, at most 24" in said
    assert "'five': must be a number above 0" in said
    assert "'small': must be a name that no other kind has" in said
    assert len(seen) == 15


def test_enter_all_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    answers([""] * 15, monkeypatch)
    assert init("a.toml") == 0
    assert init("b.toml", "--yes") == 0
    assert load("a.toml").hash == load("b.toml").hash


def test_a_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "team.csv").write_text(TABLE)
    assert init("team.toml", "--from", "team.csv") == 0
    model = load("team.toml")
    assert model.rate == pytest.approx(421 / 1440, rel=1e-5)
    rows = [(c.name, c.need, c.service.mean, c.service.variation) for c in model.classes]
    assert rows == [("vision", 1, 30.0, 1.0), ("nlp", 8, 360.0, pytest.approx(2.0)), ("big; one", 32, 1440.0, 0.0)]
    assert [c.probability for c in model.classes] == pytest.approx([400 / 421, 20 / 421, 1 / 421], rel=1e-4)
    assert 0.5 < (model.rate or 0) * model.work / model.servers <= 0.6
    assert f"servers: not said, {model.servers} are assumed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("head", "row", "kind", "rate"),
    [
        ("need,share,mean", "2,30%,10", ("class-1", 2, 10.0), None),
        ("class,cores,probability,runtime_s", "a,2,1,90", ("a", 2, 1.5), None),
        ("queue\tnodes\tjobs/hour\tduration", "a\t2\t6\t1:30:00", ("a", 2, 90.0), 0.1),
        ("name|need|jobs per week|mean length", "ä|1|10080|2 days", ("ä", 1, 2880.0), 1.0),
        ("Name,NEED,count,Service (hours)", "a,3,7,0.5", ("a", 3, 30.0), None),
    ],
)
def test_columns(head: str, row: str, kind: tuple[Any, ...], rate: float | None, here: Path) -> None:
    (here / "t.csv").write_text(f"{head}\n\n{row}\n", encoding="utf-8")
    assert init("t.toml", "--from", "t.csv", "--servers", "9") == 0
    model = load("t.toml")
    (only,) = model.classes
    assert (only.name, only.need, only.service.mean) == kind
    assert model.rate == pytest.approx(rate if rate is not None else 0.2, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have a line with the names of columns"),
        (
            "name,need,share\na,1,1\n",
            "no column 'mean' (such as mean, duration (min), runtime_s); there are: name, need",
        ),
        ("name,share,mean\na,1,1\n", "no column 'need'"),
        ("name,need,mean\na,1,1\n", "no column of shares (share, jobs per day)"),
        ("name,cpus,gpus,share,mean\na,1,1,1,1\n", "what is a server, of cpus, gpus? Call that column need"),
        ("need,share,mean\n1,1,1\n1.5,1,1\n", "t.csv: line 3: need 1.5: must be a whole number"),
        ("need,share,mean\n\n0,1,1\n", "t.csv: line 3: need '0': must be a number above 0"),
        ("need,share,mean\n1,x,1\n", "line 2: share 'x': must be a number above 0"),
        ("need,share,mean\n1,1\n", "line 2: mean '': must be a time above 0"),
        ("need,share,mean\n1,1,-3 min\n", "line 2: mean '-3 min': must be a time above 0"),
        ("name,need,share,mean\na,1,1,1\na,1,1,1\n", "names must differ, 'a' is used twice"),
        ("need,share,mean,cv\n1,1,1,0.01\n", "service.cv"),
    ],
)
def test_bad_tables(text: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "t.csv").write_text(text)
    assert init("t.toml", "--from", "t.csv") == 2
    assert said in capsys.readouterr().err
    assert not (here / "t.toml").exists()


def test_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("t.toml", "--from", "nowhere.csv") == 2
    assert "nowhere.csv: cannot be read: No such file" in capsys.readouterr().err


def test_any_names_and_shares_load() -> None:
    """Quotes, backslashes and letters of all scripts in names; shares of all sizes sum to 1."""
    import tomllib

    kinds = [JobKind(f'a"b\\c#\n{k} 模型', 1, 10.0**k, 3.0**-k, 0.5 + k) for k in range(7)]
    model = load(tomllib.loads(starting_text("x.toml", "it's", 10, 7.0, kinds)))
    total = sum(kind.share for kind in kinds)
    assert [c.probability for c in model.classes] == pytest.approx([kind.share / total for kind in kinds], rel=1e-4)
    assert [c.name for c in model.classes] == [f'a"b\\c#{k} 模型' for k in range(7)]
    assert enough_servers(1.0, [JobKind("a", 50, 1.0, 1.0)]) == 50
