"""The context in which a question is answered: where work is done, who watches, where it is recorded, until when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from loynes.execution.chunks import Chunked
from loynes.execution.deadline import NEVER, Deadline
from loynes.execution.journal import Journal, Journalled
from loynes.execution.progress import PartProgress, Progress, silent
from loynes.execution.workers import Pool, Spread
from loynes.inputs.tables import JobTable
from loynes.kernels.backends import chosen, engine_of
from loynes.kernels.engine import Backend, Engine


@dataclass(frozen=True)
class Context:
    """Where work is done (`backend`, and workers if there is a pool), who watches, where it is recorded, until when."""

    backend: str = "auto"
    progress: Progress = silent
    journal: Journal | None = None
    pool: Pool | None = None
    folder: Path | None = None  # of the run, for what is written besides
    deadline: Deadline = NEVER

    @cached_property
    def engine(self) -> Engine:
        """The backend, with all around it: a journal sees whole runs, progress and deadline the stretches of them."""
        spread = None if self.pool is None else Spread(self.pool, self.backend, self.deadline)
        backend: Backend = spread or engine_of(self.backend)
        engine: Engine = backend
        if self.progress is not silent or self.deadline is not NEVER:
            engine = Chunked(backend, self.progress, self.deadline)
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

    def watched_by(self, other: Context) -> Context:
        """The same with another's progress, and with its own deadline."""
        return replace(self, progress=other.progress)

    def within(self, share: float) -> Context:
        """For a part of the work that may take this share of the time that is left, if time is what ends it."""
        return self._until(self.deadline.within(share))

    def unhurried(self) -> Context:
        """For work that is done whatever time it takes, unless somebody asks to stop."""
        return self._until(self.deadline.unhurried())

    def finishing(self) -> Context:
        """For the little that is left to do once the work has been stopped."""
        return self._until(NEVER)

    def _until(self, deadline: Deadline) -> Context:
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    def recorded_in(self, journal: Journal | None, folder: Path | None = None) -> Context:
        """The same with a journal of its own, or none."""
        return replace(self, journal=journal, folder=folder)
