"""Work done by others: Dask workers, also lost ones, and any executor; the same bits as here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import loynes
from loynes.errors import LoynesError, UsageError
from loynes.execution import units, workers
from loynes.execution.cluster import cluster

MODEL = "five-class-exponential"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(workers=2) as found:
        yield found


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever there is to do goes out, in units of a fraction of a second."""
    monkeypatch.setattr(workers, "NOT_WORTH_IT", 0.0)
    monkeypatch.setattr(workers, "UNIT_SECONDS", 0.05)


def told(result: Any) -> dict[str, Any]:
    return {name: value for name, value in result.to_dict().items() if name != "seconds"}


MODULATED = {
    "servers": 8,
    "arrivals": {"process": "mmpp", "generator": [[-0.1, 0.1], [0.2, -0.2]], "rates": [1.0, 4.0]},
    "classes": [
        {"name": "small", "need": 1, "probability": 0.8, "service": {"law": "exponential", "mean": 1}},
        {"name": "big", "need": 8, "probability": 0.2, "service": {"law": "erlang", "phases": 2, "mean": 0.3}},
    ],
}


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (MODEL, {"load": 0.7, "precision": 0.03}),
        (MODEL, {"load": 0.5, "method": "perfect", "samples": 500}),
        ("five-class-pareto", {"load": 0.5, "method": "backward", "samples": 500}),
        (MODULATED, {"load": 0.5, "precision": 0.05}),
    ],
)
def test_dask_gives_the_same_bits(model: Any, options: dict[str, Any], client: Any) -> None:
    here = loynes.evaluate(model, seed=3, **options)
    assert told(loynes.evaluate(model, seed=3, **options, executor=client)) == told(here)


@pytest.mark.parametrize("discipline", ["fcfs", "random"])
def test_thresholds_too(discipline: str, client: Any) -> None:
    ask = {"precision": 0.01, "discipline": discipline, "seed": 4}
    here = loynes.stability("five-class-erlang", **ask)
    assert told(loynes.stability("five-class-erlang", **ask, executor=client)) == told(here)


def test_events_too(client: Any) -> None:
    """Replicas of a simulation from stationary, with a scenario and moments, run on workers."""
    model = loynes.load(MODEL, ['scenario=[{from=20, lost="10%", how="failed"}]'])
    ask: dict[str, Any] = {"rate": 1.0, "start": "stationary", "horizon": 50.0, "replicas": 24, "policy": "easy"}
    assert told(loynes.simulate(model, **ask, executor=client)) == told(loynes.simulate(model, **ask))


def test_processes_that_are_started_anew() -> None:
    """As macOS and Windows start them: nothing is there but what was sent."""
    ask = {"precision": 0.02, "seed": 4}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = loynes.stability(MODEL, **ask, executor=pool)
        assert len(pool._processes) == 2  # they were needed
    assert told(there) == told(loynes.stability(MODEL, **ask))


def test_a_worker_is_killed_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its units are done elsewhere; the result file is the same."""
    monkeypatch.setattr(workers, "UNIT_SECONDS", 0.5)
    ask = {"load": 0.75, "precision": 0.01, "seed": 5}
    loynes.evaluate(MODEL, **ask, folder=tmp_path / "here")
    with cluster(workers=2) as client:
        victim = next(iter(client.run(os.getpid).values()))
        heard = [0]

        def kill(share: float, text: str) -> None:
            if share > 0 and not heard[0]:  # while it observes
                heard[0] = 1
                threading.Timer(0.2, os.kill, (victim, getattr(signal, "SIGKILL", signal.SIGTERM))).start()

        loynes.evaluate(MODEL, **ask, folder=tmp_path / "there", executor=client, progress=kill)
        assert heard[0]
        for _ in range(100):
            alive = client.run(os.getpid).values()
            if victim not in alive:
                break
            time.sleep(0.1)
        assert victim not in alive
    assert (tmp_path / "there" / "result.json").read_bytes() == (tmp_path / "here" / "result.json").read_bytes()


class Shuffled(Executor):
    """An executor that does the last unit first, and some twice."""

    _max_workers = 3

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], Any, Any]] = []
        self._pool = ThreadPoolExecutor(1)

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, function, arguments))
        self._pool.submit(self._one)
        return future

    def _one(self) -> None:
        future, function, arguments = self._waiting.pop()
        if len(self._waiting) % 2:
            function(*arguments)
        future.set_result(function(*arguments))


def test_any_order_and_any_executor() -> None:
    ask = {"load": 0.6, "precision": 0.05, "seed": 6}
    assert told(loynes.evaluate(MODEL, **ask, executor=Shuffled())) == told(loynes.evaluate(MODEL, **ask))
    with pytest.raises(LoynesError, match=r"must be a concurrent.futures.Executor or a Dask client"):
        loynes.evaluate(MODEL, **ask, executor=7)


def test_other_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "FINGERPRINT", "another")
    with ThreadPoolExecutor(2) as pool, pytest.raises(LoynesError, match="a worker has other kernels"):
        loynes.evaluate(MODEL, load=0.6, precision=0.05, executor=pool)


def test_samples_and_the_command_line(tmp_path: Path, client: Any) -> None:
    """A cluster at an address, and processes of our own."""
    line = [
        sys.executable,
        "-m",
        "loynes",
        "sample",
        MODEL,
        "--load",
        "0.4",
        "--samples",
        "500",
        "--method",
        "backward",
    ]
    address = client.scheduler.address
    for name, how in (("here", []), ("there", ["--cluster", address]), ("own", ["--workers", "2", "--quiet"])):
        subprocess.run([*line, *how, "-o", str(tmp_path / name)], check=True, capture_output=True)
        assert (tmp_path / name / "result.json").read_bytes() == (tmp_path / "here" / "result.json").read_bytes()


def test_clusters_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loynes.execution.cluster.PATIENCE", 0.5)
    for asked, said in (
        ({"address": "tcp://127.0.0.1:9"}, "cannot be reached"),
        ({"address": "nonsense://x"}, "cannot be reached"),
    ):
        with pytest.raises(LoynesError, match=said), cluster(**asked):
            pass
    for wrong in ({"workers": 0}, {"workers": 1, "address": "tcp://127.0.0.1:9"}):
        with pytest.raises(UsageError), cluster(**wrong):
            pass
