"""How work is run, on an engine that only counts: stretches, journal, workers, progress, and what a context is."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loynes.errors import LoynesError, UsageError
from loynes.execution import chunks, journal, workers
from loynes.execution.chunks import Chunked, stretches
from loynes.execution.cluster import cluster
from loynes.execution.context import Context
from loynes.execution.journal import Journal, Journalled, Record
from loynes.execution.progress import PartProgress, silent
from loynes.execution.units import SPARSE, Sparse, Unit, _packed, _unpacked, run_unit
from loynes.execution.workers import Pool, result_of
from loynes.kernels.engine import CUT


class Counting:
    """An engine that remembers which ranges it was asked for."""

    name, most_jobs, batch_bytes = "counting", 1, 1
    groups_of = fitting_replicas = look_every = staticmethod(lambda *_: 1)

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []

    def first_rows(self, rows: int) -> int:
        return 3

    def run(self, task: Any, state: Any, start: int, stop: int, look: Any = None) -> None:
        self.ranges.append((start, stop))
        state["sum"][0] += stop - start


def task(by_rows: bool = True, label: str = "") -> Any:
    return SimpleNamespace(
        by_rows=by_rows,
        label=label,
        rows=10,
        key=lambda engine: f"task of {engine}",
        jobs=lambda state, start, stop: 100 * (stop - start),
        saved=lambda state: {"sum": state["sum"].copy()},
        restore=lambda state, arrays: state["sum"].__setitem__(slice(None), arrays["sum"]),
    )


def fresh() -> dict[str, Any]:
    return {"sum": np.zeros(1)}


def test_stretches_double_while_they_are_short() -> None:
    engine: Any = Counting()
    assert list(stretches(engine, task(), fresh(), 0, 10)) == [3, 9, 10]
    assert engine.ranges == [(0, 3), (3, 9), (9, 10)]
    assert list(stretches(engine, task(by_rows=False), fresh(), 5, 5 + 4 * CUT)) == [5 + CUT, 5 + 3 * CUT, 5 + 4 * CUT]
    assert list(stretches(engine, task(), fresh(), 4, 4)) == []


def test_long_stretches_do_not_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LONG", 0.0)
    assert list(stretches(Counting(), task(), fresh(), 0, 10)) == [3, 6, 9, 10]  # type: ignore[arg-type]


def test_progress_of_a_run() -> None:
    told: list[Any] = []

    def progress(share: float, text: str) -> None:
        told.append((share, text))

    progress.simulated = told.append  # type: ignore[attr-defined]
    Chunked(Counting(), progress).run(task(label="x"), fresh(), 0, 10)  # type: ignore[arg-type]
    assert told == [
        300,
        (0.3, "x, 3 of 10 replicas"),
        600,
        (0.9, "x, 9 of 10 replicas"),
        100,
        (1.0, "x, 10 of 10 replicas"),
    ]
    told.clear()
    Chunked(Counting(), lambda share, text: told.append(share)).run(task(), fresh(), 0, 10)  # type: ignore[arg-type]
    assert told == []


def test_progress_of_a_part() -> None:
    told: list[tuple[float, str]] = []
    part = PartProgress(lambda share, text: told.append((share, text)), 0.5, 0.25, "half")
    part(0.5, "x")
    part(1.0, "")
    PartProgress(part, 0.0, 0.5)(1.0, "y")
    assert told == [(0.625, "half; x"), (0.75, "half"), (0.625, "half; y")]


def test_contexts() -> None:
    context = Context("cpu")
    assert context.part(0.5, 0.5) is context  # nobody watches
    assert context.on("cpu") is context
    assert context.on("auto").backend == "auto"
    told: list[float] = []
    watched = Context("cpu", lambda share, text: told.append(share))
    watched.part(0.5, 0.25).progress(1.0, "")
    assert told == [0.75]
    assert isinstance(watched.engine, Chunked)
    assert not isinstance(context.engine, Chunked)
    assert context.progress is silent


def test_a_journal_takes_up_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is done is written down; asked again, it is not done again."""
    monkeypatch.setattr(journal, "CHEAP", -1.0)
    engine: Any = Counting()
    state = fresh()
    Journalled(engine, Journal(tmp_path)).run(task(), state, 0, 10)
    assert [path.name[:7] for path in tmp_path.iterdir()] == ["000000-"]
    again, before = fresh(), len(engine.ranges)
    Journalled(engine, Journal(tmp_path)).run(task(), again, 0, 10)
    assert (again["sum"][0], state["sum"][0], len(engine.ranges)) == (10.0, 10.0, before)
    # Another range is another run: the record is dropped, and all is done.
    other = fresh()
    Journalled(engine, Journal(tmp_path)).run(task(), other, 0, 9)
    assert other["sum"][0] == 9.0


