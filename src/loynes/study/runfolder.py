"""A folder that a run lives in: what was asked, a journal of what is done, and in the end the result.

`run.json` has the question, the model and the version. Whoever asks the same question of the same folder goes on where
it was stopped; another question, model or version is refused, with the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import LoynesError, UsageError
from loynes.kernels.backends import wrapped
from loynes.kernels.cpu.compiled import FINGERPRINT
from loynes.model import Model
from loynes.results.files import check_writable, is_file_path, write_text
from loynes.results.saving import save_folder
from loynes.study.journal import Journal
from loynes.study.recorded import RecordedEngine

RUN, JOURNAL, RESULT = "run.json", "journal", "result.json"


@contextmanager
def recording(folder: str | Path | None, command: str, model: Model, options: dict[str, Any]) -> Iterator[None]:
    """While this lasts, engines record what they do in the folder; None for no folder."""
    with journal_of(folder, command, model, options) as journal, recorded_in(journal):
        yield


@contextmanager
def journal_of(
    folder: str | Path | None, command: str, model: Model, options: dict[str, Any]
) -> Iterator[Journal | None]:
    """The journal of a run folder, which is made, or found to be of the same question."""
    if folder is None:
        yield None
        return
    place = Path(folder)
    _prepare(place, _question(command, model, options))
    journal = Journal(place / JOURNAL)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def recorded_in(journal: Journal | None) -> Iterator[None]:
    """While this lasts, engines record what they do in the journal, if there is one."""
    if journal is None:
        yield
        return
    with wrapped(lambda name, make: RecordedEngine(make(name), journal)):
        yield


def finish(folder: str | Path | None, result: Any) -> None:
    """Write the result, whole, and let go of the journal."""
    if folder is not None:
        save_folder(result, Path(folder))
        (Path(folder) / JOURNAL).unlink(missing_ok=True)


def question(folder: str | Path) -> dict[str, Any]:
    """What was asked in a run folder."""
    path = Path(folder) / RUN
    try:
        asked = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(asked, dict) or not {"command", "version", "model", "options"} <= set(asked):
            raise ValueError
    except FileNotFoundError:
        raise UsageError(f"{folder}: is no run folder, there is no {RUN} in it") from None
    except OSError as error:
        raise LoynesError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{path}: does not say what was asked; the folder cannot be resumed") from None
    return asked


def answered(folder: str | Path | None, command: str, model: Model, options: dict[str, Any]) -> bool:
    """Whether a folder has the answer to this very question."""
    if folder is None or not complete(folder) or not (Path(folder) / RUN).exists():
        return False
    return question(folder) == _question(command, model, options)


def complete(folder: str | Path) -> bool:
    return (Path(folder) / RESULT).exists() and not (Path(folder) / JOURNAL).exists()


def _question(command: str, model: Model, options: dict[str, Any]) -> dict[str, Any]:
    said = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    told = {"command": command, "version": __version__, "kernels": FINGERPRINT[:16]}
    asked: dict[str, Any] = json.loads(json.dumps(told | {"model": model.to_dict(), "options": said}))
    return asked


def _prepare(place: Path, asked: dict[str, Any]) -> None:
    check_writable(place)
    if is_file_path(place):
        raise UsageError(f"{place}: is a file; a run is recorded in a folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoynesError(f"{place}: cannot be written: {error.strerror}") from None
    if (place / RUN).exists():
        before = question(place)
        different = differences(before, asked)
        if different and complete(place):
            # A finished run may be replaced by another.
            (place / RESULT).unlink()
        elif different:
            raise UsageError(
                f"{place}: holds an unfinished run of another question ({different[0]}"
                + (f", and {len(different) - 1} more differences" if len(different) > 1 else "")
                + "); take another folder, or remove it"
            )
    write_text(place / RUN, json.dumps(asked, indent=2) + "\n")


def differences(before: Any, now: Any, path: str = "") -> list[str]:
    """Where two documents differ: path, then and now."""
    if isinstance(before, dict) and isinstance(now, dict):
        inner = [(f"{path}.{key}".lstrip("."), before.get(key), now.get(key)) for key in sorted({*before, *now})]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        inner = [(f"{path}[{i}]", *pair) for i, pair in enumerate(zip(before, now, strict=True))]
    else:
        return [] if before == now else [f"{path}: {_short(before)}, now {_short(now)}"]
    return [line for where, then, current in inner for line in differences(then, current, where)]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
