"""Bytes of a file as lines of text: gzip, byte-order marks and bytes that are not UTF-8."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from loynes import reading
from loynes.errors import TraceError
from loynes.reading import BYTE_ORDERS, GZIP
from loynes.traces.ledger import Ledger

NOT_UTF_8 = "bytes that are not UTF-8: shown as \N{REPLACEMENT CHARACTER}"


def read_bytes(path: Path) -> bytes:
    """The file's contents, unpacked if it is gzip, which its first bytes tell, whatever its name."""
    try:
        data = reading.read_bytes(path)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    if data.startswith(GZIP):
        try:
            data = reading.unpacked(data)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or f"not a whole gzip file: {error}"
            raise TraceError(f"{path}: {why}") from None
    elif path.suffix.lower() == ".gz" and data:
        raise TraceError(f"{path}: ends in .gz, but its first bytes are not those of a gzip file")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data or data.isspace():
        raise TraceError(f"{path}: is empty")
    if data.startswith(BYTE_ORDERS):
        raise TraceError(f"{path}: is UTF-16 text; save it as UTF-8")
    return data


def lines_of(data: bytes, ledger: Ledger) -> Iterator[tuple[int, str]]:
    """Line number and text of every line that is not blank. Only a line feed ends a line, as in other programs."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        for number, piece in enumerate(data.split(b"\n"), 1):
            try:
                line = piece.decode("utf-8")
            except UnicodeDecodeError:
                line = piece.decode("utf-8", "replace")
                ledger.repair(NOT_UTF_8)
            if line.strip():
                yield number, line.rstrip("\r")
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            yield number, line.rstrip("\r")
