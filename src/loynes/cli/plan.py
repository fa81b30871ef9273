"""The command `loynes plan`: objectives in, `study.plan`, the smallest cluster or largest rate out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    BackendOption,
    ClusterOption,
    DisciplineOption,
    JsonOption,
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
    "Examples:\n\nloynes plan five-class-exponential --rate 1.5 --slo 'p95(wait) <= 20'\n\n"
    "loynes plan mine.toml --vary rate --slo 'mean(wait[T1]) <= 5' --slo 'utilization <= 0.8'"
)


def plan(
    model: ModelArgument,
    slo: Annotated[
        list[str] | None,
        typer.Option("--slo", metavar="OBJECTIVE", help="'p95(wait) <= 600', 'P(wait[T1] > 60) <= 0.01'. Repeatable."),
    ] = None,
    rate: RateOption = None,
    vary: Annotated[
        str, typer.Option("--vary", metavar="servers|resources.NAME|rate", help="What may change.")
    ] = "servers",
    most: Annotated[
        float | None, typer.Option("--most", help="Where to give up; by default 64 times the least possible.")
    ] = None,
    changes: SetOption = None,
    discipline: DisciplineOption = None,
    seed: SeedOption = 1,
    backend: BackendOption = "auto",
    confidence: Annotated[
        float, typer.Option("--confidence", help="That the answer meets every objective, and its neighbour does not.")
    ] = 0.99,
    max_jobs: MaxJobsOption = None,
    as_json: JsonOption = False,
    out: PictureOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """The smallest cluster, or the largest rate, that meets service objectives."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load
    from loynes.study.plan import plan as ask

    output.check_target(out, pictures=True)
    chosen, folder = load(model, changes or ()), output.run_folder(out)
    with asking(f"{chosen.label}: plan", folder, quiet=quiet, cluster=cluster, workers=workers) as ways:
        found = ask(
            chosen,
            slo=slo or [],
            rate=rate,
            vary=vary,
            most=most,
            confidence=confidence,
            max_jobs=max_jobs,
            discipline=discipline,
            seed=seed,
            backend=backend,
            folder=folder,
            **ways,
        )
    output.result(found, as_json, out)
