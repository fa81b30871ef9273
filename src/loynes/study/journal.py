"""A journal of finished work: append-only records of arrays, each with a checksum, safe on disk before it counts.

A record is a magic word, the length and the SHA-256 of its body, and the body: a line of JSON and the arrays' bytes,
deflated. Nothing in it is ever executed. Reading stops at the first record that is torn or altered; it and whatever
follows is dropped and done again, so a damaged journal costs time, never a wrong answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from loynes.errors import LoynesError

MAGIC = b"loynes-1"
_HEAD = struct.Struct("<8sQ32s")
_LENGTH = struct.Struct("<I")
# Arrays of these kinds only: numbers.
KINDS = "iufb"


@dataclass(frozen=True)
class Record:
    """What is known of a piece of work: which it is, how far it got, and the arrays it left."""

    call: int
    key: str
    at: int
    final: bool
    arrays: dict[str, NDArray[Any]]


class Journal:
    """Records of one run, in the order of its calls; a call's last record counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0  # bytes at the end that were torn or altered
        self.calls = 0  # begun so far in this process
        self._places: dict[int, tuple[int, int]] = {}  # call -> where its last record is
        try:
            # Kept open for as long as the run lasts, made if need be, never emptied.
            self._file: BinaryIO = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
            self._end = self._scan()
            self._file.truncate(self._end)
        except OSError as error:
            raise LoynesError(f"{path}: cannot be written: {error.strerror}") from None

    @property
    def known(self) -> int:
        """How many calls have a record."""
        return len(self._places)

    def _scan(self) -> int:
        """Where the last good record ends."""
        end, size = 0, os.fstat(self._file.fileno()).st_size
        while True:
            body = self._body(end, size)
            if body is None:
                self.dropped = size - end
                return end
            record = _header(body)
            if record is None:
                self.dropped = size - end
                return end
            self._places[record["call"]] = (end + _HEAD.size, len(body))
            end += _HEAD.size + len(body)

    def _body(self, at: int, size: int) -> bytes | None:
        self._file.seek(at)
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        magic, length, digest = _HEAD.unpack(head)
        if magic != MAGIC or length > size - at - _HEAD.size:
            return None
        body = self._file.read(length)
        return body if hashlib.sha256(body).digest() == digest else None

    def begin(self, key: str) -> tuple[int, Record | None]:
        """The next call's number, and what is known of it; None if nothing, or if it was another call then."""
        call = self.calls
        self.calls += 1
        place = self._places.get(call)
        if place is None:
            return call, None
        self._file.seek(place[0])
        record = _read(self._file.read(place[1]))
        if record is None or record.key != key:
            # From here on this run is not the one that was recorded.
            self._places = {k: v for k, v in self._places.items() if k < call}
            return call, None
        return call, record

    def append(self, call: int, key: str, at: int, final: bool, arrays: dict[str, NDArray[Any]]) -> None:
        """Write a record and wait until it is on disk."""
        body = _written(Record(call, key, at, final, arrays))
        record = _HEAD.pack(MAGIC, len(body), hashlib.sha256(body).digest()) + body
        try:
            self._file.seek(self._end)
            self._file.write(record)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._forget_the_rest()
            raise LoynesError(
                f"{self.path}: cannot be written: {error.strerror}; what was recorded before is kept"
            ) from None
        self._places[call] = (self._end + _HEAD.size, len(body))
        self._end += len(record)

    def _forget_the_rest(self) -> None:
        with suppress(OSError):  # else the torn record is dropped when the journal is next read
            self._file.truncate(self._end)

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        """The run is complete, and its result says it all."""
        self.close()
        self.path.unlink(missing_ok=True)


def _written(record: Record) -> bytes:
    arrays = {name: np.ascontiguousarray(array) for name, array in record.arrays.items()}
    told = [(name, array.dtype.str, list(array.shape)) for name, array in arrays.items()]
    header = {"call": record.call, "key": record.key, "at": record.at, "final": record.final, "arrays": told}
    line = json.dumps(header).encode()
    data = zlib.compress(b"".join(array.tobytes() for array in arrays.values()), 1)
    return _LENGTH.pack(len(line)) + line + data


def _header(body: bytes) -> dict[str, Any] | None:
    try:
        (length,) = _LENGTH.unpack_from(body)
        header = json.loads(body[_LENGTH.size : _LENGTH.size + length])
        return header if isinstance(header["call"], int) else None
    except (struct.error, ValueError, KeyError, TypeError):
        return None


def _read(body: bytes) -> Record | None:
    header = _header(body)
    if header is None:
        return None
    (length,) = _LENGTH.unpack_from(body)
    try:
        data = zlib.decompress(body[_LENGTH.size + length :])
        arrays, at = {}, 0
        for name, kind, shape in header["arrays"]:
            dtype = np.dtype(kind)
            if dtype.kind not in KINDS:
                return None
            count = int(np.prod(shape, dtype=np.int64))
            arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
            at += count * dtype.itemsize
        return Record(header["call"], header["key"], int(header["at"]), bool(header["final"]), arrays)
    except (zlib.error, ValueError, TypeError, KeyError):
        return None
