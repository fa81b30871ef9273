"""The command `loynes sample`: options in, `study.sample`, files out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    BackendOption,
    ClusterOption,
    DeltaOption,
    DisciplineOption,
    JsonOption,
    LoadOption,
    MaxJobsOption,
    ModelArgument,
    QuietOption,
    RateOption,
    SeedOption,
    SetOption,
    WorkersOption,
    warm_up,
)

EPILOG = "Example:\n\nloynes sample one-or-all --load 0.5 --samples 10000 -o workloads.parquet"


def sample(
    model: ModelArgument,
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="PATH", help="A .parquet or .csv file, else a run folder.")
    ],
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
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Independent samples of the stationary workload, written to a file."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load as read
    from loynes.study.sample import sample as ask

    chosen = read(model, changes or ())
    with asking(
        f"{chosen.label}: samples", output.run_folder(out), quiet=quiet, cluster=cluster, workers=workers
    ) as ways:
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
            **ways,
        )
    output.result(found, as_json, None)
