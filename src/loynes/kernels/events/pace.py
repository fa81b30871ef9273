"""How many events happen between two looks at whether to go on.

A compiled loop cannot be interrupted, and events take 50 ns or, where a policy plans for a long line, milliseconds. So
it is given a number of events at a time, as many as take a tenth of a second at the pace of the last ones. Where a loop
is cut changes nothing: the events are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from loynes.kernels.engine import Look

# Events to begin with: few enough for a line that is long from the beginning.
FIRST = 1 << 10
MOST = 1 << 40
# Seconds between two looks.
SECONDS = 0.1


def go_on() -> None:
    """The look of work that nothing ends but an interrupt."""


class Pace:
    """The numbers of events, for one thread; `look` ends the work by an exception."""

    def __init__(self, look: Look = go_on, clock: Callable[[], float] = time.perf_counter) -> None:
        self._look, self._clock = look, clock
        self._events, self._began = FIRST, 0.0

    def begin(self) -> int:
        """So many events may happen now."""
        self._look()
        self._began = self._clock()
        return self._events

    def end(self, left: int) -> None:
        """They did, but for so many."""
        took = max(self._clock() - self._began, 1e-9)
        self._events = int(min(max(SECONDS / took * (self._events - left), 1), MOST))
