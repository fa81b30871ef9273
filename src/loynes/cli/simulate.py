"""The command `loynes simulate`: a policy in, `study.simulate`, tables or JSON out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    ConfidenceOption,
    JsonOption,
    LoadOption,
    ModelArgument,
    QuietOption,
    RateOption,
    SeedOption,
    SetOption,
)

EPILOG = (
    "Examples:\n\nloynes simulate five-class-exponential --policy easy --load 0.75\n\n"
    "loynes simulate five-class-exponential --load 0.75 --from stationary --at 10,100,1000\n\n"
    "Policies: fcfs, first-fit, easy, conservative, most-servers-first, least-servers-first, shortest-first, "
    "smash, quick-swap, server-filling."
)


def simulate(
    model: ModelArgument,
    policy: Annotated[str, typer.Option("--policy", help="Who starts next; see below.")] = "fcfs",
    rate: RateOption = None,
    load: LoadOption = None,
    start: Annotated[
        str, typer.Option("--from", metavar="empty|stationary|FILE", help="The state replicas begin in.")
    ] = "empty",
    at: Annotated[str | None, typer.Option("--at", metavar="T1,T2,...", help="Also the state at these times.")] = None,
    window: Annotated[int | None, typer.Option("--window", help="How far smash looks; default 10.")] = None,
    threshold: Annotated[
        int | None, typer.Option("--threshold", help="Idle servers at which quick-swap switches; default 1.")
    ] = None,
    inflation: Annotated[
        float, typer.Option("--inflation", help="How many times too long run times are guessed (easy, conservative).")
    ] = 1.0,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Observed in each replica; default 200000.")] = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", help="Independent runs; default 32, with --at 512.")
    ] = None,
    burn_in: Annotated[
        int | None, typer.Option("--burn-in", help="Jobs to leave out first; default a quarter of --jobs.")
    ] = None,
    changes: SetOption = None,
    seed: SeedOption = 1,
    confidence: ConfidenceOption = 0.99,
    as_json: JsonOption = False,
    out: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="PATH", help="Also write the result: .json, .csv or .parquet."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Event by event under any policy, from any state, also over time."""
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.errors import UsageError
    from loynes.model import load as read
    from loynes.results.files import is_file_path
    from loynes.study.simulate import simulate as ask
    from loynes.study.sweep import values_of

    output.check_target(out)
    if out is not None and (not is_file_path(out) or out.endswith(".html")):
        raise UsageError(f"{out}: is written to a .json, .csv or .parquet file")
    chosen = read(model, changes or ())
    moments = [] if at is None else values_of(at, "--at")
    if not all(isinstance(x, int | float) for x in moments):
        raise UsageError(f"--at {at!r}: must be times, such as 10,100,1000")
    with watching(f"{chosen.label}: {policy}", quiet=quiet) as progress:
        found = ask(
            chosen,
            policy=policy,
            window=window,
            threshold=threshold,
            inflation=inflation,
            rate=rate,
            load=load,
            start=start,
            jobs=jobs,
            replicas=replicas,
            burn_in=burn_in,
            at=moments,
            confidence=confidence,
            seed=seed,
            progress=progress,
        )
    output.result(found, as_json, out)
