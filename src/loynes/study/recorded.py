"""An engine that writes down what it has done, and on a second run does not do it again.

What a call's last record holds is all that is needed to go on with it. A run that begins again asks for the same calls
in the same order, and gets them from the journal until it reaches the point where it was stopped.
"""

from __future__ import annotations

import time
from typing import Any

from loynes.study.journal import Journal
from loynes.study.stretched import Call, StretchedEngine

# Seconds between records of a long call, and what is not worth a record.
EVERY = 30.0
CHEAP = 0.1


class RecordedEngine(StretchedEngine):
    """An engine with a journal."""

    def __init__(self, engine: Any, journal: Journal) -> None:
        super().__init__(engine)
        self._journal = journal

    def _do(self, call: Call) -> None:
        key = call.key(self._engine.name)
        number, record = self._journal.begin(key)
        at = call.begin
        if record is not None:
            for name, array in call.arrays.items():
                array[...] = record.arrays[name]
            for name, where in call.held.items():
                self._engine.refill(where, record.arrays[name])
            at = call.end if record.final else record.at
        began = written = time.monotonic()
        for reached in self._stretches(call, at):
            now, last = time.monotonic(), reached >= call.end
            if (last and now - began > CHEAP) or now - written > EVERY:
                whole = call.arrays | {name: self._engine.fetch(where) for name, where in call.held.items()}
                self._journal.append(number, key, reached, last, whole)
                written = time.monotonic()
