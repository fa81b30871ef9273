"""The command `loynes report`: a saved result in, one HTML file out."""

from __future__ import annotations

from typing import Annotated

import typer

EPILOG = (
    "Examples:\n\nloynes evaluate five-class-exponential --load 0.75 -o result.json\n\n"
    "loynes report result.json -o waits.html"
)


def report(
    result: Annotated[str, typer.Argument(metavar="RESULT|DIR", help="A result (.json) or a run folder.")],
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="PATH", help="The .html file to write.")
    ] = "report.html",
) -> None:
    """A result as one HTML page: words, charts, tables, and how sure they are."""
    from pathlib import Path

    from loynes.errors import UsageError
    from loynes.report import write
    from loynes.report.reproduce import asked_of
    from loynes.results.reading import read_result

    source = Path(result)
    if (source / "run.json").exists() and not (source / "result.json").exists():
        raise UsageError(f"{result}: the run is not finished; loynes resume {result}")
    size = write(read_result(source), out, asked_of(source))
    print(f"{out}: {size / 1000:.0f} kB")
