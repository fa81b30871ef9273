"""Progress on standard error: a bar on a terminal, a line now and then elsewhere, nothing with --quiet."""

from __future__ import annotations

import sys
import time
import warnings as python_warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from loynes.errors import LoynesWarning
from loynes.execution.progress import Progress, silent

# Seconds between lines where there is no terminal.
LINE_EVERY = 10.0


@contextmanager
def watching(title: str, folder: str | None = None, quiet: bool = False) -> Iterator[Progress]:
    """Something that shows progress. An interrupt ends the program, and says what is safe."""
    with python_warnings.catch_warnings():
        # Warnings are part of the result, which prints them.
        python_warnings.simplefilter("ignore", LoynesWarning)
        try:
            with _shown(title, quiet) as progress:
                yield progress
        except KeyboardInterrupt:
            safe = (
                f"what was done is in {folder}; go on with: loynes resume {folder}" if folder else "nothing was written"
            )
            print(f"loynes: interrupted; {safe}", file=sys.stderr)
            raise SystemExit(130) from None


@contextmanager
def asking(
    title: str, folder: str | None, *, quiet: bool, cluster: str | None, workers: int | None
) -> Iterator[tuple[Progress, object]]:
    """Who shows the progress of a question, and whose workers answer it."""
    from loynes.execution.cluster import cluster as client_of

    with watching(title, folder, quiet) as progress, client_of(cluster, workers) as executor:
        yield progress, executor


def _shown(title: str, quiet: bool) -> AbstractContextManager[Progress]:
    if quiet:
        return nullcontext(silent)
    return _bar(title) if sys.stderr.isatty() else nullcontext(Lines(title))


class Watch:
    """How far the work is, how fast it goes, and how long it will take; whoever shows it says how."""

    def __init__(self) -> None:
        self.text = "compiling"
        self.jobs = 0
        self._began: float | None = None
        self._share = 0.0
        self._jobs_then = 0

    def __call__(self, share: float, text: str) -> None:
        self._share, self.text, self._jobs_then = share, text, self.jobs
        self.show()

    def simulated(self, jobs: int) -> None:
        """Jobs were simulated: what the share was when it was last said has grown with them."""
        if self._began is None:
            self._began = time.monotonic()  # the first jobs wait for the compiler
        else:
            self.jobs += jobs
        self.show()

    def notice(self, text: str) -> None:
        """What should be known before the end, in a line of its own."""
        print(f"loynes: {text}", file=sys.stderr, flush=True)

    def show(self) -> None:
        """Called whenever something is known."""

    @property
    def share(self) -> float:
        grown = self.jobs / self._jobs_then if self._jobs_then else 1.0
        return min(self._share * grown, max(self._share, 0.99))

    @property
    def rate(self) -> float:
        """Jobs a second."""
        passed = 0.0 if self._began is None else time.monotonic() - self._began
        return self.jobs / passed if passed else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go, if the work goes on like this."""
        share, rate = self.share, self.rate
        return self.jobs * (1.0 / share - 1.0) / rate if share and rate else None

    @property
    def pace(self) -> str:
        """The rate and the time left, in words."""
        words = [f"{_count(self.rate)} jobs/s"] if self.rate else []
        if self.left is not None and self.share < 1:
            words.append(f"about {_duration(self.left)} left")
        return ", ".join(words)


class Lines(Watch):
    """A plain line now and then, for logs."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title, self._last = title, time.monotonic()

    def show(self) -> None:
        if time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            words = [f"{self.share:.0%}", self.text, *filter(None, [self.pace])]
            print(f"loynes: {self._title}: {', '.join(words)}", file=sys.stderr, flush=True)


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[title]}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[pace]}", style="dim", markup=False),
    )
    with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("compiling", total=1.0, title=title, pace="")

        class Shown(Watch):
            def notice(self, text: str) -> None:
                bar.console.print(f"loynes: {text}", markup=False, highlight=False)

            def show(self) -> None:
                bar.update(task, completed=self.share, description=self.text, pace=self.pace)

        yield Shown()


def _count(number: float) -> str:
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:.0f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
