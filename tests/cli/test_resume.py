"""Runs that are killed, torn, changed or complete: resumed to the same bytes, or refused."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loynes
from loynes.errors import LoynesError, UsageError
from loynes.estimators import pairs
from loynes.execution import chunks, journal
from loynes.execution.journal import Journal, Record
from loynes.questions.answering import sampling
from loynes.questions.asking.folder import differences

OPTIONS = {"load": 0.6, "precision": 0.06, "seed": 3, "confidence": 0.99}
MODEL = "five-class-exponential"


@pytest.fixture(autouse=True)
def _records_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record after every short stretch: many moments to be killed at."""
    monkeypatch.setattr(journal, "EVERY", 0.0)
    monkeypatch.setattr(journal, "CHEAP", 0.0)
    monkeypatch.setattr(chunks, "CUT", 1 << 12)
    monkeypatch.setattr(chunks, "LONG", 0.0)


KILLS = 20


def records_of(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> int:
    """How many records a run writes."""
    write, records = Journal.write, [0]

    def counted(*arguments: Any) -> None:
        write(*arguments)
        records[0] += 1

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", counted)
        run()
    return records[0]


@pytest.mark.usefixtures("means_only")
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
        newest = max((torn / "journal").glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)
        if rng.random() < 0.2:
            (torn / "journal" / "000000-0123.part").write_bytes(newest.read_bytes()[:100])
        elif rng.random() < 0.2:
            newest.write_bytes(newest.read_bytes()[:100])
        loynes.resume(torn)
        assert (torn / "result.json").read_bytes() == (whole / "result.json").read_bytes()
        shutil.rmtree(torn)
        if kills == KILLS:
            break
    assert kills == KILLS
    assert loynes.resume(whole).to_json() == loynes.read_result(whole).to_json()
    assert loynes.read_result(whole).seconds > 0


@pytest.mark.usefixtures("means_only")
@pytest.mark.filterwarnings("ignore:class")
def test_a_run_with_services_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a mean has no variance, two more runs follow the first: killed in any of them, it ends in the same file."""
    law = {"law": "pareto", "shape": 2.5, "mean": 1.0}
    model = loynes.load({"servers": 2, "classes": [{"need": 1, "probability": 1.0, "service": law}]})
    options = {"load": 0.5, "samples": 4000, "replicas": 8, "burn_in": 512, "max_jobs": 4e6, "seed": 3}
    whole = tmp_path / "whole"
    count = records_of(monkeypatch, lambda: loynes.evaluate(model, **options, folder=whole))
    assert loynes.read_result(whole).details["cut"]["sides"] == "both"
    kills = 0
    for after in (count // 4, count // 2, 3 * count // 4, count - 3):
        torn = tmp_path / f"torn {after}"
        if killed(torn, options, after, 0.0, model):
            kills += 1
            loynes.resume(torn)
        assert (torn / "result.json").read_bytes() == (whole / "result.json").read_bytes()
    assert kills


def killed(folder: Path, options: dict[str, Any], after: int, delay: float, model: Any = MODEL) -> bool:
    """A process runs, and is killed so long after so many records; False if it was done before."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork, which lets a copy of this process be killed half way")
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        write, records = Journal.write, [0]

        def counted(*arguments: Any) -> None:
            write(*arguments)
            records[0] += 1
            if records[0] == after:
                os.write(tell, b"!")

        pytest.MonkeyPatch().setattr(Journal, "write", counted)
        try:
            loynes.evaluate(model, **options, folder=folder)
        finally:
            os._exit(0)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


class StoppedError(Exception):
    pass


class Stop:
    """Stops a run at the first jobs that are simulated after it has said something that begins so."""

    def __init__(self, after: str) -> None:
        self._after, self._heard = after, not after

    def __call__(self, share: float, text: str) -> None:
        self._heard |= text.startswith(self._after)

    def simulated(self, jobs: int) -> None:
        if self._heard:
            raise StoppedError


