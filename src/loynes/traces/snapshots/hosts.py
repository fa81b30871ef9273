"""Names of nodes as Slurm writes them: node[01-04,07],gpu1, also rack[1-2]n[0-3]."""

from __future__ import annotations

import itertools
import re

# A job on more nodes than this: its nodes are not read.
MOST_HOSTS = 100_000
# Digits of a node's number.
MOST_DIGITS = 18
_PART = re.compile(r"[^,\[\]]*(?:\[[\d,\-]*\][^,\[\]]*)*")
_RANGE = re.compile(r"\[([\d,\-]*)\]")


def hosts_of(text: str) -> tuple[str, ...]:
    """The nodes of a list, in its order; none where it cannot be read, or says nothing."""
    found: list[str] = []
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None or part.end() == place:
            return ()
        for name in _spelled(part[0]):
            found.append(name)
            if len(found) > MOST_HOSTS:
                return ()
        place = part.end()
        if place < len(text):
            if text[place] != ",":
                return ()
            place += 1
    return tuple(dict.fromkeys(found))


def _spelled(part: str) -> list[str]:
    """All names of one part; ranges keep their leading zeros."""
    pieces: list[list[str]] = []
    count = 1
    for i, piece in enumerate(_RANGE.split(part.strip())):
        pieces.append([piece] if i % 2 == 0 else _numbers(piece))
        count *= len(pieces[-1])
        if count > MOST_HOSTS:
            return [""] * (MOST_HOSTS + 1)
    return ["".join(names) for names in itertools.product(*pieces)]


def _numbers(text: str) -> list[str]:
    numbers: list[str] = []
    for one in text.split(","):
        first, dash, last = one.partition("-")
        if not dash:
            numbers.append(first)
            continue
        if not (first.isdecimal() and last.isdecimal()) or max(len(first), len(last)) > MOST_DIGITS:
            return []
        if int(last) - int(first) + len(numbers) > MOST_HOSTS:
            return [""] * (MOST_HOSTS + 1)
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return numbers
