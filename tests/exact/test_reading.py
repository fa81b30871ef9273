"""Files that people name: what has no end, what would not fit and silent pipes are refused, all else is read."""

from __future__ import annotations

import gzip
import os
import threading
import time
from pathlib import Path

import pytest

from loynes import reading
from loynes.reading import BEGINNING, read_bytes, read_text, unpacked

LONG = b"submit,need,service\n" + b"0,1,5\n" * BEGINNING


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    for contents in (LONG, b"", b"0", b"\xff\xfes\0e\0", LONG + b"\0" * 9000, gzip.compress(LONG), b"PAR1" + bytes(99)):
        file.write_bytes(contents)
        assert read_bytes(file) == contents
    assert unpacked(gzip.compress(LONG) + gzip.compress(LONG)) == LONG + LONG


def test_text_is_as_files_give_it(tmp_path: Path) -> None:
    file = tmp_path / "model.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\rc = '\xc3\xa9'\n")
    assert read_text(file) == file.read_text(encoding="utf-8-sig") == "a = 1\nb = 2\nc = 'é'\n"
    file.write_bytes(b"\xe9")
    with pytest.raises(UnicodeDecodeError):
        read_text(file)


def test_more_than_is_read(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_bytes(LONG)
    assert read_bytes(file, len(LONG)) == LONG
    assert unpacked(gzip.compress(LONG), len(LONG)) == LONG
    with pytest.raises(OSError, match="the most that is read"):
        read_bytes(file, len(LONG) - 1)
    with pytest.raises(OSError, match="the most that is read"):
        unpacked(gzip.compress(LONG), len(LONG) - 1)


def test_zeros_are_no_text(tmp_path: Path) -> None:
    """A gigabyte of them, of which only the beginning is looked at; packed, too."""
    file = tmp_path / "log.csv"
    with file.open("wb") as zeros:
        zeros.truncate(1 << 30)
    began = time.process_time()
    with pytest.raises(OSError, match="begins with zeros"):
        read_bytes(file)
    with pytest.raises(OSError, match="begins with zeros"):
        unpacked(gzip.compress(bytes(1 << 20)))
    assert time.process_time() - began < 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes")
def test_pipes_and_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write_later() -> None:
        time.sleep(0.1)
        with pipe.open("wb") as file:
            file.write(LONG)

    writer = threading.Thread(target=write_later)
    writer.start()
    monkeypatch.setattr(reading, "PATIENCE", 10.0)
    assert read_bytes(pipe) == LONG
    writer.join()

    # Who has the pipe open may take as long as they like.
    monkeypatch.setattr(reading, "PATIENCE", 0.0)
    there = os.open(pipe, os.O_RDWR)
    later = threading.Timer(0.1, lambda: (os.write(there, LONG), os.close(there)))
    later.start()
    assert read_bytes(pipe) == LONG
    later.join()

    with pytest.raises(OSError, match="a pipe that nobody writes to"):
        read_bytes(pipe)
    with pytest.raises(OSError, match="a device, not a file"):
        read_bytes("/dev/zero")