def test_samples_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are there and unaltered are not made again; the result is the same file."""
    monkeypatch.setattr(sampling, "PART", 64)
    ask = {"load": 0.5, "samples": 300, "method": "backward"}
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    found = loynes.sample(MODEL, whole, **ask)
    assert [part["samples"] for part in found.parts] == [64, 64, 64, 64, 44]

    with pytest.raises(StoppedError):
        loynes.sample(MODEL, torn, **ask, progress=Stop("128 of"))
    assert sorted(path.name for path in torn.glob("*.parquet")) == ["part-00000.parquet", "part-00001.parquet"]
    assert [path.name for path in torn.glob("*.journal")] == ["part-00002.journal"]
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


def record_of(run: int) -> Record:
    arrays = {"W": np.random.default_rng(run).random((3, 5)), "n.inner": np.arange(run + 1)}
    return Record(f"key {run}", 10 * run, arrays)


def journal_of(tmp_path: Path) -> Path:
    """A journal of four runs, of which the first was written three times."""
    journal = Journal(tmp_path / "journal")
    for k in range(4):
        run, record = journal.begin(f"key {k}")
        assert (run, record) == (k, None)
        journal.write(run, record_of(k))
    journal.write(0, Record("key 0", -1, {}))
    journal.write(0, record_of(0))
    assert len([*journal.folder.iterdir()]) == 4
    return journal.folder


def known(folder: Path) -> list[int]:
    """Which runs are read back; every one as it was written."""
    journal, found = Journal(folder), []
    for k in range(4):
        run, record = journal.begin(f"key {k}")
        assert run == k
        if record is None:
            continue
        written = record_of(k)
        assert (record.key, record.at) == (written.key, written.at)
        assert list(record.arrays) == list(written.arrays)
        for name, array in written.arrays.items():
            assert record.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(record.arrays[name], array)
        found.append(k)
    return found


def test_every_altered_byte_is_noticed(tmp_path: Path) -> None:
    """Whatever is read back is what was written; what is not, and all after it, is done again."""
    folder = journal_of(tmp_path)
    files = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    assert known(folder) == [0, 1, 2, 3]
    assert {path: path.read_bytes() for path in folder.iterdir()} == files

    def kept(altered: Path, contents: bytes) -> list[int]:
        for path, data in files.items():
            path.write_bytes(data)
        altered.write_bytes(contents)
        return known(folder)

    for run, (path, data) in enumerate(files.items()):
        for place in range(0, len(data), 3 if run == 1 else 17):
            for damaged in (data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :], data[:place]):
                assert kept(path, damaged) == [*range(run)]
                assert not path.exists()
        for damaged in (os.urandom(500), data + b"\0", *(other for other in files.values() if other != data)):
            assert kept(path, damaged) == [*range(run)]


def test_names_count_too(tmp_path: Path) -> None:
    """A record under another's number is not that run's; without one, a run is done again and those after it count."""
    first, second, third, _ = sorted(journal_of(tmp_path).iterdir())
    second.rename(second.with_name(second.name.replace("000001", "000007")))
    assert known(first.parent) == [0, 2, 3]
    third.rename(third.with_name(third.name.replace("000002", "000001")))
    assert known(first.parent) == [0]


def test_leftovers_do_not_count(tmp_path: Path) -> None:
    """Drafts, other files, and an older record that there was no time to remove."""
    folder = journal_of(tmp_path)
    (newest,) = folder.glob("000003-*")
    os.utime(newest, ns=(0, time.time_ns() + 10**9))
    (folder / "000003-00.part").write_bytes(newest.read_bytes())
    (folder / "000002-00.part").write_bytes(b"and then the power went")
    (folder / "notes.txt").write_text("mine")
    (folder / "draft-00.npz").write_bytes(newest.read_bytes())
    aside = Journal(tmp_path / "aside")
    aside.write(3, Record("key 3", 5, {"W": np.zeros(2)}))
    (older,) = aside.folder.iterdir()
    older.rename(folder / older.name)
    assert known(folder) == [0, 1, 2, 3]


def test_a_run_that_was_another_is_done_again(tmp_path: Path) -> None:
    folder = journal_of(tmp_path)
    journal = Journal(folder)
    assert journal.known == 4
    assert journal.begin("key 0")[1] is not None
    assert journal.begin("another")[1] is None
    assert journal.begin("key 2")[1] is None
    assert journal.known == 1
    assert len([*folder.iterdir()]) == 1


class Trap:
    """Unpickled, it leaves a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.path,)


def test_no_pickles(tmp_path: Path) -> None:
    """Files with the right name that would run something if they were trusted, or are no archive at all."""
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    pickle.loads(pickle.dumps(trap))
    assert (tmp_path / "sprung").exists()
    (tmp_path / "sprung").unlink()
    archive, array, plain = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(archive, _key=np.array("key 0"), _at=np.array(3), W=trap)
    np.save(array, trap)
    np.save(plain, np.zeros(3))
    folder = journal_of(tmp_path)
    for contents in (archive, array, plain, io.BytesIO(pickle.dumps(trap)), io.BytesIO(b"")):
        for path in folder.iterdir():
            path.unlink()
        name = hashlib.sha256(contents.getvalue()).hexdigest()
        (folder / f"000000-{name}.npz").write_bytes(contents.getvalue())
        assert Journal(folder).begin("key 0") == (0, None)
    assert not (tmp_path / "sprung").exists()


