"""Where output goes: tables and JSON to standard output, progress and warnings to standard error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from loynes.errors import UsageError
from loynes.results.files import PICTURES, check_writable, is_file_path, is_picture
from loynes.results.table import Table

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


def check_target(path: str | None, pictures: bool = False) -> None:
    """Refuse an output path that cannot work before anything runs; some results have pictures."""
    if path is None:
        return
    check_writable(path)
    endings = (".json", ".csv", ".parquet", ".html", *(PICTURES if pictures else ()))
    if is_file_path(path) and Path(path).suffix.lower() not in endings:
        raise UsageError(f"{path}: results are written to {', '.join(endings)} or a run folder")
    if is_picture(path):
        from loynes.results.plots import pyplot

        pyplot()  # says at once that it is not installed


def check_file(path: str | None) -> None:
    """The same for what is written to a single file only."""
    check_target(path)
    if path is not None and Path(path).suffix.lower() not in (".json", ".csv"):
        raise UsageError(f"{path}: is written to a .json or .csv file")


def run_folder(path: str | None) -> str | None:
    """Where a run is recorded: an output path that is no file."""
    return path if path is not None and not is_file_path(path) else None


def result(found: Any, as_json: bool, path: str | None) -> None:
    """Show a result, then write it: what was computed is not lost if it cannot be written."""
    if as_json:
        document(found.to_dict())
    else:
        tables(*found.tables)
        if found.footer:
            print(found.footer)
        warn(found.warnings)
    if path is None or run_folder(path) is not None:  # a run folder has it already
        return
    if Path(path).suffix.lower() == ".html":
        from loynes.report import write

        write(found, path)
    elif is_picture(path):
        from loynes.results.plots import save_picture

        save_picture(found, path)
    else:
        found.save(path)


def pairs(option: str, given: list[str] | None, example: str) -> dict[str, str]:
    """What an option of the form NAME=VALUE says, by name."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise UsageError(f"{option} {text!r}: must be written like {example}")
        found[name.strip()] = value.strip()
    return found
