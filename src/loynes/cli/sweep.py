"""The command `loynes sweep`: lists of values in, `study.sweep`, one table out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    BackendOption,
    ClusterOption,
    ConfidenceOption,
    DisciplineOption,
    JsonOption,
    MaxJobsOption,
    ModelArgument,
    QuietOption,
    SeedOption,
    SetOption,
    WorkersOption,
    warm_up,
)

EPILOG = (
    "Examples:\n\nloynes sweep five-class-exponential --loads 0.1:0.9:0.2\n\n"
    "loynes sweep mine.toml --rates 1,1.2,1.4 --vary classes.T15.service.mean=5,10 -o sweep.csv"
)


def sweep(
    model: ModelArgument,
    loads: Annotated[
        str | None,
        typer.Option("--loads", metavar="VALUES", help="Fractions of the threshold: 0.1:0.95:0.05 or a,b,c."),
    ] = None,
    rates: Annotated[
        str | None, typer.Option("--rates", metavar="VALUES", help="Instead: jobs per unit of time.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="PATH=VALUES", help="Change the model: servers=16:32:4. Repeatable."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="sandwich|perfect|backward|forward", help="As for evaluate.")
    ] = "sandwich",
    precision: Annotated[
        float, typer.Option("--precision", help="Relative half-width of the overall mean wait to reach at every point.")
    ] = 0.02,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Instead: so many observed arrivals (at least) or samples a point.")
    ] = None,
    exceeds: Annotated[
        list[float] | None, typer.Option("--exceeds", metavar="X", help="Also P(wait > X). Repeatable.")
    ] = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    confidence: ConfidenceOption = 0.99,
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="Also write the tidy table (.csv, .parquet), everything (.json), a page (.html), else a run folder.",
        ),
    ] = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Waits and losses at many rates, or of a model changed in many ways, in one table."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load
    from loynes.study.sweep import sweep as ask

    output.check_target(out, pictures=True)
    chosen, varied = load(model, changes or ()), output.pairs("--vary", vary, "servers=16,20,24")
    folder = output.run_folder(out)
    with asking(f"{chosen.label}: sweep", folder, quiet=quiet, cluster=cluster, workers=workers) as ways:
        found = ask(
            chosen,
            loads=loads,
            rates=rates,
            vary=varied,
            method=method,
            precision=precision,
            samples=samples,
            exceeds=exceeds or (),
            confidence=confidence,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            folder=folder,
            **ways,
        )
    output.result(found, as_json, out)
