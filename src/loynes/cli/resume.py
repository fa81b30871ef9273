"""The command `loynes resume`: a run folder in, the result of its question out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import ClusterOption, JsonOption, QuietOption, WorkersOption

EPILOG = "Example:\n\nloynes evaluate one-or-all --load 0.99 -o run\n\nloynes resume run"


def resume(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder that was given with -o.")],
    as_json: JsonOption = False,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Go on with a run that was stopped, to the same result."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.study.resume import resume as ask

    with asking(f"{folder}: resume", folder, quiet=quiet, cluster=cluster, workers=workers) as ways:
        found = ask(folder, **ways)
    output.result(found, as_json, folder)
