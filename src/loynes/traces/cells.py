"""Files of lines with a mark between their fields, a million lines at a time: where every field begins and ends.

A field becomes a number or a word only when it is asked for, so that columns nobody uses cost nothing. Lines that are
not plain (other letters than ASCII, quotes, another number of fields) are taken apart one by one, by the format's rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.ledger import Ledger
from loynes.traces.text import NOT_UTF_8

Bytes = NDArray[np.uint8]

PIECE = 1 << 19  # bytes at a time
ROWS = 1 << 13  # words at a time
MOST_DIGITS = 15  # so many digits are exact in a double
_NEWLINE, _RETURN, _MINUS, _POINT, _ZERO, _QUOTE, _LETTERS = 10, 13, 45, 46, 48, 34, 128


# Words longer than this are compared as Python does.
MOST_LETTERS = 256
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# The letters that count of eight, by how many a word has.
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype="<u8")


_UP_TO = np.arange(PIECE)


class Cells(Sequence[str]):
    """One field of every line: a column of words that are not cut out yet. `data` goes on eight bytes longer."""

    def __init__(self, data: bytes, begin: Ints, end: Ints) -> None:
        self._data, self._bytes = data, np.frombuffer(data, dtype=np.uint8)
        self._begin, self._end = begin, end
        self._codes: tuple[Ints, Ints] | None = None

    def __len__(self) -> int:
        return len(self._begin)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        if isinstance(i, slice):
            return Cells(self._data, self._begin[i], self._end[i])
        return self._data[int(self._begin[i]) : int(self._end[i])].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        code, first = self.codes()
        words = [self[i] for i in first.tolist()]
        return map(words.__getitem__, code.tolist())

    def codes(self) -> tuple[Ints, Ints]:
        """Equal words have the same number, from 0; and the first row of each."""
        if self._codes is None:
            self._codes = self._numbered()
        return self._codes

    def _numbered(self) -> tuple[Ints, Ints]:
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        if longest <= MOST_LETTERS:
            value = lengths.astype(np.uint64)
            for place in range(0, longest, 8):
                value = (value ^ self._eight(place)) * _FACTOR
                value ^= value >> np.uint64(29)
            _, first, code = np.unique(value, return_index=True, return_inverse=True)
            code = code.reshape(-1)
            # That no two words happen to share a value is looked at, not hoped for.
            like = self.at(first[code])
            if np.array_equal(like.lengths, lengths) and all(
                np.array_equal(like._eight(place), self._eight(place)) for place in range(0, longest, 8)
            ):
                return code.astype(np.int64), first.astype(np.int64)
        number_of: dict[str, int] = {}
        found = [number_of.setdefault(self[i], len(number_of)) for i in range(len(self))]
        code = np.array(found, dtype=np.int64)
        return code, np.unique(code, return_index=True)[1].astype(np.int64)

    def _eight(self, place: int) -> NDArray[np.uint64]:
        """Eight letters of every word from a place on, 0 beyond its end, as one number."""
        left = np.clip(self.lengths - place, 0, 8)
        return np.asarray(_eights(self._data, self._begin + place) & _MASKS[left], dtype=np.uint64)

    def holds(self, letter: str) -> NDArray[np.bool_]:
        """Which words have a letter in them."""
        found = np.flatnonzero(self._bytes == ord(letter))
        return np.asarray(np.searchsorted(found, self._begin) < np.searchsorted(found, self._end))

    def numbers(self) -> tuple[Array, NDArray[np.bool_]]:
        """Plain numbers, digits with a sign or a point, and which are such; 0 where not."""
        return numbers_in(self._bytes, self._begin, self._end)

    def at(self, rows: Ints) -> Cells:
        """The words of these rows alone."""
        return Cells(self._data, self._begin[rows], self._end[rows])

    def parts(self, mark: str, count: int, ledger: Ledger) -> list[Cells]:
        """So many parts of every word, between marks; what a word does not have is empty."""
        pieces = []
        for row in range(0, len(self), ROWS):
            begin, end = self._begin[row : row + ROWS], self._end[row : row + ROWS]
            lengths = end - begin
            lines = np.full(int(lengths.sum()) + 2 * len(begin), _NEWLINE, dtype=np.uint8)
            there = np.cumsum(lengths + 2) - (lengths + 2)
            lines[there] = ord("x")  # no line is blank
            lines[_each(there + 1, lengths)] = self._bytes[_each(begin, lengths)]
            pieces.append(lines.tobytes())
        width = max(count, self[0].count(mark) + 1) if len(self) else count  # as most have, probably
        found = Lines(b"".join(pieces), mark, width, lambda text: (text.split(mark) + [""] * width)[:width], ledger)
        first, *others = (found.column(i) for i in range(count))
        return [Cells(first._data, first._begin + 1, first._end), *others]

    @property
    def lengths(self) -> Ints:
        return self._end - self._begin

    def letters(self, rows: Ints, width: int) -> NDArray[np.uint8]:
        """The letters of words that have so many: all first ones, all second ones, ..."""
        begin = self._begin[rows]
        return np.array([self._bytes[begin + place] for place in range(width)])


def _eights(data: bytes, begin: Ints) -> NDArray[np.uint64]:
    """Eight bytes from each of these places on, as one number; where the file ends before, those before its end."""
    every = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    return np.asarray(every[np.minimum(begin, len(every) - 1)], dtype=np.uint64)


def numbers_in(data: Bytes, begin: Ints, end: Ints) -> tuple[Array, NDArray[np.bool_]]:
    """Numbers that are written in plain digits between these places, with a sign or a point, and which are such.

    A whole number of so few digits divided by a power of ten is the double that is closest to the decimal.
    """
    if len(begin) == 0 or len(data) == 0:
        return np.zeros(len(begin)), np.zeros(len(begin), dtype=np.bool_)
    last = len(data) - 1
    negative = (data[np.minimum(begin, last)] == _MINUS) & (end > begin)
    start = begin + negative
    length = end - start
    plain = (length > 0) & (length <= MOST_DIGITS)
    value = np.zeros(len(start), dtype=np.int64)
    after = np.full(len(start), -1, dtype=np.int64)  # digits after the point; -1: there is none
    points, shortest = False, int(length.min())
    for place in range(int(length[plain].max(initial=0))):
        letter = data[np.minimum(start + place, last)]
        digit = letter - np.uint8(_ZERO)  # beyond 9 for whatever is no digit
        is_digit = digit <= 9
        if place < shortest and not points and is_digit.all():
            value *= 10
            value += digit
            continue
        here = place < length
        wrong = here & ~is_digit
        if wrong.any():
            point = wrong & (letter == _POINT) & (after < 0) & (length > 1)
            plain &= ~(wrong & ~point)
            after[point] = 0
            points = points or bool(point.any())
        counted = here & is_digit
        value = np.where(counted, 10 * value + digit, value)
        if points:
            after += counted & (after >= 0)
    result = np.where(negative, -value, value).astype(np.float64)
    if points:
        result /= 10.0 ** np.maximum(after, 0)
    return np.where(plain, result, 0.0), plain


class Lines:
    """The lines of a file from a place on, and their fields.

    Between fields is any of the `marks`; a plain line has `width` fields. Where not all of them are wanted, `wanted`
    says which, and what each begins with, which is cut off; -1: plain lines do not have it. Fields that are listed in
    `exactly` are what is said there, in plain lines. `apart` takes the text of a
    line that is not plain, and gives its (wanted) fields, or what is wrong with it and what would be right, or nothing
    if it has counted the line itself. Lines with something `peculiar` in them are not plain. Lines that hold only
    blanks do not count.

    The file is read in pieces that stay in the processor's cache, and of each the wanted fields are kept, column by
    column: whatever is done with a column later goes through memory in order.
    """

    def __init__(
        self,
        data: bytes,
        marks: str,
        width: int,
        apart: Callable[[str], list[str] | tuple[str, str] | None],
        ledger: Ledger,
        *,
        begin: int = 0,
        line: int = 1,
        quotes: bool = False,
        comment: str = "",
        peculiar: bytes = b"",
        wanted: Sequence[tuple[int, bytes]] | None = None,
        exactly: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        self._exactly = exactly
        self._marks, self._width, self._apart, self._ledger = marks, width, apart, ledger
        self._quotes, self._comment, self._peculiar = quotes, comment, peculiar
        self._wanted = [(k, b"") for k in range(width)] if wanted is None else list(wanted)
        self.records, self.damaged = 0, list[tuple[int, str, str]]()
        self._kept: list[list[bytes]] = [[] for _ in self._wanted]
        self._lengths: list[list[Ints]] = [[] for _ in self._wanted]
        places = [np.empty(0, dtype=np.int64)]
        while begin < len(data):
            end = data.find(b"\n", begin + PIECE) + 1 or len(data)
            places.append(self._read(data[begin:end], line))
            line += data.count(b"\n", begin, end)
            begin = end
        self.place = np.concatenate(places)

    def column(self, i: int) -> Cells:
        """The i-th wanted field of every line that could be taken apart, in the file's order."""
        lengths = np.concatenate([np.empty(0, dtype=np.int64), *self._lengths[i]])
        end = np.cumsum(lengths)
        return Cells(b"".join([*self._kept[i], bytes(8)]), end - lengths, end)

    def _read(self, data: bytes, line: int) -> Ints:
        """Keep the fields of a piece of the file, whose first line has this number; the numbers of its lines."""
        letters = np.frombuffer(data, dtype=np.uint8)
        marks, ends, stops = _places(data, self._marks)
        first, starts = (np.concatenate([[0], last[:-1] + 1]).astype(np.int64)[: len(ends)] for last in (ends, stops))
        odd = ends - first + 1 != self._width
        if self._quotes:
            odd[np.searchsorted(stops, np.flatnonzero(letters == _QUOTE))] = True
        if not data.isascii():
            odd[np.searchsorted(stops, np.flatnonzero(letters >= _LETTERS))] = True
        if self._comment:
            odd |= letters[np.minimum(starts, len(letters) - 1)] == ord(self._comment)
        if self._peculiar and self._peculiar in data:
            found = [match.start() for match in re.finditer(re.escape(self._peculiar), data)]
            odd[np.searchsorted(stops, found)] = True
        bounds = self._bounds(data + bytes(8), marks, first, starts, odd)
        regular = np.flatnonzero(~odd)
        others, extra, written = list[int](), bytearray(), list[list[int]]()
        for i in np.flatnonzero(odd).tolist():
            fields = self._fields(data[int(starts[i]) : int(stops[i])], line + i)
            if fields is not None:
                # Fields that were taken apart are written down behind the piece.
                places = [len(data) + len(extra)]
                for field in fields:
                    extra += field.encode("utf-8", "replace")
                    places.append(len(data) + len(extra))
                written.append(places)
                others.append(i)
        self.records += len(regular)
        rows = np.concatenate([regular, np.array(others, dtype=np.int64)])
        order = np.argsort(rows, kind="stable") if others else None
        whole = np.frombuffer(data + bytes(extra), dtype=np.uint8) if extra else letters
        apart = np.array(written, dtype=np.int64).reshape(-1, len(self._wanted) + 1)
        for i, (begin, end) in enumerate(bounds):
            begin, end = begin[regular], end[regular]
            if order is not None:
                begin = np.concatenate([begin, apart[:, i]])[order]
                end = np.concatenate([end, apart[:, i + 1]])[order]
            lengths = end - begin
            self._kept[i].append(whole[_each(begin, lengths)].tobytes())
            self._lengths[i].append(lengths)
        return line + (rows if order is None else rows[order])

    def _bounds(
        self, data: bytes, marks: Ints, first: Ints, starts: Ints, odd: NDArray[np.bool_]
    ) -> list[tuple[Ints, Ints]]:
        """Where every wanted field begins and ends, of all lines; those are odd that do not begin as they must."""
        found = []
        for k, text in self._exactly:
            begin, end = self._field(k, data, marks, first, starts)
            odd |= (end - begin != len(text)) | ~_begin_with(text, data, begin)
        for k, beginning in self._wanted:
            begin, end = self._field(k, data, marks, first, starts)
            if k >= 0 and beginning:
                odd |= (end - begin < len(beginning)) | ~_begin_with(beginning, data, begin)
                begin = begin + len(beginning)
            found.append((begin, end))
        return found

    def _field(self, k: int, data: bytes, marks: Ints, first: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """Where the k-th field of every line would begin and end, were all lines plain."""
        if k < 0:
            return starts, starts
        most = len(marks) - 1
        begin = starts if k == 0 else marks[np.minimum(first + (k - 1), most)] + 1
        end = marks[np.minimum(first + k, most)]
        if k == self._width - 1:
            letters = np.frombuffer(data, dtype=np.uint8)
            while (ended := (end > begin) & (letters[np.maximum(end - 1, 0)] == _RETURN)).any():
                end = end - ended
        return begin, end

    def _fields(self, piece: bytes, line: int) -> list[str] | None:
        """The fields of a line that is not plain, if it has any."""
        text = piece.decode("utf-8", "replace").rstrip("\r")
        if not text.strip():
            return None
        if "\N{REPLACEMENT CHARACTER}" in text and not _is_utf_8(piece):
            self._ledger.repair(NOT_UTF_8)
        if self._comment and text.startswith(self._comment):
            return None
        self.records += 1
        fields = self._apart(text)
        if isinstance(fields, tuple):
            self.damaged.append((line, *fields))
            return None
        return fields


def _each(begin: Ints, lengths: Ints) -> Ints:
    """The places of all letters of words that begin there and have so many."""
    places = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)
    places += _UP_TO[: len(places)] if len(places) <= len(_UP_TO) else np.arange(len(places))
    return places


