"""An engine whose long calls are done a stretch at a time.

All long work goes through an engine's `run_` functions, which are pure functions of their arguments and of whatever
they update in place. Each is passed on here in stretches, of jobs or of samples: the cut changes no bit, and between
two of them there is time to tell how far it is, or to write down what there is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.cpu.engine import TASK_JOBS
from loynes.kernels.tally import Heap, Tally
from loynes.stationary.backward import steps
from loynes.study.calls import Calls

# Jobs of a replica that are done at a time: where the CPU's own tasks are cut, so that sums are the same. Stretches
# double while they take less than so many seconds.
STRETCH = TASK_JOBS
LONG = 4.0

Done = Callable[[], None] | None
Ints = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Call:
    """One long call: jobs (or samples) begin .. end."""

    name: str
    arguments: tuple[Any, ...]  # what it is asked to do
    begin: int
    end: int
    held: dict[str, Any]  # workloads, where the engine wants them
    arrays: dict[str, NDArray[Any]]  # whatever else it updates
    run: Callable[[int, int], None]  # a stretch of it
    jobs: Callable[[int, int], int]  # simulated in a stretch that is done
    step: int  # the first stretch

    def key(self, engine: str) -> str:
        """A digest of what is asked, and of whom."""
        digest = hashlib.sha256(f"{engine} {self.name}".encode())
        for part in _flat(self.arguments):
            digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
            digest.update(b";")
        return digest.hexdigest()[:32]


class StretchedEngine(Calls):
    """Tells `did` after every stretch how many jobs it made; what is no long call is the engine's own."""

    def __init__(self, engine: Any, did: Callable[[int], None] = lambda jobs: None) -> None:
        self._engine, self._did = engine, did

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_forward(
        self, table: JobTable, needs: Needs, seed: int, stream: int, replicas: Ints, rows: Ints, begin: int, end: int,
        observe: bool, W: Any, tally: Tally, done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            numbers = (seed, stream, replicas, rows, start, stop, observe)
            self._engine.run_forward(table, needs, *numbers, W, tally, done, workers, places)

        asked = (table, needs, seed, stream, replicas, rows, begin, end, observe)
        sums = {name: getattr(tally, name) for name in Tally._fields[1:]} if observe else {}
        self._chains("run_forward", asked, begin, end, {"W": W}, sums, places, run)

    def _pile(
        self, name: str, asked: tuple[Any, ...], H: Any, heap: Heap, done: Done, workers: int | None, places: Any,
        first: int,
    ) -> None:  # fmt: skip
        *what, begin, end = asked

        def run(start: int, stop: int) -> None:
            getattr(self._engine, name)(*what, start, stop, H, heap, done, workers, places, first)

        self._chains(name, (*asked, first, len(heap.base)), begin, end, {"H": H}, heap._asdict(), places, run)

    def run_sandwich(
        self, table: JobTable, seed: int, stream: int, begin: int, end: int, low: Any, high: Any, met: Ints,
        done: Done = None, workers: int | None = None, places: Any = None, first_replica: int = 0,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            pairs = (low, high, met, done, workers, places, first_replica)
            self._engine.run_sandwich(table, seed, stream, start, stop, *pairs)

        asked = (table, seed, stream, begin, end, first_replica, len(met))
        self._chains("run_sandwich", asked, begin, end, {"low": low, "high": high}, {"met": met}, places, run)

    def _samples(
        self, name: str, what: tuple[Any, ...], first: int, options: tuple[Any, ...], W: Array, length: Ints,
        doublings: Ints, done: Done, workers: int | None,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            out = (array[start:stop] for array in (W, length, doublings))
            getattr(self._engine, name)(*what, first + start, *options, *out, done, workers)

        def jobs(start: int, stop: int) -> int:
            return steps(length[start:stop], doublings[start:stop])

        arrays: dict[str, NDArray[Any]] = {"W": W, "length": length, "doublings": doublings}
        # A GPU takes many samples at once.
        step = max(1, len(W) // (64 if self._engine.name == "cpu" else 4))
        self._do(Call(name, (*what, first, *options, len(W)), 0, len(W), {}, arrays, run, jobs, step))

    def _chains(
        self, name: str, asked: tuple[Any, ...], begin: int, end: int, held: dict[str, Any],
        arrays: dict[str, NDArray[Any]], places: Any, run: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        rows = len(next(iter(held.values())))
        if places is not None:
            arrays = arrays | {"places": places}
        self._do(Call(name, asked, begin, end, held, arrays, run, lambda start, stop: rows * (stop - start), STRETCH))

    def _do(self, call: Call) -> None:
        for _ in self._stretches(call, call.begin):
            pass

    def _stretches(self, call: Call, at: int) -> Iterator[int]:
        """Do the call from `at` on, and say after every stretch how far it is."""
        step = call.step
        while at < call.end:
            began, stop = time.monotonic(), min(call.end, at + step)
            call.run(at, stop)
            self._did(call.jobs(at, stop))
            at = stop
            if time.monotonic() - began < LONG:
                step *= 2
            yield at


def _flat(argument: Any) -> list[Any]:
    """Arrays and scalars of a table, however deep."""
    if isinstance(argument, tuple):
        return [part for inner in argument for part in _flat(inner)]
    return [np.ascontiguousarray(argument) if isinstance(argument, np.ndarray) else argument]
