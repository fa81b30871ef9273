"""Files that people name, read whole, but for what has no end, what would not fit, and pipes that stay silent."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
BYTE_ORDERS = (b"\xff\xfe", b"\xfe\xff")
# Of a model: ten million recorded gaps, written out, are fewer. Of a log, also when it is unpacked: what is made of
# its lines takes several times as much memory.
MOST_OF_A_MODEL, MOST_OF_A_LOG = 256 << 20, 4 << 30
BEGINNING, PIECE = 4096, 1 << 20
# Seconds in which somebody has to begin to write to a pipe; who has begun may take as long as they like.
PATIENCE = 0.5


def read_bytes(path: str | Path, most: int = MOST_OF_A_LOG) -> bytes:
    """The contents of a file or a pipe of at most so many bytes; an OSError says why they cannot be had."""
    found = os.stat(path)
    if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode) or stat.S_ISSOCK(found.st_mode):
        raise OSError(errno.EINVAL, "is a device, not a file")
    if stat.S_ISFIFO(found.st_mode):
        first, file = _pipe(path)
        with file:
            return _until_its_end(file, most, first)
    with open(path, "rb") as file:
        beginning = _text(file.read(BEGINNING))
        if found.st_size > most:
            raise _too_much(most)
        return beginning + file.read()


def read_text(path: str | Path, most: int = MOST_OF_A_MODEL) -> str:
    """The text of a file in UTF-8, without its byte-order mark and with line feeds at the ends of its lines."""
    return read_bytes(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def unpacked(data: bytes, most: int = MOST_OF_A_LOG) -> bytes:
    """What gzip packed."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        return _until_its_end(file, most)


def _until_its_end(file: BinaryIO | gzip.GzipFile, most: int, first: bytes = b"") -> bytes:
    pieces = [_text(first or file.read(BEGINNING))]
    size = len(pieces[0])
    while piece := file.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise _too_much(most)
    return b"".join(pieces)


def _text(beginning: bytes) -> bytes:
    """A disk that failed, and a device, give zeros, gigabytes of them perhaps."""
    if not beginning.startswith((GZIP, PARQUET, *BYTE_ORDERS)) and 2 * beginning.count(0) > len(beginning):
        raise OSError(errno.EINVAL, "begins with zeros, as no text does")
    return beginning


def _too_much(most: int) -> OSError:
    return OSError(errno.EFBIG, f"has more than {most >> 20} MiB, the most that is read")


def _pipe(path: str | Path) -> tuple[bytes, BinaryIO]:
    """A pipe that somebody writes to, or has written to, and its first bytes; opened as files are, it would wait for
    somebody for ever."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    until = time.monotonic() + PATIENCE
    try:
        while (first := _available(number)) == b"":
            if time.monotonic() > until:
                raise OSError(errno.EPIPE, "is a pipe that nobody writes to")
            time.sleep(0.01)
        os.set_blocking(number, True)
    except OSError:
        os.close(number)
        raise
    return first or b"", os.fdopen(number, "rb")


def _available(number: int) -> bytes | None:
    """Bytes that are in a pipe: none where nobody has it open to write, None where nothing is written yet."""
    try:
        return os.read(number, BEGINNING)
    except BlockingIOError:
        return None