def test_cheap_runs_are_not_recorded(tmp_path: Path) -> None:
    Journalled(Counting(), Journal(tmp_path)).run(task(), fresh(), 0, 10)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_long_runs_are_recorded_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "EVERY", -1.0)
    there = Journal(tmp_path)
    written: list[int] = []
    monkeypatch.setattr(there, "write", lambda run, record: written.append(record.at))
    Journalled(Counting(), there).run(task(), fresh(), 0, 10)  # type: ignore[arg-type]
    assert written == [3, 9, 10]


def test_records_of_a_journal(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    for run, key in enumerate("abc"):
        assert first.begin(key) == (run, None)
        first.write(run, Record(key, 10 + run, {"x": np.arange(run)}))
    assert first.known == 3
    second = Journal(tmp_path)
    run, record = second.begin("a")
    assert record is not None
    assert (run, record.key, record.at, record.arrays["x"].tolist()) == (0, "a", 10, [])
    # Another run than the recorded one: it and all after it are dropped, those before it are kept.
    assert second.begin("other") == (1, None)
    assert second.known == 1
    assert len(list(tmp_path.iterdir())) == 1
    # A newer record of a run takes the older one's place.
    second.write(0, Record("a", 20, {}))
    assert len(list(tmp_path.iterdir())) == 1
    found = Journal(tmp_path).begin("a")[1]
    assert found is not None
    assert found.at == 20


def test_an_altered_record_does_not_count(tmp_path: Path) -> None:
    there = Journal(tmp_path)
    there.begin("a")
    there.write(0, Record("a", 1, {}))
    (path,) = tmp_path.iterdir()
    contents = path.read_bytes()
    path.write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    assert Journal(tmp_path).begin("a") == (0, None)
    assert not path.exists()
    (tmp_path / "notes-x.npz").write_bytes(b"")
    assert Journal(tmp_path).known == 0


def test_counts_travel_light() -> None:
    """Three dimensions of counts, less than a quarter of which are not 0."""
    counts = np.zeros((1, 2, 4), np.int64)
    counts[0, 1, 2] = 7
    light = _packed(counts)
    assert isinstance(light, Sparse)
    assert (light.shape, light.where.tolist(), light.value.tolist()) == ((1, 2, 4), [6], [7])
    back = _unpacked(light)
    assert back.dtype == counts.dtype
    assert (back == counts).all()
    counts[0, 0, 0] = 1
    assert SPARSE * counts.size == 2
    assert _packed(counts) is counts  # as many as a quarter
    assert _packed(np.zeros((2, 4), np.int64)).shape == (2, 4)
    assert isinstance(_packed(np.zeros((1, 2, 4))), np.ndarray)
    copy = _unpacked(counts)
    assert copy is not counts
    assert (copy == counts).all()
    assert _unpacked(3) == 3


def test_workers_with_other_kernels_are_refused() -> None:
    with pytest.raises(LoynesError, match="other kernels"):
        run_unit(Unit("cpu", None, None, 0, 1, fingerprint="x"))  # type: ignore[arg-type]


def test_pools() -> None:
    with pytest.raises(LoynesError, match=r"must be a concurrent\.futures\.Executor"):
        Pool(object())
    with ThreadPoolExecutor(3) as executor:
        pool = Pool(executor)
        assert (pool.slots(False), pool.slots(True)) == (3, 3)
        assert pool.executor(True) is pool.executor(False) is executor


class Client:
    """What a pool asks of a Dask client: two workers of one and three threads, GPUs on one of them or none."""

    def __init__(self, gpus: int) -> None:
        self.gpus, self.asked = gpus, []  # type: ignore[var-annotated]

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 3}

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        assert n_workers == -1
        return {"workers": {"a": {}, "b": {"resources": {"GPU": self.gpus}}}}

    def get_executor(self, **options: Any) -> Any:
        self.asked.append(options)
        return f"executor {len(self.asked)}"


