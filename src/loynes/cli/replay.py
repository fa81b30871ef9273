"""The command `loynes replay`: options in, `study.replay`, tables or JSON out."""

from __future__ import annotations

from typing import Annotated

import typer

EPILOG = (
    "Examples:\n\nloynes replay log.swf.gz --servers 128 --by queue\n\n"
    "loynes replay log.swf.gz --policy easy\n\n"
    "loynes replay jobs.csv --servers 64 --column submit=arrival_time --column need=cores -o jobs.parquet"
)


# What every command on a job log takes.
TraceArgument = Annotated[
    str, typer.Argument(metavar="TRACE", help="A job log: SWF, Slurm's sacct -P, CSV or Parquet; .gz too.")
]
ServersOption = Annotated[
    int | None, typer.Option("--servers", help="How many servers; default: what the log's header says.")
]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", metavar="swf|sacct|csv|parquet", help="Of the log; default by name and contents."),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=COLUMN", help="Where submit, need, service or wait is. Repeatable."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Stop at the first damaged line, instead of counting.")]


def replay(
    trace: TraceArgument,
    servers: ServersOption = None,
    form: FormatOption = None,
    column: ColumnOption = None,
    strict: StrictOption = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="LABEL", help="Classes by a column of the log: queue, user, ...")
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="Who starts next: fcfs, easy, first-fit, ...; see loynes simulate --help.")
    ] = "fcfs",
    inflation: Annotated[
        float | None,
        typer.Option("--inflation", help="Run times are believed so many times too long; default: requested ones."),
    ] = None,
    window: Annotated[int | None, typer.Option("--window", help="How far smash looks; default 10.")] = None,
    threshold: Annotated[
        int | None, typer.Option("--threshold", help="Idle servers at which quick-swap switches; default 1.")
    ] = None,
    windows: Annotated[
        int | None, typer.Option("--windows", help="Also show a series of so many windows of time (JSON: 24).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="Also write the result: a .json file, every job to a .csv or .parquet file, else a run folder.",
        ),
    ] = None,
) -> None:
    """Run a recorded workload: first come, first served, or under another policy."""
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.results.replay import check_path
    from loynes.traces.read import read_trace

    if out is not None:
        check_path(out)
    columns = column_names(column)
    with watching(f"{trace}: replay") as progress:
        progress(0.0, "reading")
        recorded = read_trace(trace, format=form, columns=columns, strict=strict)
        progress(0.5, f"{recorded.jobs} jobs")
        # Compiled code is loaded only now: a file that cannot be read is refused at once.
        from loynes.study.replay import WINDOWS
        from loynes.study.replay import replay as ask

        found = ask(
            recorded,
            servers=servers,
            classes=by,
            windows=WINDOWS if windows is None else windows,
            policy=policy,
            inflation=inflation,
            window=window,
            threshold=threshold,
        )
    if as_json:
        output.document(found.to_dict())
    else:
        shown = [found.summary, found.system_summary, found.trace_summary]
        output.tables(*shown, *([] if windows is None else [found.series_summary]))
        for example in found.examples:
            print(f"damaged: {example}")
        took = f"read in {found.read_seconds:.2f} s, replayed in {found.seconds:.2f} s"
        believed = f", believing in {found.details['believed']}" if "believed" in found.details else ""
        order = "" if found.policy == "fcfs" else f"{found.policy}{believed}, "
        print(f"replay, {order}{found.jobs} jobs, {found.kernel}; {took}")
        output.warn(found.warnings)
    if out is not None:
        found.save(out)


def column_names(given: list[str] | None) -> dict[str, str]:
    """What --column says: our names of columns -> the log's."""
    from loynes.errors import UsageError

    columns = {}
    for text in given or ():
        ours, equals, theirs = text.partition("=")
        if not (ours and equals and theirs):
            raise UsageError(f"--column {text!r}: must be NAME=COLUMN, for instance submit=arrival_time")
        columns[ours] = theirs
    return columns
