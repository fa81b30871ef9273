"""Runs that are killed, torn, changed or complete: resumed to the same bytes, or refused."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loynes.study import recorded, stretched
from loynes.study.journal import Journal
from loynes.study.runfolder import differences

import loynes
from loynes.errors import LoynesError, UsageError

OPTIONS = {"load": 0.6, "precision": 0.06, "seed": 3, "confidence": 0.99}
MODEL = "five-class-exponential"


@pytest.fixture(autouse=True)
def _records_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record after every short stretch: many moments to be killed at."""
    monkeypatch.setattr(recorded, "EVERY", 0.0)
    monkeypatch.setattr(recorded, "CHEAP", 0.0)
    monkeypatch.setattr(stretched, "STRETCH", 1 << 12)
    monkeypatch.setattr(stretched, "LONG", 0.0)


KILLS = 20


def records_of(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> int:
    """How many records a run writes."""
    append, records = Journal.append, [0]

    def counted(*arguments: Any) -> None:
        append(*arguments)
        records[0] += 1

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", counted)
        run()
    return records[0]


@pytest.mark.parametrize("method", ["sandwich", "perfect"])
def test_a_run_killed_at_random_moments(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty times SIGKILL, a random moment after a random record; each time the run goes on to the same file."""
    options = OPTIONS | {"method": method} | ({"samples": 400} if method == "perfect" else {"replicas": 8})
    whole = tmp_path / "whole"
    count = records_of(monkeypatch, lambda: loynes.evaluate(MODEL, **options, folder=whole))
    assert not (whole / "journal").exists()
    assert count >= 2 * KILLS
    rng = random.Random(5)
    kills = 0
    for attempt in range(3 * KILLS):
        torn = tmp_path / f"torn {attempt}"
        if not killed(torn, options, rng.randrange(1, count - 2), rng.uniform(0, 2e-3)):
            continue  # it was done before
        kills += 1
        if rng.random() < 0.2:
            with (torn / "journal").open("ab") as file:
                file.write(b"loynes-1 and then the power went")
        loynes.resume(torn)
        assert (torn / "result.json").read_bytes() == (whole / "result.json").read_bytes()
        shutil.rmtree(torn)
        if kills == KILLS:
            break
    assert kills == KILLS
    assert loynes.resume(whole).to_json() == loynes.read_result(whole).to_json()
    assert loynes.read_result(whole).seconds > 0


def killed(folder: Path, options: dict[str, Any], after: int, delay: float) -> bool:
    """A process runs, and is killed so long after so many records; False if it was done before."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        append, records = Journal.append, [0]

        def counted(*arguments: Any) -> None:
            append(*arguments)
            records[0] += 1
            if records[0] == after:
                os.write(tell, b"!")

        pytest.MonkeyPatch().setattr(Journal, "append", counted)
        try:
            loynes.evaluate(MODEL, **options, folder=folder)
        finally:
            os._exit(0)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def test_samples_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are there and unaltered are not made again; the result is the same file."""
    monkeypatch.setattr(import_module("loynes.study.sample"), "PART", 64)
    ask = {"load": 0.5, "samples": 300, "method": "backward"}
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    found = loynes.sample(MODEL, whole, **ask)
    assert [part["samples"] for part in found.parts] == [64, 64, 64, 64, 44]

    class StoppedError(Exception):
        pass

    def stop(share: float, text: str) -> None:
        if text.startswith("192 of"):
            raise StoppedError

    with pytest.raises(StoppedError):
        loynes.sample(MODEL, torn, **ask, progress=stop)
    assert sorted(path.name for path in torn.glob("*.parquet")) == ["part-00000.parquet", "part-00001.parquet"]
    (torn / "part-00001.parquet").write_bytes(b"altered")
    first = (torn / "part-00000.parquet").stat().st_mtime_ns
    again = loynes.resume(torn)
    assert (torn / "part-00000.parquet").stat().st_mtime_ns == first
    assert (torn / "result.json").read_bytes() == (whole / "result.json").read_bytes()
    for part in found.parts:
        assert (torn / part["file"]).read_bytes() == (whole / part["file"]).read_bytes()
    assert not list(torn.glob("*journal*"))
    assert isinstance(again, loynes.SampleFile)
    assert loynes.read_result(torn).jobs == found.jobs
    with pytest.raises(UsageError, match="a path or a folder"):
        loynes.sample(MODEL, load=0.5)


def test_a_read_only_folder() -> None:
    """One that not even root can write."""
    with pytest.raises(LoynesError, match="cannot be written"):
        loynes.evaluate(MODEL, load=0.5, folder="/proc/loynes")


def journal_of(tmp_path: Path) -> Path:
    journal = Journal(tmp_path / "journal")
    rng = np.random.default_rng(1)
    for k in range(4):
        call, record = journal.begin(f"key {k}")
        assert record is None
        journal.append(call, f"key {k}", 10 * k, k < 3, {"W": rng.random((3, 5)), "n": np.arange(k + 1)})
    journal.close()
    return tmp_path / "journal"


def known(path: Path) -> list[tuple[int, list[float]]]:
    journal = Journal(path)
    found = []
    for k in range(4):
        _, record = journal.begin(f"key {k}")
        if record is None:
            break
        found.append((record.at, record.arrays["W"].ravel().tolist()))
    journal.close()
    return found


def test_every_altered_byte_is_noticed(tmp_path: Path) -> None:
    """Whatever is read back is what was written; the rest is dropped."""
    path = journal_of(tmp_path)
    whole, data = known(path), path.read_bytes()
    assert len(whole) == 4
    for place in range(0, len(data), 7):
        for damaged in (data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :], data[:place]):
            path.write_bytes(damaged)
            found = known(path)
            assert found == whole[: len(found)]
            assert len(found) < 4
    path.write_bytes(os.urandom(500))
    assert known(path) == []


def test_a_call_that_was_another_is_done_again(tmp_path: Path) -> None:
    journal = Journal(journal_of(tmp_path))
    assert journal.begin("key 0")[1] is not None
    assert journal.begin("another")[1] is None
    assert journal.begin("key 2")[1] is None


def test_no_pickles(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    call, _ = journal.begin("key")
    journal.append(call, "key", 1, True, {"W": np.array([b"cos\nsystem\n"], dtype="S20")})
    journal.close()
    assert Journal(tmp_path / "journal").begin("key")[1] is None


def test_another_question_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    loynes.evaluate(MODEL, load=0.5, precision=0.1, folder=folder)
    (folder / "result.json").unlink()
    (folder / "journal").touch()
    with pytest.raises(UsageError, match=r"unfinished run of another question \(options.load: 0.5, now 0.6"):
        loynes.evaluate(MODEL, load=0.6, precision=0.1, folder=folder)
    asked = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(asked | {"version": "0.0.1"}))
    with pytest.raises(UsageError, match=r"begun by another loynes \(version 0.0.1"):
        loynes.resume(folder)
    (folder / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="does not say what was asked"):
        loynes.resume(folder)
    with pytest.raises(UsageError, match="is no run folder"):
        loynes.resume(tmp_path)
    # What is finished may be replaced.
    shutil.rmtree(folder)
    loynes.evaluate(MODEL, load=0.5, precision=0.1, folder=folder)
    loynes.evaluate(MODEL, load=0.6, precision=0.1, folder=folder)
    assert differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}], "c": 1}) == ["a[1].b: 2, now 3", "c: null, now 1"]


def test_thresholds_too(tmp_path: Path) -> None:
    loynes.stability("two-class-200", precision=0.01, folder=tmp_path / "run")
    assert isinstance(loynes.resume(tmp_path / "run"), loynes.Threshold)
    assert loynes.stability("two-class-200", precision=0.01).threshold == loynes.resume(tmp_path / "run").threshold


def test_a_full_disk(tmp_path: Path) -> None:
    journal = Journal(journal_of(tmp_path))
    journal._file.close()
    journal._file = os.fdopen(os.open("/dev/full", os.O_RDWR), "r+b", buffering=0)
    with pytest.raises(LoynesError, match=r"No space left on device; what was recorded before is kept"):
        journal.append(4, "key 4", 0, True, {"W": np.zeros(3)})
    assert len(known(tmp_path / "journal")) == 4


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    line = ["evaluate", "one-or-all", "--load", "0.95", "--precision", "0.0005", "-o", str(tmp_path / "run")]
    child = subprocess.Popen(
        [sys.executable, "-m", "loynes", *line], stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        for _ in range(600):
            if (tmp_path / "run" / "journal").exists() and (tmp_path / "run" / "journal").stat().st_size:
                break
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.1)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert f"go on with: loynes resume {tmp_path / 'run'}" in said
