"""`loynes fit` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from typed import typed

ROOT = Path(__file__).parents[2]


def test_a_log_becomes_a_model(tmp_path: Path) -> None:
    log, model = tmp_path / "log.swf", tmp_path / "model.toml"
    make = [sys.executable, str(ROOT / "examples" / "make_swf.py"), str(log), "--jobs", "4000", "--blemishes", "0.05"]
    subprocess.run(make, check=True)
    done = typed("fit", str(log), "--no-compare", "--classes", "3", "-o", str(model))
    assert done.returncode == 0, done.stderr
    assert "lines skipped" in done.stdout
    checked = typed("check", str(model), "--json")
    assert checked.returncode == 0, checked.stderr
    assert len(json.loads(checked.stdout)["classes"]) == 3
    # The result, too, is a model to every command.
    result = tmp_path / "result.json"
    assert typed("fit", str(log), "--no-compare", "--classes", "3", "-o", str(result)).returncode == 0
    again = typed("check", str(result), "--json")
    assert json.loads(again.stdout) == json.loads(checked.stdout) | {"seconds": json.loads(again.stdout)["seconds"]}
    shown = typed("fit", str(log), "--no-compare", "--json")
    found = json.loads(shown.stdout)
    assert found["modelled"] is None
    assert sum(found["skipped"].values()) + found["jobs"] == 4000


def test_bad_requests(tmp_path: Path) -> None:
    done = typed("fit", str(tmp_path / "none.swf"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    log = tmp_path / "log.csv"
    log.write_text("submit,need,service\n0,1,1\n1,1,1\n")
    for line, said in (
        (["fit", str(log)], "does not say how many"),
        (["fit", str(log), "--servers", "4"], "too few"),
        (["fit", str(log), "--servers", "4", "-o", str(tmp_path / "nowhere" / "model.toml")], "does not exist"),
    ):
        done = typed(*line)
        assert done.returncode == 2
        assert said in done.stderr


def test_the_first_line_says_whether_it_passed(tmp_path: Path) -> None:
    """A month of jobs is enough for a test; three hours are not."""

    def shown(*line: str) -> str:
        return typed("fit", *line).stdout

    month, hours = (str(ROOT / "tests" / "recorded" / name) for name in ("month.csv", "log.swf"))
    text = shown(month, "--servers", "16", "--quiet", "-o", str(tmp_path / "result.json"))
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["accepted"] is True
    assert text.startswith("accepted; tested under fcfs on weeks not seen")
    *others, last = found["candidates"]
    assert last["process"] == found["arrivals"]["process"]
    assert [len(last[name]) for name in ("checks", "whole")] == [4, 4]
    assert all(check["passed"] for name in ("checks", "whole") for check in last[name])
    assert all(one["why"] or any(not check["passed"] for check in one["checks"] + one["whole"]) for one in others)
    log = found["replayed"]["all jobs"]
    assert found["agrees"] == (log["low"] <= found["modelled"]["all jobs"]["estimate"] <= log["high"])
    short = json.loads(shown(hours, "--arrivals", "poisson", "--json"))
    assert (short["accepted"], short["candidates"]) == (False, [])
    assert short["why"].startswith("the log is too short to test a model on")
    assert shown(hours, "--no-compare").startswith("not tested; log: 32 servers")
    assert shown(hours, "--backend", "cpu") == ""
