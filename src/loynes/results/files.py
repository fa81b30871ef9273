"""Writing files: refused early where they cannot be written, and whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loynes.errors import LoynesError, UsageError

PICTURES = (".png", ".svg", ".pdf")
RESULTS = (".json", ".csv", ".parquet", ".html", *PICTURES)
FILE_ENDINGS = (*RESULTS, ".toml")
# What is taken for the ending of a file: letters and digits, a letter first. A folder may be called load-0.75.
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")


def is_picture(path: str | Path) -> bool:
    return Path(path).suffix.lower() in PICTURES


def is_file_path(path: str | Path) -> bool:
    """Whether a path names a file; any other is a folder."""
    return Path(path).suffix.lower() in FILE_ENDINGS


def check_writable(path: str | Path, endings: Sequence[str] = RESULTS) -> None:
    """Refuse, before any work is done, a path that could not be written after it, or that has another file's ending.

    A path without an ending is a folder; so is one that is there as a folder, or that ends in a slash.
    """
    target = Path(path)
    if not str(path):
        raise UsageError("the output path must not be empty")
    if is_file_path(target):
        with _cannot_be_written(path):
            if target.is_dir():
                raise UsageError(f"{path}: is a folder, not a file")
            if not target.parent.is_dir():
                raise UsageError(f"{path}: the folder {target.parent} does not exist")
            _check_access(path, target.parent)
        return
    if _ENDING.fullmatch(target.suffix) and not str(path).endswith(("/", os.sep)) and not target.is_dir():
        raise UsageError(
            f"{path}: nothing is written to {target.suffix} files; there are {', '.join(endings)}; for a run folder of "
            f"that name write {path}/"
        )
    check_folder(path)


def check_folder(path: str | Path) -> None:
    """Refuse a folder that cannot be made, or written to, whatever its name."""
    target = Path(path)
    with _cannot_be_written(path):
        folder = next(place for place in (target, *target.absolute().parents) if place.exists())
        if not folder.is_dir():
            raise UsageError(f"{path}: {folder} is a file, not a folder")
        _check_access(path, folder)


@contextmanager
def _cannot_be_written(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _check_access(path: str | Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: the folder {folder} cannot be written")


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
    """The same bytes on every system: lines end as they do in the text."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="")
