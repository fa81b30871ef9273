"""The command `loynes compare`: two models in, `study.compare`, differences with intervals out."""

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
    OutOption,
    QuietOption,
    RateOption,
    SeedOption,
    SetOption,
    WorkersOption,
    warm_up,
)

EPILOG = (
    "Examples:\n\nloynes compare five-class-exponential --without T15 --load 0.75\n\n"
    "loynes compare five-class-exponential --change classes.T15.service.mean=5 --load 0.75\n\n"
    "loynes compare before.toml after.toml --rate 1.3"
)


def compare(
    model: ModelArgument,
    other: Annotated[str | None, typer.Argument(metavar="[OTHER]", help="The model to compare it with.")] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--change", metavar="PATH=VALUE", help="Instead: the same model, changed so. Repeatable."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="CLASS", help="Instead: without this class. Repeatable.")
    ] = None,
    rate: RateOption = None,
    load: Annotated[
        float | None, typer.Option("--load", help="Of both: a fraction of the first model's threshold.")
    ] = None,
    method: Annotated[str, typer.Option("--method", metavar="sandwich|forward", help="As for evaluate.")] = "sandwich",
    precision: Annotated[
        float, typer.Option("--precision", help="Relative half-width of the first model's mean wait to reach.")
    ] = 0.01,
    samples: Annotated[
        int | None, typer.Option("--samples", help="Instead: so many observed arrivals (at least).")
    ] = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    confidence: ConfidenceOption = 0.99,
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
    out: OutOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Two models on the same jobs: differences of waits and losses, with intervals."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load as read
    from loynes.study.compare import compare as ask

    output.check_target(out)
    first = read(model, changes or ())
    second = None if other is None else read(other, changes or ())
    folder = output.run_folder(out)
    with asking(f"{first.label}: compare", folder, quiet=quiet, cluster=cluster, workers=workers) as ways:
        found = ask(
            first,
            second,
            change=change or (),
            without=without or (),
            rate=rate,
            load=load,
            method=method,
            precision=precision,
            samples=samples,
            confidence=confidence,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            folder=folder,
            **ways,
        )
    output.result(found, as_json, out)
