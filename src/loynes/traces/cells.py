"""Files of lines with a mark between their fields, a million lines at a time: where every field begins and ends.

A field becomes a number or a word only when it is asked for, so that columns nobody uses cost nothing. Lines that are
not plain (other letters than ASCII, quotes, another number of fields) are taken apart one by one, by the format's rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from loynes.traces.ledger import Ledger
from loynes.traces.text import NOT_UTF_8
from loynes.traces.trace import Array

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

MOST_DIGITS = 15  # so many digits are exact in a double
_NEWLINE, _RETURN, _MINUS, _POINT, _ZERO, _QUOTE, _LETTERS = 10, 13, 45, 46, 48, 34, 128


# Words longer than this are compared as Python does.
MOST_LETTERS = 256
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# The letters that count of eight, by how many a word has.
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype="<u8")


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
    says which, and what each begins with, which is cut off; -1: plain lines do not have it. `apart` takes the text of a
    line that is not plain, and gives its (wanted) fields, or what is wrong with it and what would be right. Lines that
    hold only blanks do not count.
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
        wanted: Sequence[tuple[int, bytes]] | None = None,
    ) -> None:
        self.width, self.damaged = width, list[tuple[int, str, str]]()
        self._wanted = [(k, b"") for k in range(width)] if wanted is None else list(wanted)
        self._data, self._begin = data, begin
        letters = np.frombuffer(data, dtype=np.uint8)[begin:]
        self._marks, ends, stops = _places(data, marks, begin)
        first, starts = (np.concatenate([[0], last[:-1] + 1]).astype(np.int64)[: len(ends)] for last in (ends, stops))
        odd = ends - first + 1 != width
        if quotes:
            odd[np.searchsorted(stops, np.flatnonzero(letters == _QUOTE))] = True
        if not data.isascii():
            odd[np.searchsorted(stops, np.flatnonzero(letters >= _LETTERS))] = True
        if comment:
            odd |= letters[np.minimum(starts, len(letters) - 1)] == ord(comment)
        self._returns = b"\r" in data
        self._first, self._starts = first[~odd], starts[~odd]
        odd[np.flatnonzero(~odd)[~self._begin_right()]] = True
        regular = np.flatnonzero(~odd)
        self._first, self._starts = first[regular], starts[regular]
        self._extra = bytearray()
        self._odd: list[list[int]] = []
        others, self.records = [], len(regular)
        for i in np.flatnonzero(odd).tolist():
            text = self._text(begin + int(starts[i]), begin + int(stops[i]), ledger)
            if not text.strip() or (comment and text.startswith(comment)):
                continue
            self.records += 1
            fields = apart(text)
            if isinstance(fields, tuple):
                self.damaged.append((line + i, *fields))
            elif fields is not None:
                self._keep(fields)
                others.append(i)
        rows = np.concatenate([regular, np.array(others, dtype=np.int64)])
        self._order = np.argsort(rows, kind="stable") if others else None
        self.place = line + (rows if self._order is None else rows[self._order])
        self._whole = b"".join([data, self._extra, bytes(8)])

    def _begin_right(self) -> NDArray[np.bool_]:
        """Which lines have, in every wanted field, what it must begin with."""
        right = np.ones(len(self._first), dtype=np.bool_)
        if len(self._data) < 8 or not any(beginning for _, beginning in self._wanted):
            return right
        for k, beginning in self._wanted:
            if k < 0 or not beginning:
                continue
            begin, end = self._bounds(k)
            right &= end - begin >= len(beginning)
            for place in range(0, len(beginning), 8):
                part = beginning[place : place + 8]
                found = _eights(self._data, begin + (self._begin + place))
                right &= (found & _MASKS[len(part)]) == int.from_bytes(part, "little")
        return right

    def _text(self, begin: int, end: int, ledger: Ledger) -> str:
        piece = self._data[begin:end]
        try:
            return piece.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            text = piece.decode("utf-8", "replace").rstrip("\r")
            if text.strip():
                ledger.repair(NOT_UTF_8)
            return text

    def _keep(self, fields: list[str]) -> None:
        """Fields that were taken apart, written down behind the file."""
        bounds = [len(self._data) + len(self._extra)]
        for field in fields:
            self._extra += field.encode("utf-8", "replace")
            bounds.append(len(self._data) + len(self._extra))
        self._odd.append(bounds)

    def _bounds(self, k: int) -> tuple[Ints, Ints]:
        """Where a field of the plain lines begins and ends."""
        begin = self._starts if k == 0 else self._marks[self._first + (k - 1)] + 1
        return begin, self._marks[self._first + k]

    def column(self, i: int) -> Cells:
        """The i-th wanted field of every line that could be taken apart, in the file's order."""
        k, beginning = self._wanted[i]
        begin, end = (self._starts, self._starts) if k < 0 else self._bounds(k)
        if k == self.width - 1 and self._returns and len(end):
            letters = np.frombuffer(self._data, dtype=np.uint8)[self._begin :]
            while (ended := (end > begin) & (letters[np.maximum(end - 1, 0)] == _RETURN)).any():
                end = end - ended
        begin, end = begin + self._begin + (len(beginning) if k >= 0 else 0), end + self._begin
        if self._order is not None:
            bounds = np.array(self._odd, dtype=np.int64).reshape(-1, len(self._wanted) + 1)
            begin = np.concatenate([begin, bounds[:, i]])[self._order]
            end = np.concatenate([end, bounds[:, i + 1]])[self._order]
        return Cells(self._whole, begin, end)


def _places(data: bytes, marks: str, begin: int) -> tuple[Ints, Ints, Ints]:
    """Where marks and line ends are, which of these are line ends, and where."""
    table = bytearray(256)
    for mark in marks.encode():
        table[mark] = 1
    table[_NEWLINE] = 1
    size = len(data) - begin
    places = np.flatnonzero(np.frombuffer(data.translate(bytes(table)), dtype=np.bool_)[begin:])
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8)[begin:][places] == _NEWLINE)
    if size and data[-1] != _NEWLINE:  # the last line ends with the file
        ends, places = np.append(ends, len(places)), np.append(places, size)
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
