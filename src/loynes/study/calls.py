"""Calls of an engine that differ in name only, for engines that pass them on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.tally import Blockers, Heap

Done = Callable[[], None] | None
Ints = NDArray[np.int64]
Array = NDArray[np.float64]


class Calls(ABC):
    """Both kinds of piles are one call with a name, and so are both kinds of samples."""

    def run_pile(
        self, table: JobTable, needs: Needs, blockers: Blockers, seed: int, stream: int, begin: int, end: int, H: Any,
        heap: Heap, done: Done = None, workers: int | None = None, places: Any = None, first_replica: int = 0,
    ) -> None:  # fmt: skip
        asked = (table, needs, blockers, seed, stream, begin, end)
        self._pile("run_pile", asked, H, heap, done, workers, places, first_replica)

    def run_random_pile(
        self, table: JobTable, needs: Needs, blockers: Blockers, seed: int, stream: int, begin: int, end: int, H: Any,
        heap: Heap, done: Done = None, workers: int | None = None, places: Any = None, first_replica: int = 0,
    ) -> None:  # fmt: skip
        asked = (table, needs, blockers, seed, stream, begin, end)
        self._pile("run_random_pile", asked, H, heap, done, workers, places, first_replica)

    @abstractmethod
    def _pile(
        self, name: str, asked: tuple[Any, ...], H: Any, heap: Heap, done: Done, workers: int | None, places: Any,
        first: int,
    ) -> None:  # fmt: skip
        """Jobs asked[-2] .. asked[-1] - 1 of a pile."""

    def run_backward(
        self, table: JobTable, seed: int, stream: int, first_replica: int, initial: int, confirmations: int,
        longest: int, W: Array, length: Ints, doublings: Ints, done: Done = None, workers: int | None = None,
    ) -> None:  # fmt: skip
        options = (initial, confirmations, longest)
        self._samples(
            "run_backward", (table, seed, stream), first_replica, options, W, length, doublings, done, workers
        )

    def run_perfect(
        self, table: JobTable, seed: int, stream: int, first_replica: int, initial: int, longest: int, ceiling: float,
        rise: float, W: Array, length: Ints, doublings: Ints, done: Done = None, workers: int | None = None,
    ) -> None:  # fmt: skip
        options = (initial, longest, ceiling, rise)
        self._samples("run_perfect", (table, seed, stream), first_replica, options, W, length, doublings, done, workers)

    @abstractmethod
    def _samples(
        self, name: str, what: tuple[Any, ...], first: int, options: tuple[Any, ...], W: Array, length: Ints,
        doublings: Ints, done: Done, workers: int | None,
    ) -> None:  # fmt: skip
        """A sample a row of W, replicas first, first + 1, ..."""
