"""The command `loynes simulate`: a policy in, `study.simulate`, tables or JSON out."""

from __future__ import annotations

from typing import Annotated

import typer

from loynes.cli.options import (
    ClusterOption,
    ConfidenceOption,
    JsonOption,
    LoadOption,
    ModelArgument,
    PictureOption,
    QuietOption,
    RateOption,
    SeedOption,
    SetOption,
    WorkersOption,
)

EPILOG = (
    "Examples:\n\nloynes simulate five-class-exponential --policy easy --load 0.75\n\n"
    "loynes simulate five-class-exponential --load 0.75 --from stationary --at 10,100,1000\n\n"
    "loynes simulate five-class-exponential --load 0.7 --from stationary --horizon 2000 "
    "--set 'scenario=[{from=200, until=400, lost=\"10%\"}]'\n\n"
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
    horizon: Annotated[
        float | None, typer.Option("--horizon", metavar="T", help="From time 0 to T, through the model's scenario.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="T1,T2,...", help="The state at these times; default tenths of T.")
    ] = None,
    window: Annotated[int | None, typer.Option("--window", help="How far smash looks; default 10.")] = None,
    threshold: Annotated[
        int | None, typer.Option("--threshold", help="Idle servers at which quick-swap switches; default 1.")
    ] = None,
    inflation: Annotated[
        float, typer.Option("--inflation", help="How many times too long run times are guessed (easy, conservative).")
    ] = 1.0,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Observed in each replica; default 200000.")] = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", help="Independent runs; default 32, with a horizon 512.")
    ] = None,
    burn_in: Annotated[
        int | None, typer.Option("--burn-in", help="Jobs to leave out first; default a quarter of --jobs.")
    ] = None,
    changes: SetOption = None,
    seed: SeedOption = 1,
    confidence: ConfidenceOption = 0.99,
    as_json: JsonOption = False,
    out: PictureOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Event by event under any policy, from any state, also over time."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.errors import UsageError
    from loynes.model import load as read
    from loynes.study.simulate import simulate as ask
    from loynes.study.sweep import values_of

    output.check_target(out, pictures=True)
    chosen = read(model, changes or ())
    moments = [] if at is None else values_of(at, "--at")
    if not all(isinstance(x, int | float) for x in moments):
        raise UsageError(f"--at {at!r}: must be times, such as 10,100,1000")
    folder = output.run_folder(out)
    with asking(f"{chosen.label}: {policy}", folder, quiet=quiet, cluster=cluster, workers=workers) as ways:
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
            horizon=horizon,
            at=moments,
            confidence=confidence,
            seed=seed,
            folder=folder,
            **ways,
        )
    output.result(found, as_json, out)
