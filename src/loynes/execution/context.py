"""The context in which a question is answered: where work is done, who watches, where it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from loynes.execution.chunks import Chunked
from loynes.execution.journal import Journal, Journalled
from loynes.execution.progress import PartProgress, Progress, silent
from loynes.execution.workers import Pool, Spread
from loynes.inputs.tables import JobTable
from loynes.kernels.backends import chosen, engine_of
from loynes.kernels.engine import Engine


@dataclass(frozen=True)
class Context:
    """Where work is done (`backend`, and workers if there is a pool), who watches it, and where it is recorded."""

    backend: str = "auto"
    progress: Progress = silent
    journal: Journal | None = None
    pool: Pool | None = None
    folder: Path | None = None  # of the run, for what is written besides

    @cached_property
    def engine(self) -> Engine:
        """The backend, with everything around it: a journal sees whole runs, progress the stretches of them."""
        engine: Engine = engine_of(self.backend) if self.pool is None else Spread(self.pool, self.backend)
        if self.progress is not silent:
            engine = Chunked(engine, self.progress)
        return engine if self.journal is None else Journalled(engine, self.journal)

    def notice(self, text: str) -> None:
        """Tell whoever watches now what the result will also say."""
        told = getattr(self.progress, "notice", None)
        if told is not None:
            told(text)

    def on(self, backend: str) -> Context:
        """The same on another backend."""
        return self if backend == self.backend else replace(self, backend=backend)

    def for_work(self, seconds: float, table: JobTable) -> Context:
        """The same with the backend that `auto` stands for, if the CPU would take about so many seconds."""
        return self.on(chosen(self.backend, seconds, table))

    def part(self, first: float, size: float, name: str = "") -> Context:
        """For a part of the work, which is `size` of the whole and begins when `first` of it is done."""
        if self.progress is silent:
            return self
        return replace(self, progress=PartProgress(self.progress, first, size, name))

    def recorded_in(self, journal: Journal | None, folder: Path | None = None) -> Context:
        """The same with a journal of its own, or none."""
        return replace(self, journal=journal, folder=folder)
