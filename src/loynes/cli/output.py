"""Where output goes: tables and JSON to standard output, progress and warnings to standard error."""

from __future__ import annotations

import json
import sys
import warnings as python_warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from loynes.errors import LoynesWarning, UsageError
from loynes.results.files import check_writable, is_file_path
from loynes.results.records import Result
from loynes.results.table import Table
from loynes.study.progress import Progress, silent

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


def check_target(path: str | None) -> None:
    """Refuse an output path that cannot work before anything runs."""
    if path is None:
        return
    check_writable(path)
    if is_file_path(path) and Path(path).suffix.lower() not in (".json", ".csv"):
        raise UsageError(f"{path}: results are written to .json, .csv or a run folder in this version")


def check_file(path: str | None) -> None:
    """The same for what is written to a single file only."""
    check_target(path)
    if path is not None and not is_file_path(path):
        raise UsageError(f"{path}: is written to a .json or .csv file")


def run_folder(path: str | None) -> str | None:
    """Where a run is recorded: an output path that is no file."""
    return path if path is not None and not is_file_path(path) else None


def result(found: Result, shown: list[Table], as_json: bool, path: str | None) -> None:
    """Show a result, then write it: what was computed is not lost if it cannot be written."""
    if as_json:
        document(found.to_dict())
    else:
        tables(*shown)
        sure = f"{100 * found.confidence:.7g}% intervals from {found.replicas} replicas"
        print(f"{found.method}, {sure}, {found.jobs:.3g} jobs, {found.seconds:.1f} s, seed {found.seed}")
        why = getattr(found, "why", "")
        if why:
            print(f"no certificate: {why}")
        warn(found.warnings)
    if path is not None and run_folder(path) is None:  # a run folder has it already
        found.save(path)


@contextmanager
def watching(title: str, folder: str | None = None) -> Iterator[Progress]:
    """A progress bar with elapsed time and the current interval, on a terminal only; an interrupt ends the program."""
    with python_warnings.catch_warnings():
        # Warnings are part of the result, which prints them.
        python_warnings.simplefilter("ignore", LoynesWarning)
        try:
            with _bar(title) if sys.stderr.isatty() else nullcontext(silent) as progress:
                yield progress
        except KeyboardInterrupt:
            safe = (
                f"what was done is in {folder}; go on with: loynes resume {folder}" if folder else "nothing was written"
            )
            print(f"loynes: interrupted; {safe}", file=sys.stderr)
            raise SystemExit(130) from None


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[title]}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("compiling", total=1.0, title=title)
        yield lambda share, text: bar.update(task, completed=share, description=text)
