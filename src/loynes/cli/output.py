"""Where output goes: tables and JSON to standard output, progress and warnings to standard error."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loynes.errors import UsageError
from loynes.readable import readable
from loynes.results.files import RESULTS, check_writable, is_file_path, is_picture
from loynes.results.table import Table

if TYPE_CHECKING:
    from loynes.questions.asking.question import Question
    from loynes.results.base import Result

SAMPLES = (".parquet", ".csv")
# More rows than these are for files: nobody reads them, and laying them out would take longer than the answer.
MOST_ROWS = 500


def say(text: str) -> None:
    """A line of the answer, broken between words where a terminal is narrower."""
    print(_wrapped(readable(text)))


def tell(text: str) -> None:
    """A line on standard error, for whoever waits: names from files can do nothing there but be read."""
    print(readable(text), file=sys.stderr, flush=True)


def tables(*shown: Table) -> None:
    """On a terminal in the width it has; a file or a pipe has every column."""
    from rich.console import Console

    from loynes.results.layout import show

    console = Console(highlight=False) if sys.stdout.isatty() else None
    for table in shown:
        some = replace(table, rows=table.rows[:MOST_ROWS])
        if console is None:
            print(some)
        else:
            show(some, console)
        if len(some.rows) < len(table.rows):
            print(f"and {len(table.rows) - MOST_ROWS} more rows, which --json shows and files (-o) have")


def _wrapped(line: str) -> str:
    """A line broken between words where a terminal is narrower; a file or a pipe has it whole."""
    if not sys.stdout.isatty():
        return line
    width = max(shutil.get_terminal_size().columns, 20)
    return textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)


def document(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


def warn(texts: tuple[str, ...]) -> None:
    for text in texts:
        tell(f"loynes: warning: {text}")


def check_target(path: str | None, question: type[Question]) -> None:
    """Refuse an output path that cannot work before anything runs; a fitted model has a file of its own."""
    if path is None:
        return
    endings = (*RESULTS, ".toml") if question.command == "fit" else RESULTS
    check_writable(path, endings)
    if is_file_path(path) and Path(path).suffix.lower() not in endings:
        raise UsageError(f"{path}: results are written to {', '.join(endings)} or a run folder")
    if is_picture(path):
        from loynes.results.charts.drawing import pyplot

        pyplot()  # says at once that it is not installed


def check_samples(path: str) -> None:
    """The same for samples."""
    check_writable(path, SAMPLES)
    if is_file_path(path):
        from loynes.results.sample_files import writer_of

        writer_of(Path(path))


def run_folder(path: str | None) -> str | None:
    """Where a run is recorded: an output path that is no file."""
    return path if path is not None and not is_file_path(path) else None


def stopped(answer: Result, folder: str | None) -> None:
    """How to go on with a run that was cut short; an interrupt is an error to whoever waits for the command."""
    by = answer.stopped.get("by")
    if folder is not None and by in ("time", "interrupt"):
        tell(f"loynes: go on with: loynes resume {folder}")
    if by == "interrupt":
        raise SystemExit(130)


def result(answer: Result, as_json: bool, path: str | None) -> None:
    """Show a result, then write it: what was computed is not lost if it cannot be written."""
    if as_json:
        document(answer.to_dict())
    else:
        tables(*answer.tables)
        for text in filter(None, (answer.setting, answer.footer)):
            for line in text.split("\n"):
                say(line)
        warn(answer.warnings)
    if answer.unmet:
        tell(f"loynes: {answer.unmet}")
    if path is not None and run_folder(path) is None:  # a run folder has it already
        answer.save(path)


def wrote(path: str | Path, quiet: bool = False) -> None:
    """Say what was written, and how large it is."""
    if quiet:
        return
    target = Path(path)
    if target.is_dir():
        sizes = [file.stat().st_size for file in target.rglob("*") if file.is_file()]
        text = f"{len(sizes)} {'file' if len(sizes) == 1 else 'files'}, {_size(sum(sizes))}"
    else:
        text = _size(target.stat().st_size)
    tell(f"wrote {path}, {text}")


def had_it(folder: str | Path, quiet: bool = False) -> None:
    """Say that a folder had the answer already."""
    if not quiet:
        tell(f"{folder}: had the answer already, nothing was computed")


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
