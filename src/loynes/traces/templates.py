"""Lines that mostly have the same words in the same places: a pattern is learnt from one, and tried on the next.

Taking a line apart word by word is slow; a pattern that says what is where is fast, and what it does not match is taken
apart after all, and is a pattern from then on.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Patterns that are tried before a line is taken apart; a file with more kinds of lines is read slowly, but rightly.
MOST_PATTERNS = 8

# What a line looks like: a pattern, and the group of each field (0: the line has none).
Learnt = tuple[str, tuple[int, ...]]


class Templates:
    """Fields of lines: by patterns so far as there is one, else by `apart`; `learn` makes a pattern of a line."""

    def __init__(self, apart: Callable[[str], list[str]], learn: Callable[[str], Learnt | None]) -> None:
        self._apart, self._learn = apart, learn
        self._patterns: list[tuple[Callable[[str], re.Match[str] | None], tuple[int, ...]]] = []

    def fields(self, line: str) -> tuple[str, ...] | list[str]:
        for match, groups in self._patterns:
            found = match(line)
            if found is not None:
                return found.group(*groups)
        fields = self._apart(line)
        learnt = self._learn(line)
        if learnt is not None:
            # The first group is empty, for what a line does not have.
            pattern, places = learnt
            self._patterns.insert(0, (re.compile("()" + pattern).fullmatch, tuple(place + 1 for place in places)))
            del self._patterns[MOST_PATTERNS:]
        return fields
