"""Options that commands share."""

from __future__ import annotations

from typing import Annotated

import typer

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
        "-o",
        "--output",
        metavar="PATH",
        help="Also write the result: a .json, .csv, .parquet or .html file, else a run folder.",
    ),
]
# The same where there is a picture of the result.
PictureOption = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="PATH",
        help="Also write the result: a .json, .csv, .parquet, .html, .png or .svg file, else a run folder.",
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
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Compute on N processes of this machine (Dask).")
]
ClusterOption = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Compute on a Dask cluster: tcp://host:8786. The same result."),
]


def warm_up(backend: str) -> None:
    """Start a GPU while the rest is read."""
    from loynes.kernels.backends import warm_up as start

    start(backend)
