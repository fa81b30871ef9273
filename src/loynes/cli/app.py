"""The `loynes` command. Nothing heavy is imported until a command runs: --help must be quick."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from loynes._version import __version__
from loynes.cli import (
    compare,
    evaluate,
    fit,
    plan,
    replay,
    report,
    reproduce,
    resume,
    sample,
    simulate,
    stability,
    sweep,
)
from loynes.cli.options import (
    BackendOption,
    DisciplineOption,
    JsonOption,
    LoadOption,
    MaxJobsOption,
    ModelArgument,
    RateOption,
    SeedOption,
    SetOption,
    warm_up,
)

app = typer.Typer(
    name="loynes",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="How much load can a cluster take whose jobs need several servers at once, how long does each class of job "
    "wait, and what does head-of-line blocking cost?",
    epilog="Start with:  loynes evaluate five-class-exponential --load 0.75",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loynes {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """See --help."""


@app.command(epilog="Examples:\n\nloynes models\n\nloynes models one-or-all > mine.toml")
def models(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this model's file.")] = None,
) -> None:
    """List the built-in models, or print one."""
    from loynes.cli import output
    from loynes.model import builtin_names, builtin_text, load
    from loynes.results.table import Table

    if name is not None:
        typer.echo(builtin_text(name), nl=False)
        return
    found = [load(n) for n in builtin_names()]
    rows = tuple(
        (
            m.label,
            m.size if m.resources else str(m.servers),
            str(len(m.classes)),
            m.ideal,
            (m.description or "").split(". ")[0],
        )
        for m in found
    )
    output.tables(Table("built-in models", ("name", "servers", "classes", "ideal rate", "description"), rows))


@app.command(epilog="Example:\n\nloynes check mine.toml --set arrivals.rate=1.2")
def check(model: ModelArgument, changes: SetOption = None, as_json: JsonOption = False) -> None:
    """Validate a model; ideal rate, offered work, moments, which methods apply."""
    from loynes.cli import output
    from loynes.model import load
    from loynes.study.check import check as ask

    found = ask(load(model, changes or ()))
    if as_json:
        output.document(found.to_dict())
    else:
        output.tables(found.summary, found.figures)
        output.warn(found.warnings)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a model file."""
    from loynes.cli import output
    from loynes.model import Model

    output.document(Model.model_json_schema())


app.command(epilog=stability.EPILOG)(stability.stability)
app.command(epilog=evaluate.EPILOG)(evaluate.evaluate)
app.command(epilog=resume.EPILOG)(resume.resume)
app.command(epilog=sample.EPILOG)(sample.sample)


@app.command(epilog="Examples:\n\nloynes exact five-class-exponential\n\nloynes exact one-or-all --load 0.9")
def exact(
    model: ModelArgument,
    rate: RateOption = None,
    load: LoadOption = None,
    exceeds: Annotated[
        list[float] | None, typer.Option("--exceeds", metavar="X", help="Also P(wait > X). Repeatable.")
    ] = None,
    max_states: Annotated[int, typer.Option("--max-states", help="The largest chain to build.")] = 500_000,
    changes: SetOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Also write the result: a .json or .csv file.")
    ] = None,
) -> None:
    """The exact threshold, and with a rate the exact waits, where chains or formulas give them."""
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.model import load as read
    from loynes.study.exact import exact as ask

    output.check_file(out)
    chosen = read(model, changes or ())
    with watching(f"{chosen.label}: exact") as progress:
        found = ask(chosen, rate=rate, load=load, exceeds=exceeds or (), max_states=max_states, progress=progress)
    if as_json:
        output.document(found.to_dict())
    else:
        output.tables(found.summary, found.class_summary)
        size = f", {found.states} states" if found.states else ""
        print(f"{found.method}{size}, {found.seconds:.1f} s")
        output.warn(found.warnings)
    if out is not None:
        found.save(out)


@app.command(epilog="Example:\n\nloynes certify one-or-all --load 0.9")
def certify(
    model: ModelArgument,
    rate: RateOption = None,
    load: LoadOption = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """What bounds the workload from above at this rate: the certificate, and what it assumes."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.model import load as read
    from loynes.study.certify import certify as ask

    chosen = read(model, changes or ())
    with watching(f"{chosen.label}: certificate") as progress:
        found = ask(
            chosen,
            rate=rate,
            load=load,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            progress=progress,
        )
    if as_json:
        output.document(found.to_dict())
    else:
        typer.echo(str(found))


app.command(epilog=sweep.EPILOG)(sweep.sweep)
app.command(epilog=plan.EPILOG)(plan.plan)
app.command(epilog=compare.EPILOG)(compare.compare)
app.command(epilog=report.EPILOG)(report.report)
app.command(epilog=reproduce.EPILOG)(reproduce.reproduce)
app.command(epilog=simulate.EPILOG)(simulate.simulate)
app.command(epilog=replay.EPILOG)(replay.replay)
app.command(epilog=fit.EPILOG)(fit.fit)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors a user can cause become one line on standard error and an exit code."""
    from loynes.errors import LoynesError

    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot take ± shows another sign instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return app(args=arguments)
    except LoynesError as error:
        print(f"loynes: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except MemoryError:
        print("loynes: not enough memory; ask for fewer replicas, samples or servers", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"loynes: standard output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
