"""The command `loynes reproduce`: the paper's tables and figures, beside ours."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import BackendOption, ClusterOption, JsonOption, QuietOption, SeedOption, WorkersOption

EPILOG = (
    "Examples:\n\nloynes reproduce all --quick -o reproduced\n\nloynes reproduce hol-big-jobs\n\n"
    "Names: one-or-all, hol-big-jobs, hol-rate, densities, waits-exponential, waits-hyperexponential, waits-laws, "
    "cell-b, random-assignment."
)


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME ...|all]", help="Which tables and figures; default all.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="All in ten minutes on two cores, with wider intervals.")
    ] = False,
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Where data and figures go.")
    ] = "reproduced",
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """The paper's tables and figures, computed again: data, figures, and how they agree with the print."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.paper.reproduce import reproduce as ask
    from loynes.paper.reproduce import summary

    with asking("reproduce", None, quiet=quiet, cluster=cluster, workers=workers) as ways:
        found = ask(names or "all", out, quick=quick, seed=seed, backend=backend, **ways)
    if as_json:
        output.document({one.name: {"agrees": one.agrees, "checks": [vars(c) for c in one.checks]} for one in found})
    else:
        output.tables(summary(found))
        for one in found:
            for check in one.checks:
                if not check.agrees:
                    print(f"{one.name}: {check.what}: ours {check.ours}, printed {check.printed}")
        print(f"data, figures and agreement.md are in {out}")
    if not all(one.agrees for one in found):
        raise typer.Exit(1)
