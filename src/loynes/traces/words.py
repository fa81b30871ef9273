"""Columns of words as numbers: a million at a time, so far as they are written as logs mostly write them.

Every function gives an array with NaN where a log has nothing to say, and which words could not be read at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.traces.cells import Cells
from loynes.traces.times import NOTHING, duration, number, stamp

Words = Sequence[str] | NDArray[Any]
Bad = NDArray[np.bool_]

STAMP = 19  # letters of 2024-03-01T12:00:00
_DIGITS = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18]
_MIB = {"k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20, "p": 2.0**30, "e": 2.0**40}
_SIZE = re.compile(r"([0-9]*\.?[0-9]+(?:[eE][+]?[0-9]+)?)\s*([kmgtpe]?)(i?)(b?|w?)", re.IGNORECASE)


def numbers_of(words: Words) -> tuple[Array, Bad]:
    return _converted(words, number)


def durations_of(words: Words) -> tuple[Array, Bad]:
    """Seconds, of plain numbers or [DD-]HH:MM:SS."""
    return _converted(words, duration)


def sizes_of(words: Words, plain: float = 1.0) -> tuple[Array, Bad]:
    """Mebibytes; a number without a letter is so many of them."""
    values, bad = _converted(words, lambda word: mebibytes(word, plain), by_word=True)
    return values, bad


def mebibytes(text: str, plain: float = 1.0) -> float:
    """Mebibytes of 16G, 500M, 3.5gb, 1Gi: logs of schedulers count in powers of two; a plain number is as told."""
    text = text.strip()
    if text.lower() in NOTHING:
        return math.nan
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a size: {text}")
    value, letter = float(match[1]), match[2].lower()
    if letter:
        return value * _MIB[letter]
    return value * 2.0**-20 if match[4].lower() == "b" else value * plain


def _converted(words: Words, reader: Callable[[str], float], by_word: bool = False) -> tuple[Array, Bad]:
    if isinstance(words, Cells) and not by_word:
        values, plain = words.numbers()
        others = np.flatnonzero(~plain)
        bad = np.zeros(len(values), dtype=np.bool_)
        values[others], bad[others] = by_distinct_word(words.at(others), reader)
        return values, bad
    known = None if by_word else _as_array(words)
    if known is not None:
        return known, np.zeros(len(known), dtype=np.bool_)
    return by_distinct_word(_texts(words), reader)


def _as_array(words: Words) -> Array | None:
    """Numbers that are numbers already, or plain words for such; None if some of them is something else."""
    if isinstance(words, np.ndarray):
        kind = words.dtype.kind
        if kind in "iufb":
            return words.astype(np.float64)
        if kind in "Mm":
            # Stamps count from 1970, as those of text do.
            seconds = words.astype(f"{kind}8[us]").astype(np.int64) / 1e6
            return np.where(np.isnat(words), np.nan, seconds)
        return None
    try:
        values = np.fromiter(map(float, words), dtype=np.float64, count=len(words))
    except ValueError:
        return None
    return None if "_" in "".join(words) else values  # Python reads 1_0, logs do not write it


def _texts(words: Words) -> Sequence[str]:
    if isinstance(words, np.ndarray):
        return ["" if word is None else str(word) for word in words]
    return list(words) if isinstance(words, Cells) else words


def distinct(words: Words) -> tuple[list[str], Ints]:
    """The words that occur, and which of them each one is."""
    if isinstance(words, Cells):
        code, first = words.codes()
        return [words[i] for i in first.tolist()], code
    texts = _texts(words)
    if len(texts) and texts.count(texts[0]) == len(texts):
        return [texts[0]], np.zeros(len(texts), dtype=np.int64)
    number_of = {word: i for i, word in enumerate(dict.fromkeys(texts))}
    return list(number_of), np.fromiter(map(number_of.__getitem__, texts), np.int64, len(texts))


def by_distinct_word(words: Words, reader: Callable[[str], float]) -> tuple[Array, Bad]:
    """Each word that occurs is read once."""
    texts, code = distinct(words)
    values, bad = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=np.bool_)
    for i, word in enumerate(texts):
        try:
            values[i] = reader(word)
        except (ValueError, OverflowError):
            bad[i] = True
    return values[code], bad[code]


def which(words: Words, test: Callable[[str], bool]) -> Bad:
    """The words that pass a test, to which each is put once."""
    texts, code = distinct(words)
    return np.array([test(word) for word in texts], dtype=np.bool_)[code]


def numbered(*columns: Words) -> Ints:
    """The same number, from 0, for rows that are equal in all these columns."""
    number, *others = map(_codes, columns)
    for code in others:
        number = np.unique(number * (code.max(initial=0) + 1) + code, return_inverse=True)[1].reshape(-1)
    return number


def _codes(words: Words) -> Ints:
    if isinstance(words, Cells):
        return words.codes()[0]
    if isinstance(words, np.ndarray) and words.dtype.kind == "f":
        return np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return distinct(words)[1]


def stamps_of(words: Words) -> tuple[Array, Bad, Bad, Bad]:
    """Seconds since 1970 of stamps or numbers; besides, which had an offset from UTC, and which had none."""
    if isinstance(words, Cells):
        return _stamps_in(words)
    known = _as_array(words)
    if known is not None:
        no = np.zeros(len(known), dtype=np.bool_)
        return known, no, no, no
    texts = _texts(words)
    values, naive = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=np.bool_)
    rows = np.flatnonzero(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) == STAMP)
    block = "".join(texts if len(rows) == len(texts) else [texts[i] for i in rows.tolist()])
    if len(rows) and block.isascii():
        letters = np.ascontiguousarray(np.frombuffer(block.encode(), dtype=np.uint8).reshape(-1, STAMP).T)
        seconds, right = _usual_stamps(letters)
        values[rows[right]], naive[rows[right]] = seconds[right], True
    return _other_stamps(texts, values, np.flatnonzero(~naive), naive)


def _stamps_in(words: Cells) -> tuple[Array, Bad, Bad, Bad]:
    """The same of words that are not cut out."""
    values, plain = words.numbers()
    naive = np.zeros(len(words), dtype=np.bool_)
    rows = np.flatnonzero(~plain & (words.lengths == STAMP))
    if len(rows):
        seconds, right = _usual_stamps(words.letters(rows, STAMP))
        values[rows[right]], naive[rows[right]] = seconds[right], True
    return _other_stamps(words, values, np.flatnonzero(~plain & ~naive), naive)


def _other_stamps(words: Words, values: Array, rows: Ints, naive: Bad) -> tuple[Array, Bad, Bad, Bad]:
    """Numbers, stamps with offsets and whatever else is in these rows, each word read once."""
    texts, code = distinct(words.at(rows) if isinstance(words, Cells) else [words[i] for i in rows.tolist()])
    bad, zoned = (np.zeros(len(values), dtype=np.bool_) for _ in range(2))
    read, flags = np.full(len(texts), np.nan), np.zeros((3, len(texts)), dtype=np.bool_)
    for i, word in enumerate(texts):
        try:
            read[i], offset = stamp(word)
            flags[1:, i] = offset is True, offset is False
        except (ValueError, OverflowError):
            flags[0, i] = True
    values[rows] = read[code]
    bad[rows], zoned[rows], naive[rows] = flags[:, code]
    return values, bad, zoned, naive


def _usual_stamps(letters: NDArray[np.uint8]) -> tuple[Array, Bad]:
    """Seconds since 1970 of stamps like 2024-03-01T12:00:00, a letter a row, and which are such."""
    right = np.ones(letters.shape[1], dtype=np.bool_)
    for place, marks in ((4, "-"), (7, "-"), (10, "T "), (13, ":"), (16, ":")):
        right &= np.any([letters[place] == ord(mark) for mark in marks], axis=0)
    digits = letters - np.uint8(ord("0"))  # beyond 9 for whatever is no digit
    for place in _DIGITS:
        right &= digits[place] <= 9
    two = {place: 10 * digits[place].astype(np.int64) + digits[place + 1] for place in (0, 2, 5, 8, 11, 14, 17)}
    year, month, day, hour, minute, second = 100 * two[0] + two[2], *(two[place] for place in (5, 8, 11, 14, 17))
    right &= (year >= 1) & (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 60)
    months = np.where(right, 12 * (year - 1970) + month - 1, 0)
    begin, end = (_first_day(months + k) for k in (0, 1))
    right &= (day >= 1) & (day <= end - begin)
    return (86400 * (begin + day - 1) + 3600 * hour + 60 * minute + second).astype(np.float64), right


def _first_day(months: Ints) -> Ints:
    """Days from 1970 to the beginning of a month, which is counted from 1970, too."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
