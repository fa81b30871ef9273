"""Progress on standard error: a bar on a terminal, a line now and then elsewhere, nothing with --quiet."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings as python_warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, NamedTuple

from loynes.errors import LoynesWarning
from loynes.execution.deadline import NEVER, Deadline
from loynes.execution.progress import Progress, duration, silent
from loynes.readable import readable

# Seconds between lines where there is no terminal.
LINE_EVERY = 10.0
# The pace is that of the last seconds, at least so many, or of this part of all.
RECENT, RECENT_PART = 5.0, 0.3
# The time left is told from this share, and so many seconds, on.
KNOWN_SHARE, KNOWN_SECONDS = 0.02, 3.0
# What all kernels of a question take to compile, to an order.
COMPILING = "compiling, once: about 10 s"
SHORTEST_BAR, LONGEST_BAR = 10, 40


@contextmanager
def watching(
    title: str, folder: str | None = None, quiet: bool = False, deadline: Deadline = NEVER
) -> Iterator[Progress]:
    """Something that shows progress. An interrupt asks the deadline, if there is one, to end the work; a second one, or
    one that finds nothing known yet, ends the program, and says what is safe."""
    with python_warnings.catch_warnings():
        # Warnings are part of the result, which prints them.
        python_warnings.simplefilter("ignore", LoynesWarning)
        try:
            with _shown(title, quiet, deadline) as progress, _answering(deadline, progress):
                yield progress
        except KeyboardInterrupt:
            safe = f"what was done is in {folder}; go on with: loynes resume {folder}" if folder else _NOTHING
            print(readable(f"loynes: interrupted; {safe}"), file=sys.stderr)
            raise SystemExit(130) from None


_NOTHING = "nothing is known yet, nothing was written"


@contextmanager
def asking(
    title: str, folder: str | None, *, quiet: bool, cluster: str | None, workers: int | None, deadline: Deadline = NEVER
) -> Iterator[tuple[Progress, object]]:
    """Who shows the progress of a question, and whose workers answer it."""
    from loynes.execution.cluster import cluster as client_of

    with watching(title, folder, quiet, deadline) as progress, client_of(cluster, workers) as executor:
        yield progress, executor


@contextmanager
def _answering(deadline: Deadline, progress: Progress) -> Iterator[None]:
    """The first interrupt asks the work to end with what is known; the second is one."""
    if deadline is NEVER or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        if deadline.asked:
            raise KeyboardInterrupt
        deadline.stop()
        stopping: Callable[[], None] | None = getattr(progress, "stopping", None)
        if stopping is not None:
            stopping()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _shown(title: str, quiet: bool, deadline: Deadline) -> AbstractContextManager[Progress]:
    if quiet:
        return nullcontext(silent)
    return _bar(title, deadline) if sys.stderr.isatty() else nullcontext(Lines(title, deadline))


class Moment(NamedTuple):
    """How far the work was at a time."""

    time: float
    share: float
    jobs: int


class Watch:
    """How far the work is, how fast it goes, and how long it will take; whoever shows it says how.

    The share is what those who work say (work done over work expected), grown since then with the jobs simulated, or
    the part of the time that has passed where time is limited. It never goes back: where more work turns out to be
    needed, it waits. Time in which kernels are compiled does not count. The pace is that of the last seconds.
    """

    def __init__(self, deadline: Deadline = NEVER, clock: Callable[[], float] = time.monotonic) -> None:
        self.jobs = 0
        self._deadline, self._clock = deadline, clock
        self._text, self._told, self._jobs_then, self._share = "starting", 0.0, 0, 0.0
        self._began = clock()
        self._compiled, self._compiles_since = 0.0, None  # seconds so far, and since when now
        self._stopping = False
        self._moments: deque[Moment] = deque([Moment(0.0, 0.0, 0)])

    _compiles_since: float | None

    def __call__(self, share: float, text: str) -> None:
        self._told, self._text, self._jobs_then = max(share, self._told), text, self.jobs
        self._notice()

    def simulated(self, jobs: int) -> None:
        """Jobs were simulated: what the share was when it was last said has grown with them."""
        self.jobs += jobs
        self._notice()

    def compiling(self, begins: bool) -> None:
        """Kernels are compiled from now on, or until now."""
        if begins:
            self._compiles_since = self._clock()
        elif self._compiles_since is not None:
            self._compiled += self._clock() - self._compiles_since
            self._compiles_since = None
            return
        self.show()

    def stopping(self) -> None:
        """Somebody asked to stop."""
        self._stopping = True
        self.show()

    def announce(self, text: str) -> None:
        """Something to be read whatever comes after it."""

    def notice(self, text: str) -> None:
        """What should be known before the end."""
        self.announce(text)

    def show(self) -> None:
        """Called whenever something is known."""

    def _notice(self) -> None:
        now = self.seconds
        if now - self._moments[-1].time > 0.2:
            self._moments.append(Moment(now, self.share, self.jobs))
            recent = max(RECENT, RECENT_PART * now)
            while len(self._moments) > 2 and self._moments[1].time <= now - recent:
                self._moments.popleft()
        self.show()

    @property
    def seconds(self) -> float:
        """Since the work began, without the time that compiling took."""
        now = self._clock() if self._compiles_since is None else self._compiles_since
        return now - self._began - self._compiled

    @property
    def text(self) -> str:
        if self._stopping:
            return "stopping (Ctrl-C again: at once)"
        return COMPILING if self._compiles_since is not None else self._text

    @property
    def share(self) -> float:
        grown = self._told * (self.jobs / self._jobs_then if self._jobs_then else 1.0)
        share = min(grown, 0.5 * (1.0 + self._told), max(self._told, 0.99))
        if self._deadline.seconds is not None and not self._deadline.asked:
            share = max(share, min(1.0 - self._deadline.left / self._deadline.seconds, 0.99))
        self._share = max(self._share, share)
        return self._share

    @property
    def rate(self) -> float:
        """Jobs a second, of late."""
        then, passed = self._moments[0], self.seconds - self._moments[0].time
        if self._compiles_since is not None or passed < 0.5:
            return 0.0
        return (self.jobs - then.jobs) / passed

    @property
    def left(self) -> float | None:
        """Seconds to go, if the work goes on like this; None where that cannot be told yet."""
        limit = None if self._deadline.seconds is None else self._deadline.left
        then, passed = self._moments[0], self.seconds - self._moments[0].time
        gained = self.share - then.share
        if self.share < KNOWN_SHARE or self.seconds < KNOWN_SECONDS or gained <= 0.0 or passed <= 0.0:
            return limit
        left = (1.0 - self.share) * passed / gained
        return left if limit is None else min(left, limit)

    @property
    def pace(self) -> tuple[str, str]:
        """The time left, and the rate, in words."""
        left = self.left if self.share < 1 and not self._stopping else None
        return (
            "" if left is None else f"about {duration(max(left, 1.0))} left",
            f"{_count(self.rate)} jobs/s" if self.rate else "",
        )


class Lines(Watch):
    """A plain line now and then, for logs."""

    def __init__(self, title: str, deadline: Deadline = NEVER) -> None:
        super().__init__(deadline)
        self._title, self._last = title, time.monotonic()

    def show(self) -> None:
        if time.monotonic() - self._last >= LINE_EVERY:
            self._last = time.monotonic()
            self._print([f"{int(100 * self.share + 1e-9)}%", self.text, *filter(None, self.pace)])

    def announce(self, text: str) -> None:
        self._print([text])

    def stopping(self) -> None:
        super().stopping()
        self._print([self.text])

    def _print(self, words: list[str]) -> None:
        print(readable(f"loynes: {self._title}: {', '.join(words)}"), file=sys.stderr, flush=True)


class Line(NamedTuple):
    """The parts of a bar's line that there is room for, and how long the bar is."""

    before: str
    bar: int
    after: str


