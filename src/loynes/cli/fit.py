"""The command `loynes fit`: a log in, a model file out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.replay import (
    ColumnOption,
    FormatOption,
    ServersOption,
    StrictOption,
    TraceArgument,
    column_names,
)

EPILOG = (
    "Examples:\n\nloynes fit log.swf.gz -o model.toml\n\n"
    "loynes fit jobs.csv --servers 64 --column need=cores --law fit --arrivals mmpp -o model.toml"
)


def fit(
    trace: TraceArgument,
    servers: ServersOption = None,
    classes: Annotated[int, typer.Option("--classes", help="At most so many classes; needs are put together.")] = 12,
    law: Annotated[
        str, typer.Option("--law", metavar="empirical|fit|exponential|lognormal", help="For run times.")
    ] = "empirical",
    arrivals: Annotated[
        str,
        typer.Option(
            "--arrivals", metavar="auto|poisson|renewal|mmpp|batch|trace", help="auto: the simplest that will do."
        ),
    ] = "auto",
    compare: Annotated[
        bool, typer.Option("--compare/--no-compare", help="Evaluate the model, beside the log's replayed waits.")
    ] = True,
    form: FormatOption = None,
    column: ColumnOption = None,
    strict: StrictOption = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random numbers.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Write the model: a .toml or .json file.")
    ] = None,
) -> None:
    """Make a model of a recorded workload, and say how well it reproduces the log's waits."""
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.results.fit import check_model_path
    from loynes.traces.read import read_trace

    if out is not None:
        check_model_path(out)
    with watching(f"{trace}: fit") as progress:
        progress(0.0, "reading")
        recorded = read_trace(trace, format=form, columns=column_names(column), strict=strict)
        from loynes.study.fit import fit as ask

        found = ask(
            recorded, servers=servers, classes=classes, law=law, arrivals=arrivals, compare=compare, seed=seed,
            progress=progress,
        )  # fmt: skip
    if as_json:
        output.document(found.to_dict())
    else:
        output.tables(found.summary, found.arrivals_summary)
        lost = sum(found.skipped.values())
        print(f"fit of {found.jobs} jobs ({lost} lines skipped), {found.seconds:.1f} s")
        if found.difference is not None:
            verdict = "within" if found.agrees else "beyond"
            print(f"the model's mean wait is off the log's by {found.difference:+.1%}, {verdict} its own noise")
        output.warn(found.warnings)
    if out is not None:
        found.save(out)