def test_another_question_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    loynes.evaluate(MODEL, load=0.5, precision=0.1, folder=folder)
    (folder / "result.json").unlink()
    (folder / "journal").mkdir()
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


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_full_disk(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = journal_of(tmp_path)

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for run in (3, 4):
        with monkeypatch.context() as patch:
            patch.setattr(os if step == "fsync" else Path, step, full)
            with pytest.raises(LoynesError, match=r"No space left on device; what was recorded before is kept"):
                Journal(folder).write(run, Record(f"key {run}", 0, {"W": np.zeros(3)}))
        assert known(folder) == [0, 1, 2, 3]
        assert len([*folder.iterdir()]) == 4


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    line = ["evaluate", "one-or-all", "--load", "0.95", "--precision", "0.0005", "-o", str(tmp_path / "run")]
    child = subprocess.Popen(
        [sys.executable, "-m", "loynes", *line], stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        for _ in range(600):
            if any((tmp_path / "run" / "journal").glob("*.npz")):
                break
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.1)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert f"go on with: loynes resume {tmp_path / 'run'}" in said


class Count:
    """Counts how often jobs were simulated, and stops the run at one of these times, if told to."""

    def __init__(self, stop: int | None = None) -> None:
        self.times, self._stop = 0, stop

    def __call__(self, share: float, text: str) -> None:
        pass

    def simulated(self, jobs: int) -> None:
        self.times += 1
        if self.times == self._stop:
            raise StoppedError


RECORDED = Path(__file__).parents[1] / "recorded"
LOG, MONTH, SMALL, OTHER = (
    str(RECORDED / name) for name in ("log.swf", "month.csv", "models/small.toml", "models/other.toml")
)
OWN = str(Path(__file__).parents[2] / "examples" / "my_policy.py")
EVENTS = {"jobs": 400, "replicas": 6}
CHAINS = {"rate": 1.0, "samples": 20_000, "replicas": 8}
# Questions, and whether they simulate.
QUESTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any], bool]] = {
    "compare two models": (partial(loynes.compare, SMALL, OTHER), CHAINS, True),
    "compare with a change": (partial(loynes.compare, SMALL), {"change": ["servers=5"]} | CHAINS, True),
    "compare without a class": (partial(loynes.compare, SMALL), {"without": "all"} | CHAINS, True),
    "compare policies": (
        partial(loynes.compare_policies, SMALL, ["fcfs", "smash", OWN]),
        {"loads": [0.5, 0.8], "window": 3, "limits": False} | EVENTS,
        True,
    ),
    "simulate": (partial(loynes.simulate, SMALL), {"rate": 1.0, "policy": "easy"} | EVENTS, True),
    "stability": (partial(loynes.stability, "two-class-200"), {"precision": 0.05}, True),
    "certify": (partial(loynes.certify, MODEL), {"rate": 1.0}, True),
    "exact": (partial(loynes.exact, SMALL), {"load": 0.5, "exceeds": (1.0,)}, False),
    "fit": (partial(loynes.fit, MONTH), {"servers": 12, "classes": 3, "law": "exponential"}, True),
    "fit of a log too short for a test": (partial(loynes.fit, LOG), {"classes": 3, "law": "exponential"}, False),
    "replay": (partial(loynes.replay, LOG), {"policy": "easy", "windows": 5}, False),
    "check": (partial(loynes.check, SMALL), {}, False),
}


@pytest.fixture
def _one_percentile(means_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of differences, too: percentiles are made of what was simulated, which is what is resumed."""
    monkeypatch.setattr(pairs, "PERCENTILES", (90.0,))


@pytest.mark.usefixtures("_one_percentile")
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_resumes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped early, half way, late, and before the result is written: done again in parts, to the same bytes."""
    ask, options, simulates = QUESTIONS[name]
    whole, count = tmp_path / "whole", Count()
    found = ask(**options, folder=whole, progress=count)
    assert (count.times > 0) == simulates
    result = (whole / "result.json").read_bytes()
    for stop in sorted({max(1, count.times * part // 8) for part in (1, 4, 7)} if simulates else ()):
        torn, again = tmp_path / f"torn {stop}", Count()
        with pytest.raises(StoppedError):
            ask(**options, folder=torn, progress=Count(stop))
        assert not (torn / "result.json").exists()
        resumed = loynes.resume(torn, progress=again)
        assert (torn / "result.json").read_bytes() == result
        assert type(resumed) is type(found)
        assert again.times < count.times or stop == 1
        assert not (torn / "journal").exists()
    torn, again = tmp_path / "torn", Count()
    with monkeypatch.context() as patch:

        def stopped(*arguments: Any) -> None:
            raise StoppedError

        patch.setattr(type(found), "save_folder", stopped)
        with pytest.raises(StoppedError):
            ask(**options, folder=torn)
    assert sorted(path.name for path in torn.iterdir()) == ["journal", "run.json"]
    loynes.resume(torn, progress=again)
    assert (torn / "result.json").read_bytes() == result
    assert again.times == 0  # all of it was recorded
