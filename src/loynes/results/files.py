"""Writing files: refused early where they cannot be written, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loynes.errors import LoynesError, UsageError

PICTURES = (".png", ".svg", ".pdf")
FILE_ENDINGS = (".json", ".csv", ".parquet", ".html", ".toml", *PICTURES)


def is_picture(path: str | Path) -> bool:
    return Path(path).suffix.lower() in PICTURES


def is_file_path(path: str | Path) -> bool:
    """Whether a path names a file; any other is a folder."""
    return Path(path).suffix.lower() in FILE_ENDINGS


def check_writable(path: str | Path) -> None:
    """Refuse, before any work is done, a path that could not be written after it."""
    target = Path(path)
    if not str(path):
        raise UsageError("the output path must not be empty")
    try:
        if is_file_path(target):
            if target.is_dir():
                raise UsageError(f"{path}: is a folder, not a file")
            if not target.parent.is_dir():
                raise UsageError(f"{path}: the folder {target.parent} does not exist")
            folder = target.parent
        else:
            folder = next(place for place in (target, *target.absolute().parents) if place.exists())
            if not folder.is_dir():
                raise UsageError(f"{path}: {folder} is a file, not a folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{path}: the folder {folder} cannot be written")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A draft beside the file's place, moved there if all goes well and removed if not."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.part")
    try:
        yield draft
        draft.replace(target)
    except OSError as error:
        raise LoynesError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")
