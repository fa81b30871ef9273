"""The command `loynes evaluate`: options in, `study.evaluate`, tables or JSON out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    BackendOption,
    ClusterOption,
    ConfidenceOption,
    DeltaOption,
    DisciplineOption,
    JsonOption,
    LoadOption,
    MaxJobsOption,
    ModelArgument,
    PictureOption,
    QuietOption,
    RateOption,
    SeedOption,
    SetOption,
    WorkersOption,
    warm_up,
)

EPILOG = (
    "Examples:\n\nloynes evaluate five-class-exponential --load 0.75\n\n"
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
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
    out: PictureOption = None,
) -> None:
    """Waits of every class, and the state of the cluster, at one arrival rate."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load as read
    from loynes.study.evaluate import evaluate as ask

    output.check_target(out, pictures=True)
    chosen = read(model, changes or ())
    with asking(
        f"{chosen.label}: {method}", output.run_folder(out), quiet=quiet, cluster=cluster, workers=workers
    ) as ways:
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
            **ways,
        )
    output.result(found, as_json, out)
