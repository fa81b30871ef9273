"""The command `loynes stability`: options in, `study.stability`, tables or JSON out."""

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
    SeedOption,
    SetOption,
    WorkersOption,
    warm_up,
)

EPILOG = "Example:\n\nloynes stability five-class-pareto --precision 0.001"


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
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
    out: OutOption = None,
) -> None:
    """The largest arrival rate the cluster can take, with a bracket."""
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load
    from loynes.study.stability import stability as ask

    output.check_target(out)
    chosen = load(model, changes or ())
    with asking(
        f"{chosen.label}: stability", output.run_folder(out), quiet=quiet, cluster=cluster, workers=workers
    ) as ways:
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
            **ways,
        )
    output.result(found, as_json, out)
