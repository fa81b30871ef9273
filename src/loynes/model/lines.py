"""Which line of a model file says what.

tomllib and json keep no lines, so the text is read once more for them, when there is something to complain of. The text
is known to be valid by then, and what is found must have exactly the places of what they read: where the two differ, no
line is better than a wrong one.
"""

from __future__ import annotations

import json
import re
import tomllib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator

# Keys and indices from the top of a document: ("classes", 0, "service", "mean").
Place = tuple[str | int, ...]
Lines = dict[Place, int]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
# Of a long string up to two more quotes belong to its contents.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\])*"' r"|'[^']*'", re.DOTALL
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\n]+")


# Longer texts would take more than a second: what is wrong with them is said without lines.
LONGEST = 1 << 19


def toml_lines(text: str, document: object) -> Lines:
    """The line of every key and entry of a TOML file."""
    return {} if len(text) > LONGEST else _agreed(_Toml(text), document)


def json_lines(text: str, document: object) -> Lines:
    """The line of every key and entry of a JSON file."""
    return {} if len(text) > LONGEST else _agreed(_Json(text), document)


def _agreed(reader: _Reader, document: object) -> Lines:
    try:
        reader.document()
        return reader.lines if set(reader.lines) == set(_places(document)) else {}
    except (ValueError, IndexError, RecursionError):
        return {}


def _places(value: object, place: Place = ()) -> Iterator[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*place, key)
        yield from _places(one, (*place, key))


class _Reader(ABC):
    """Goes through a text from value to value. Tables in braces and lists in brackets are alike in both formats."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: Lines = {}
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    @abstractmethod
    def document(self) -> None:
        """Fill `lines`."""

    @abstractmethod
    def key(self) -> list[str]:
        """The parts of the key that begins here."""

    @property
    def line(self) -> int:
        return bisect_left(self._breaks, self.at) + 1

    def past(self, pattern: re.Pattern[str]) -> str:
        """What matches here; goes on behind it."""
        match = pattern.match(self.text, self.at)
        if match is None:
            raise ValueError(f"line {self.line}: something else was expected")
        self.at = match.end()
        return match[0]

    def next(self) -> str:
        """The letter after blanks and comments; nothing at the end."""
        self.past(_BLANK)
        return self.text[self.at : self.at + 1]

    def entry(self, table: Place) -> None:
        """key = value, or "key": value."""
        line, parts = self.line, self.key()
        for depth in range(1, len(parts)):
            self.lines.setdefault((*table, *parts[:depth]), line)
        place = (*table, *parts)
        self.lines[place] = line
        self.next()
        self.at += 1  # the equals sign or the colon
        self.value(place)

    def value(self, place: Place) -> None:
        begin = self.next()
        if begin not in ("[", "{"):
            self.past(_STRING if begin in ('"', "'") else _PLAIN)
            return
        self.at += 1
        count = 0
        while (letter := self.next()) not in ("]", "}"):
            if letter == ",":
                self.at += 1
            elif begin == "{":
                self.entry(place)
            else:
                self.lines[*place, count] = self.line
                self.value((*place, count))
                count += 1
        self.at += 1


class _Json(_Reader):
    def document(self) -> None:
        self.value(())

    def key(self) -> list[str]:
        return [json.loads(self.past(_STRING))]


class _Toml(_Reader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._entries: dict[Place, int] = {}  # how many [[tables]] of a name there were

    def document(self) -> None:
        table: Place = ()
        while letter := self.next():
            if letter == "[":
                many = self.text.startswith("[[", self.at)
                table = self._header(many)
            else:
                self.entry(table)

    def _header(self, many: bool) -> Place:
        """The place of the table whose [header] or [[header]] begins here."""
        line = self.line
        self.at += 1 + many
        self.next()
        parts = self.key()
        self.next()
        self.at += 1 + many
        place: Place = ()
        for depth, part in enumerate(parts, start=1):
            place = (*place, part)
            self.lines.setdefault(place, line)
            if many and depth == len(parts):
                self._entries[place] = self._entries.get(place, 0) + 1
            if place in self._entries:
                place = (*place, self._entries[place] - 1)
                self.lines.setdefault(place, line)
        return place

    def key(self) -> list[str]:
        parts = []
        while True:
            quoted = self.next() in ('"', "'")
            word = self.past(_STRING if quoted else _BARE)
            parts.append(str(tomllib.loads(f"key = {word}")["key"]) if quoted else word)
            if self.next() != ".":
                return parts
            self.at += 1
