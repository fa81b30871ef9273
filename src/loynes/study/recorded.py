"""An engine that writes down what it has done, and on a second run does not do it again.

All long work goes through an engine's `run_` functions, which are pure functions of their arguments and whatever they
update in place. The decorator here passes each on in stretches (of jobs, or of samples; the cut changes no bit), and
records the arrays it leaves: the last record of every call is all that is needed to go on. A run that begins again asks
for the same calls in the same order and gets them from the journal until it reaches the point where it was stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.cpu.engine import TASK_JOBS
from loynes.kernels.tally import Blockers, Heap, Tally
from loynes.study.journal import Journal

# Seconds between records of a long call, and what is not worth a record.
EVERY = 20.0
CHEAP = 0.1
# Jobs of a replica that are done at a time: where the CPU's own tasks are cut, so that sums are the same.
STRETCH = TASK_JOBS

Done = Callable[[], None] | None
Ints = NDArray[np.int64]
Array = NDArray[np.float64]


class RecordedEngine:
    """An engine with a journal; what is not a long call is the engine's own."""

    def __init__(self, engine: Any, journal: Journal) -> None:
        self._engine, self._journal = engine, journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run_forward(
        self, table: JobTable, needs: Needs, seed: int, stream: int, replicas: Ints, rows: Ints, begin: int, end: int,
        observe: bool, W: Any, tally: Tally, done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            numbers = (seed, stream, replicas, rows, start, stop, observe)
            self._engine.run_forward(table, needs, *numbers, W, tally, done, workers, places)

        key = self._key("forward", table, needs, seed, stream, replicas, rows, begin, end, observe)
        sums = {name: getattr(tally, name) for name in Tally._fields[1:]} if observe else {}
        self._in_stretches(key, begin, end, {"W": W}, sums, places, run)

    def run_pile(
        self, table: JobTable, needs: Needs, blockers: Blockers, seed: int, stream: int, begin: int, end: int, H: Any,
        heap: Heap, done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        self._pile("run_pile", table, needs, blockers, seed, stream, begin, end, H, heap, done, workers, places)

    def run_random_pile(
        self, table: JobTable, needs: Needs, blockers: Blockers, seed: int, stream: int, begin: int, end: int, H: Any,
        heap: Heap, done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        self._pile("run_random_pile", table, needs, blockers, seed, stream, begin, end, H, heap, done, workers, places)

    def _pile(
        self, name: str, table: JobTable, needs: Needs, blockers: Blockers, seed: int, stream: int, begin: int,
        end: int, H: Any, heap: Heap, done: Done, workers: int | None, places: Any,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            call = getattr(self._engine, name)
            call(table, needs, blockers, seed, stream, start, stop, H, heap, done, workers, places)

        key = self._key(name, table, needs, *blockers, seed, stream, begin, end, len(heap.base))
        self._in_stretches(key, begin, end, {"H": H}, heap._asdict(), places, run)

    def run_sandwich(
        self, table: JobTable, seed: int, stream: int, begin: int, end: int, low: Any, high: Any, met: Ints,
        done: Done = None, workers: int | None = None, places: Any = None,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            self._engine.run_sandwich(table, seed, stream, start, stop, low, high, met, done, workers, places)

        key = self._key("sandwich", table, seed, stream, begin, end, len(met))
        self._in_stretches(key, begin, end, {"low": low, "high": high}, {"met": met}, places, run)

    def run_backward(
        self, table: JobTable, seed: int, stream: int, first_replica: int, initial: int, confirmations: int,
        longest: int, W: Array, length: Ints, doublings: Ints, done: Done = None, workers: int | None = None,
    ) -> None:  # fmt: skip
        options = (initial, confirmations, longest)
        self._samples("run_backward", table, seed, stream, first_replica, options, W, length, doublings, done, workers)

    def run_perfect(
        self, table: JobTable, seed: int, stream: int, first_replica: int, initial: int, longest: int, ceiling: float,
        rise: float, W: Array, length: Ints, doublings: Ints, done: Done = None, workers: int | None = None,
    ) -> None:  # fmt: skip
        options = (initial, longest, ceiling, rise)
        self._samples("run_perfect", table, seed, stream, first_replica, options, W, length, doublings, done, workers)

    def _samples(
        self, name: str, table: JobTable, seed: int, stream: int, first: int, options: tuple[Any, ...], W: Array,
        length: Ints, doublings: Ints, done: Done, workers: int | None,
    ) -> None:  # fmt: skip
        def run(start: int, stop: int) -> None:
            rows = slice(start, stop)
            out = (W[rows], length[rows], doublings[rows])
            getattr(self._engine, name)(table, seed, stream, first + start, *options, *out, done, workers)

        key = self._key(name, table, seed, stream, first, *options, len(W))
        few = max(1, len(W) // 64)
        self._in_stretches(key, 0, len(W), {}, {"W": W, "length": length, "doublings": doublings}, None, run, few)

    def _key(self, name: str, *arguments: Any) -> str:
        """A digest of what a call is asked to do."""
        digest = hashlib.sha256(f"{self._engine.name} {name}".encode())
        for argument in arguments:
            for part in _flat(argument):
                digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
                digest.update(b";")
        return digest.hexdigest()[:32]

    def _in_stretches(
        self, key: str, begin: int, end: int, held: dict[str, Any], arrays: dict[str, NDArray[Any]], places: Any,
        run: Callable[[int, int], None], step: int | None = None,
    ) -> None:  # fmt: skip
        """begin .. end a step at a time, from where the journal knows; held arrays live where the engine wants them."""
        if places is not None:
            arrays = arrays | {"places": places}
        call, record = self._journal.begin(key)
        at = begin
        if record is not None:
            for name, array in arrays.items():
                array[...] = record.arrays[name]
            for name, where in held.items():
                self._engine.refill(where, record.arrays[name])
            at = end if record.final else record.at
        began = written = time.monotonic()
        while at < end:
            stop = min(end, at + (step or STRETCH))
            run(at, stop)
            at = stop
            now = time.monotonic()
            last = at >= end
            if (last and now - began > CHEAP) or now - written > EVERY:
                whole = arrays | {name: self._engine.fetch(where) for name, where in held.items()}
                self._journal.append(call, key, at, last, whole)
                written = time.monotonic()


def _flat(argument: Any) -> list[Any]:
    """Arrays and scalars of a table, however deep."""
    if isinstance(argument, tuple):
        return [part for inner in argument for part in _flat(inner)]
    return [np.ascontiguousarray(argument) if isinstance(argument, np.ndarray) else argument]
