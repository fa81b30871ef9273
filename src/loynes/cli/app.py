"""The `loynes` command. Nothing heavy is imported until a command runs: --help must be quick."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from loynes._version import __version__
from loynes.cli import fit, replay

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

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (TOML or JSON), or a built-in name.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the model: classes.T1.need=2. Repeatable."),
]
RateOption = Annotated[float | None, typer.Option("--rate", help="Arrival rate, jobs per unit of time.")]
LoadOption = Annotated[
    float | None, typer.Option("--load", help="Arrival rate as a fraction of the threshold, 0 to 1.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of all randomness.")]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="auto|cpu|cuda|cuda:64",
        help="Where to compute: auto takes a GPU for large work; cuda:64 is the GPU in double precision.",
    ),
]
DisciplineOption = Annotated[
    str | None,
    typer.Option(
        "--discipline",
        metavar="fcfs|reserving|random",
        help="Strictly in turn; what the job ahead does not take free for those behind it; or servers at random.",
    ),
]
ConfidenceOption = Annotated[float, typer.Option("--confidence", help="Confidence of every interval.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
OutOption = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="PATH", help="Also write the result: a .json or .csv file, else a run folder."
    ),
]
DeltaOption = Annotated[
    float | None,
    typer.Option("--delta", help="How likely a perfect sample may be none (perfect); default 1e-9."),
]
MaxJobsOption = Annotated[
    float | None,
    typer.Option("--max-jobs", help="Extend the run to at most so many simulated jobs. [default: 4e9; on a GPU 4e11]"),
]


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


@app.command(epilog="Example:\n\nloynes stability five-class-pareto --precision 0.001")
def stability(
    model: ModelArgument,
    precision: Annotated[float, typer.Option("--precision", help="Relative width of the bracket to reach.")] = 0.005,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="auto|bracket|regenerative|doubling",
            help="Bounds from the pile's ends, cycles between jobs that need all servers, or the paper's Algorithm 2.",
        ),
    ] = "auto",
    discipline: DisciplineOption = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", help="Independent piles; default by the number of classes.")
    ] = None,
    changes: SetOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    confidence: ConfidenceOption = 0.99,
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """The largest arrival rate the cluster can take, with a bracket."""
    _warm_up(backend)
    from loynes.cli import output
    from loynes.model import load
    from loynes.study.stability import stability as ask

    output.check_target(out)
    chosen = load(model, changes or ())
    with output.watching(f"{chosen.label}: stability", output.run_folder(out)) as progress:
        found = ask(
            chosen,
            precision=precision,
            confidence=confidence,
            method=method,
            discipline=discipline,
            replicas=replicas,
            max_jobs=max_jobs,
            seed=seed,
            backend=backend,
            folder=output.run_folder(out),
            progress=progress,
        )
    output.result(found, found.tables, as_json, out)


@app.command(
    epilog="Examples:\n\nloynes evaluate five-class-exponential --load 0.75\n\n"
    "loynes evaluate mine.toml --rate 1.35 --method backward --samples 10000 --json"
)
def evaluate(
    model: ModelArgument,
    rate: RateOption = None,
    load: LoadOption = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="sandwich|perfect|backward|forward",
            help="Certified: long chains from both sides, or independent samples. Lower bounds: the paper's samples, "
            "or chains from empty.",
        ),
    ] = "sandwich",
    precision: Annotated[
        float, typer.Option("--precision", help="Relative half-width of the overall mean wait to reach.")
    ] = 0.01,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Instead: so many observed arrivals (at least) or samples.")
    ] = None,
    exceeds: Annotated[
        list[float] | None, typer.Option("--exceeds", metavar="X", help="Also P(wait > X). Repeatable.")
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option("--replicas", help="Independent chains (sandwich, forward); default 128, on a GPU more."),
    ] = None,
    burn_in: Annotated[
        int | None,
        typer.Option("--burn-in", help="Jobs to discard in each chain (sandwich, forward); default by a pilot."),
    ] = None,
    confirmations: Annotated[
        int | None,
        typer.Option("--confirmations", help="Equal doublings in a row a sample must show (backward); default 1."),
    ] = None,
    initial_length: Annotated[
        int | None,
        typer.Option("--initial-length", help="First past to try, in jobs (backward); default by the model."),
    ] = None,
    delta: DeltaOption = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    confidence: ConfidenceOption = 0.99,
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Waits of every class, and the state of the cluster, at one arrival rate."""
    _warm_up(backend)
    from loynes.cli import output
    from loynes.model import load as read
    from loynes.study.evaluate import evaluate as ask

    output.check_target(out)
    chosen = read(model, changes or ())
    with output.watching(f"{chosen.label}: {method}", output.run_folder(out)) as progress:
        found = ask(
            chosen,
            rate=rate,
            load=load,
            method=method,
            precision=precision,
            samples=samples,
            exceeds=exceeds or (),
            confidence=confidence,
            replicas=replicas,
            burn_in=burn_in,
            confirmations=confirmations,
            initial_length=initial_length,
            delta=delta,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            folder=output.run_folder(out),
            progress=progress,
        )
    output.result(found, found.tables, as_json, out)


@app.command(epilog="Example:\n\nloynes evaluate one-or-all --load 0.99 -o run\n\nloynes resume run")
def resume(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder given with -o to evaluate or stability.")],
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was stopped, to the same result."""
    from loynes.cli import output
    from loynes.study.resume import resume as ask

    with output.watching(f"{folder}: resume", folder) as progress:
        found = ask(folder, progress=progress)
    output.result(found, found.tables, as_json, folder)


@app.command(epilog="Example:\n\nloynes sample one-or-all --load 0.5 --samples 10000 -o workloads.parquet")
def sample(
    model: ModelArgument,
    out: Annotated[str, typer.Option("-o", "--output", metavar="PATH", help="A .parquet or .csv file.")],
    rate: RateOption = None,
    load: LoadOption = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="perfect|backward", help="Stationary samples, or the paper's lower bounds of them."
        ),
    ] = "perfect",
    samples: Annotated[int, typer.Option("--samples", help="How many.")] = 10_000,
    confirmations: Annotated[
        int | None,
        typer.Option("--confirmations", help="Equal doublings in a row a sample must show (backward); default 1."),
    ] = None,
    delta: DeltaOption = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Independent samples of the stationary workload, written to a file."""
    _warm_up(backend)
    from loynes.cli import output
    from loynes.model import load as read
    from loynes.study.sample import sample as ask

    chosen = read(model, changes or ())
    with output.watching(f"{chosen.label}: samples") as progress:
        found = ask(
            chosen,
            out,
            rate=rate,
            load=load,
            method=method,
            samples=samples,
            confirmations=confirmations,
            delta=delta,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            progress=progress,
        )
    if as_json:
        output.document(found.to_dict())
    else:
        output.tables(found.summary)
        output.warn(found.warnings)


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
    from loynes.model import load as read
    from loynes.study.exact import exact as ask

    output.check_file(out)
    chosen = read(model, changes or ())
    with output.watching(f"{chosen.label}: exact") as progress:
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
    _warm_up(backend)
    from loynes.cli import output
    from loynes.model import load as read
    from loynes.study.certify import certify as ask

    chosen = read(model, changes or ())
    with output.watching(f"{chosen.label}: certificate") as progress:
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


app.command(epilog=replay.EPILOG)(replay.replay)
app.command(epilog=fit.EPILOG)(fit.fit)


def _warm_up(backend: str) -> None:
    from loynes.kernels.backends import warm_up

    warm_up(backend)


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
