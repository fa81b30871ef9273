"""A folder that a run lives in: what was asked, a journal of what is done, and in the end the result.

`run.json` has the question, the model and the version. Whoever asks the same question of the same folder goes on where
it was stopped; another question, model or version is refused, with the difference.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import LoynesError, UsageError
from loynes.execution.journal import Journal
from loynes.kernels.fingerprint import FINGERPRINT
from loynes.model import Model
from loynes.questions.asking.question import Question
from loynes.reading import read_text
from loynes.results.base import RESULT, RUN
from loynes.results.files import check_folder, is_file_path, write_text

JOURNAL = "journal"


def document(question: Question) -> dict[str, Any]:
    """What a run folder says was asked."""
    model = getattr(question, "model", None)
    definition = model.to_dict() if isinstance(model, Model) else None
    asked = {"command": question.command, "version": __version__, "kernels": FINGERPRINT[:16], "model": definition}
    return json.loads(json.dumps(asked | {"options": question.options()}))  # type: ignore[no-any-return]


def read_document(folder: str | Path) -> dict[str, Any]:
    """What was asked in a run folder."""
    path = Path(folder) / RUN
    try:
        asked = json.loads(read_text(path))
        if not isinstance(asked, dict) or not {"command", "version", "model", "options"} <= set(asked):
            raise ValueError
    except FileNotFoundError:
        raise UsageError(f"{folder}: is no run folder, there is no {RUN} in it") from None
    except OSError as error:
        raise LoynesError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: does not say what was asked; the folder cannot be resumed") from None
    return asked


def complete(folder: str | Path) -> bool:
    return (Path(folder) / RESULT).exists() and not (Path(folder) / JOURNAL).exists()


def holds_answer(folder: Path, question: Question) -> bool:
    """Whether a folder has the answer to this very question."""
    return complete(folder) and (folder / RUN).exists() and read_document(folder) == document(question)


def open_journal(folder: Path, question: Question) -> Journal:
    """The journal of a run folder, which is made, or is of the same question."""
    check_folder(folder)
    if is_file_path(folder):
        raise UsageError(f"{folder}: is a file; a run is recorded in a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoynesError(f"{folder}: cannot be written: {error.strerror}") from None
    asked = document(question)
    if (folder / RUN).exists():
        different = differences(read_document(folder), asked)
        if different and complete(folder):
            # A finished run may be replaced by another.
            (folder / RESULT).unlink()
        elif different:
            raise UsageError(
                f"{folder}: holds an unfinished run of another question ({different[0]}"
                + (f", and {len(different) - 1} more differences" if len(different) > 1 else "")
                + "); take another folder, or remove it"
            )
    write_text(folder / RUN, json.dumps(asked, indent=2) + "\n")
    return Journal(folder / JOURNAL)


def forget(folder: Path, was_there: bool) -> None:
    """Take away a run that was refused after it was begun: of a folder that was there, only what was put into it."""
    if not was_there:
        shutil.rmtree(folder, ignore_errors=True)
        return
    (folder / RUN).unlink(missing_ok=True)
    remove_journal(folder)


def remove_journal(folder: Path) -> None:
    """The run is complete, and its result says it all."""
    shutil.rmtree(folder / JOURNAL, ignore_errors=True)


def differences(before: object, now: object, path: str = "") -> list[str]:
    """Where two documents differ: path, then and now."""
    if isinstance(before, dict) and isinstance(now, dict):
        inner = [(f"{path}.{key}".lstrip("."), before.get(key), now.get(key)) for key in sorted({*before, *now})]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        inner = [(f"{path}[{i}]", *pair) for i, pair in enumerate(zip(before, now, strict=True))]
    else:
        return [] if before == now else [f"{path}: {_short(before)}, now {_short(now)}"]
    return [line for where, then, current in inner for line in differences(then, current, where)]


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