def _begin_with(text: bytes, data: bytes, begin: Ints) -> NDArray[np.bool_]:
    """At which places a text is, if so much is left there."""
    right = np.ones(len(begin), dtype=np.bool_)
    for place in range(0, len(text), 8):
        part = text[place : place + 8]
        right &= (_eights(data, begin + place) & _MASKS[len(part)]) == int.from_bytes(part, "little")
    return right


def _places(data: bytes, marks: str) -> tuple[Ints, Ints, Ints]:
    """Where marks and line ends are, which of these are line ends, and where."""
    table = bytearray(256)
    for mark in marks.encode():
        table[mark] = 1
    table[_NEWLINE] = 1
    places = np.flatnonzero(np.frombuffer(data.translate(bytes(table)), dtype=np.bool_))
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8)[places] == _NEWLINE)
    if data and data[-1] != _NEWLINE:  # the last line ends with the file
        ends, places = np.append(ends, len(places)), np.append(places, len(data))
    return places, ends, places[ends]


def header_of(data: bytes, ledger: Ledger) -> tuple[int, str, int]:
    """Number and text of the first line that is not blank, and where the next one begins."""
    begin, line = 0, 1
    while begin < len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        piece = data[begin:end]
        text = piece.decode("utf-8", "replace").rstrip("\r")
        if text.strip():
            if "\N{REPLACEMENT CHARACTER}" in text and not _is_utf_8(piece):
                ledger.repair(NOT_UTF_8)
            return line, text, min(end + 1, len(data))
        begin, line = end + 1, line + 1
    raise ledger.error("is empty")


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
