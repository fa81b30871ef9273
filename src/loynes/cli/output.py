"""Where output goes: tables and JSON to standard output, progress and warnings to standard error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loynes.errors import UsageError
from loynes.results.files import PICTURES, check_writable, is_file_path, is_picture
from loynes.results.table import Table

if TYPE_CHECKING:
    from loynes.questions.asking.question import Question
    from loynes.results.base import Result

# Wide enough that no column is folded when output goes to a file or a pipe.
PLAIN_WIDTH = 160


def tables(*shown: Table) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
    wide = Console(width=10_000)  # a console measures no more than its own width
    for table in shown:
        hidden = []
        while table.spare and wide.measure(table.to_rich()).maximum > console.width:
            hidden.append(table.spare[0])
            table = table.without(table.spare[0])
        console.print(table.to_rich())
        if hidden:
            console.print(f"[dim]not shown for lack of width: {', '.join(hidden)}[/dim]")


def document(data: dict[str, Any]) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))


def warn(texts: tuple[str, ...]) -> None:
    for text in texts:
        print(f"loynes: warning: {text}", file=sys.stderr)


def check_target(path: str | None, question: type[Question]) -> None:
    """Refuse an output path that cannot work before anything runs; a fitted model has a file of its own."""
    if path is None:
        return
    check_writable(path)
    endings = (".json", ".csv", ".parquet", ".html", *PICTURES, *((".toml",) if question.command == "fit" else ()))
    if is_file_path(path) and Path(path).suffix.lower() not in endings:
        raise UsageError(f"{path}: results are written to {', '.join(endings)} or a run folder")
    if is_picture(path):
        from loynes.results.charts.drawing import pyplot

        pyplot()  # says at once that it is not installed


def check_samples(path: str) -> None:
    """The same for samples."""
    check_writable(path)
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
        print(f"loynes: go on with: loynes resume {folder}", file=sys.stderr)
    if by == "interrupt":
        raise SystemExit(130)


def result(answer: Result, as_json: bool, path: str | None) -> None:
    """Show a result, then write it: what was computed is not lost if it cannot be written."""
    if as_json:
        document(answer.to_dict())
    else:
        tables(*answer.tables)
        if answer.footer:
            print(answer.footer)
        warn(answer.warnings)
    if path is not None and run_folder(path) is None:  # a run folder has it already
        answer.save(path)