def fitted(width: int, title: str, share: float, elapsed: str, text: str, left: str, rate: str) -> Line:
    """As much as fits into a line: the bar, share and time first, then the time left, the text (short if need be), the
    rate, and the title, of which a part may do."""
    always = f"{int(100 * share + 1e-9):3d}% {elapsed}"
    short = title.rpartition(": ")[2]
    for head, words in ((title, (text, left, rate)), (title, (text, left)), (short, (text, left)), ("", (text, left))):
        after = "  ".join(filter(None, (always, *words)))
        bar = width - len(after) - len(head) - (2 if head else 1)
        if bar >= SHORTEST_BAR:
            return Line(head, min(bar, LONGEST_BAR), after)
    room = width - SHORTEST_BAR - 1 - len("  ".join(filter(None, (always, left)))) - 2
    words = (f"{text[: room - 1]}…" if room > 1 else "", left)
    after = "  ".join(filter(None, (always, *words)))
    return Line("", max(SHORTEST_BAR, width - len(after) - 1), after[: max(width - SHORTEST_BAR - 1, 0)])


class Bar(Watch):
    """A line at the bottom of a terminal."""

    def __init__(self, title: str, deadline: Deadline, say: Callable[[str], None]) -> None:
        super().__init__(deadline)
        self._title, self._say = readable(title), say

    def announce(self, text: str) -> None:
        self._say(readable(f"{self._title}: {text}"))

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        passed = int(self._clock() - self._began)
        elapsed = f"{passed // 3600}:{passed // 60 % 60:02d}:{passed % 60:02d}"
        # One column is left free: some terminals break a line that fills the last.
        line = fitted(options.max_width - 1, self._title, self.share, elapsed, readable(self.text), *self.pace)
        grid = Table.grid(padding=(0, 1, 0, 0))
        cells: list[Any] = [
            ProgressBar(total=1.0, completed=self.share, width=line.bar),
            Text(line.after, no_wrap=True),
        ]
        grid.add_row(*([Text(line.before, no_wrap=True)] if line.before else []), *cells)
        yield grid


@contextmanager
def _bar(title: str, deadline: Deadline) -> Iterator[Progress]:
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stderr)
    bar = Bar(title, deadline, lambda text: console.print(text, highlight=False, markup=False))
    with Live(bar, console=console, transient=True, refresh_per_second=5):
        yield bar


def _count(number: float) -> str:
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:.0f}"