def test_pools_of_a_cluster() -> None:
    with_gpus, without = Client(5), Client(0)
    pool = Pool(with_gpus)
    assert (pool.slots(False), pool.slots(True)) == (4, 5)
    assert pool.executor(False) == pool.executor(False) == "executor 1"
    assert pool.executor(True) == "executor 2"
    assert with_gpus.asked == [
        {"pure": False, "retries": 2, "resources": None}, {"pure": False, "retries": 2, "resources": {"GPU": 1}},
    ]  # fmt: skip
    assert Pool(without).slots(True) == 2
    assert Pool(without).executor(True) == "executor 1"
    assert without.asked[0]["resources"] is None


def failing(error: BaseException) -> Any:
    def result() -> None:
        raise error

    return SimpleNamespace(result=result)


def test_what_became_of_a_worker() -> None:
    assert result_of(SimpleNamespace(result=lambda: 3)) == 3
    with pytest.raises(LoynesError, match=r"the workers are lost \(CancelledError\)"):
        result_of(failing(CancelledError()))
    with pytest.raises(LoynesError, match=r"^mine$"):
        result_of(failing(LoynesError("mine")))
    killed = type("KilledWorker", (Exception,), {})()
    with pytest.raises(LoynesError, match="is there memory"):
        result_of(failing(killed))
    with pytest.raises(ZeroDivisionError):
        result_of(failing(ZeroDivisionError()))


def test_clusters_that_cannot_be() -> None:
    with cluster() as client:
        assert client is None
    for options, said in (
        ({"address": "x", "workers": 1}, "not both"),
        ({"workers": 0}, "at least 1 and at most 1024"),
        ({"workers": 1025}, "at least 1 and at most 1024"),
    ):
        with pytest.raises(UsageError, match=said), cluster(**options):  # type: ignore[arg-type]
            pass


def test_units_are_handed_out_until_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """More lines than units under way at a time; each line's units follow each other."""
    monkeypatch.setattr(workers, "A_WORKER", 1)
    monkeypatch.setattr(workers, "run_unit", lambda unit: unit)
    put: list[tuple[int, int]] = []
    there: Any = SimpleNamespace(put=lambda state, rows, after: put.append((rows, after)), by_rows=False)
    with ThreadPoolExecutor(2) as executor:
        spread = workers.Spread(Pool(executor), "cpu")
        lines: Any = [iter([(row, 10 * row + step) for step in range(3)]) for row in range(5)]
        spread._hand_out(there, None, lines, 0)
    assert sorted(put) == [(row, 10 * row + step) for row in range(5) for step in range(3)]
    for row in range(5):
        assert [after for at, after in put if at == row] == [10 * row + step for step in range(3)]
    assert spread.first_rows(7) == 7


def spread(executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch, job_seconds: float) -> Any:
    made = workers.Spread(Pool(executor), "cpu")
    monkeypatch.setattr(made, "_job_seconds", lambda table: job_seconds)
    made._here = Counting()  # type: ignore[assignment]
    return made


def test_units_of_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows at a time, as many whole cuts as take 0.8 seconds, one at least; the last ends where the run does."""
    there: Any = task(by_rows=False)
    there.part, there.take, there.table = (lambda rows: "part"), (lambda state, rows: 0), None
    with ThreadPoolExecutor(1) as executor:
        for seconds, cuts in ((1.0, 1), (0.8 / (2 * CUT) / 2.5, 2)):
            line = spread(executor, monkeypatch, seconds)._line(there, None, np.arange(2), 0, 5 * CUT + 1)
            ranges = [(unit.start, unit.stop) for _, unit in line]
            edges = [*range(0, 5 * CUT + 1, cuts * CUT), 5 * CUT + 1]
            assert ranges == list(pairwise(edges))


def test_short_runs_are_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    there: Any = task()
    there.table, there.expected_jobs = None, lambda start, stop: stop - start
    handed: list[Any] = []
    with ThreadPoolExecutor(1) as executor:
        for seconds, here in ((0.0099, [(0, 10)]), (0.01, [])):
            made = spread(executor, monkeypatch, seconds)
            monkeypatch.setattr(made, "_hand_out", lambda task, state, lines, start: handed.append(len(lines)))
            made.run(there, fresh(), 0, 10)
            assert made._here.ranges == here
    assert handed == [5]  # ten rows, on eight lines: two rows each
