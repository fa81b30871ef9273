"""`loynes replay` as a user meets it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from trace_files import csv_text, drawn, make_swf, swf_text
from typed import typed

run = partial(typed, "replay")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "log.swf.gz"
    make_swf.main([str(path), "--jobs", "500", "--servers", "32", "--blemishes", "0.1", "--load", "0.4"])
    return path


def test_tables(log: Path) -> None:
    done = run(log, "--windows", 4, "--by", "queue")
    assert done.returncode == 0, done.stderr
    for shown in (
        "log.swf.gz: waits on 32 servers",
        "recorded",
        "hol loss",
        "skipped: cancelled before it ran",
        "jobs replayed",
    ):
        assert shown in done.stdout
    assert "in windows of time" in done.stdout
    assert "Example" in run("--help").stdout


def test_json_and_files(log: Path, tmp_path: Path) -> None:
    done = run(log, "--servers", 64, "--json", "-o", tmp_path / "jobs.csv")
    data = json.loads(done.stdout)
    assert data["model"]["servers"] == 64
    assert data["system"]["utilization"]["low"] == data["system"]["utilization"]["high"]
    assert len(data["series"]["begin"]) == 24
    assert data["jobs"] + sum(data["skipped"].values()) == data["records"] == 500
    columns = (tmp_path / "jobs.csv").read_text().partition("\n")[0]
    assert columns == "id,submitted,submit,need,service,wait,response,recorded_wait,time_unit"
    run(log, "-o", tmp_path / "a")
    run(log, "-o", tmp_path / "b")
    assert (tmp_path / "a/result.json").read_bytes() == (tmp_path / "b/result.json").read_bytes()


def test_damage_is_shown_and_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(swf_text(drawn(jobs=50, load=0.3)) + b"1 2 3\n")
    done = run(path)
    assert "damaged: line 52: 3 fields; expected 18 numbers" in done.stdout
    assert "skipped: malformed line" in done.stdout
    refused = run(path, "--strict")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"loynes: {path}: line 52: 3 fields; expected 18 numbers\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "does not say how many there are"),
        (("--servers", 16, "--column", "need"), "column: 'need': must be written like NAME=COLUMN"),
        (("--servers", 16, "--column", "need=cores"), "no column 'cores'"),
        (("--servers", 16, "--by", "user"), "it has: queue"),
        (("--servers", 16, "--format", "xml"), "must be one of"),
        (("--servers", 16, "--format", "parquet"), "not a whole Parquet file"),
        (("--servers", 16, "-o", "x.toml"), "run folder"),
        (("--servers", 0), "servers 0: must be at least 1"),
        (("--servers", 10_000_000), "servers 10000000: must be between 1 and"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[object, ...], says: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(csv_text(drawn(jobs=20)))
    done = run(path, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr
