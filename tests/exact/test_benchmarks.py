"""Notes of benchmarks are kept and compared: ratios of work a second, however each was counted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import compare
from recorder import Recorder, Took, machine, timed


def written(path: Path, script: str, **notes: tuple[float, Took]) -> Path:
    record = Recorder(script, path)
    for name, (work, took) in notes.items():
        record.note(name, took, work, "jobs")
    record.save()
    return path


def test_ratios_of_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice the work in half the time is four times as fast; by wall time, which was the same, twice."""
    old = written(tmp_path / "old.json", "rates", a=(100, Took(1.0, 2.0)), gone=(1, Took(1.0, 1.0)))
    new = written(tmp_path / "new.json", "rates", a=(200, Took(1.0, 1.0)), b=(1, Took(1.0, 1.0)))
    assert compare.main([str(old), str(new)]) == 0
    shown = capsys.readouterr().out
    assert "| rates: a | jobs | 50 | 200 | 4.00 |" in shown
    assert "only before: rates: gone" in shown
    assert "only now: rates: b" in shown
    assert compare.main([str(old), str(new), "--wall"]) == 0
    assert "| 100 | 200 | 2.00 |" in capsys.readouterr().out
    other = written(tmp_path / "other.json", "traces", a=(100, Took(1.0, 2.0)))
    assert compare.main([str(old), str(other)]) == 2


def test_scripts_share_a_file(tmp_path: Path) -> None:
    """Each in place of its own notes; the file names no machine."""
    path = tmp_path / "results" / "some.json"
    written(path, "rates", a=(1, Took(1.0, 1.0)), b=(1, Took(1.0, 1.0)))
    written(path, "exact", c=(1, Took(1.0, 1.0)))
    written(path, "rates", a=(2, Took(1.0, 1.0)))
    data = json.loads(path.read_text())
    assert {script: list(notes) for script, notes in data["scripts"].items()} == {"exact": ["c"], "rates": ["a"]}
    assert data["machine"] == machine()
    assert set(machine()) == {"processor", "cores", "system", "python", "loynes", "numpy", "scipy", "numba"}


def test_what_is_committed_can_be_compared() -> None:
    data = json.loads((Path(compare.__file__).parent / "results" / "quick.json").read_text())
    rows = compare.compared(data, data)
    assert rows
    assert all(row.ratio == 1.0 for row in rows)


def test_the_run_in_the_middle() -> None:
    turns = iter([30_000, 10, 3_000])
    took, found = timed(lambda: sum(range(next(turns))), 3)
    assert found == sum(range(3_000))
    assert 0.0 <= took.processor < 1.0
