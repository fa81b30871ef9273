"""The command `loynes compare`: two models in, `study.compare`, differences with intervals out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from loynes.cli.options import (
    BackendOption,
    ClusterOption,
    ConfidenceOption,
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
    "Examples:\n\nloynes compare five-class-exponential --without T15 --load 0.75\n\n"
    "loynes compare five-class-exponential --change classes.T15.service.mean=5 --load 0.75\n\n"
    "loynes compare before.toml after.toml --rate 1.3\n\n"
    "loynes compare five-class-exponential --policies fcfs,easy,first-fit --loads 0.5:1.1:0.1 -o policies.png"
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
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies", metavar="P1,P2,...", help="Instead: the same jobs under these policies, event by event."
        ),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option("--loads", metavar="A,B|A:B:STEP", help="With --policies: fractions of fcfs's threshold."),
    ] = None,
    rates: Annotated[
        str | None, typer.Option("--rates", metavar="A,B|A:B:STEP", help="With --policies, instead: arrival rates.")
    ] = None,
    limits: Annotated[
        bool, typer.Option("--limits/--no-limits", help="With --policies: also what each can carry.")
    ] = True,
    inflation: Annotated[
        float | None,
        typer.Option("--inflation", help="With --policies: how many times too long run times are."),
    ] = None,
    window: Annotated[int | None, typer.Option("--window", help="With --policies: how far smash looks.")] = None,
    swap: Annotated[
        int | None, typer.Option("--threshold", help="With --policies: idle servers at which quick-swap switches.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="With --policies: observed in each replica; default 100000.")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", help="With --policies: independent runs; default 32.")
    ] = None,
    burn_in: Annotated[
        int | None, typer.Option("--burn-in", help="With --policies: jobs to leave out first; default a quarter.")
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
    out: PictureOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    quiet: QuietOption = False,
) -> None:
    """Two models, or several policies, on the same jobs: differences of waits and losses, with intervals."""
    with_policies = {
        "loads": loads, "rates": rates, "inflation": inflation, "window": window, "threshold": swap, "jobs": jobs,
        "replicas": replicas, "burn_in": burn_in,
    }  # fmt: skip
    given = {name: value for name, value in with_policies.items() if value is not None}
    with_models = {
        "[OTHER]": other, "--change": change, "--without": without, "--discipline": discipline, "--samples": samples,
        "--max-jobs": max_jobs,
    }  # fmt: skip
    if policies is not None:
        _refuse([name for name, value in with_models.items() if value], "means nothing with --policies")
        alone = {name: [value] for name, value in (("loads", load), ("rates", rate)) if value is not None}
        asked = {"seed": seed, "confidence": confidence, "cluster": cluster, "workers": workers, "quiet": quiet}
        _policies(model, changes or (), policies, limits, alone | given, as_json, out, asked)
        return
    _refuse([f"--{name.replace('_', '-')}" for name in given], "means something only with --policies")
    warm_up(backend)
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load as read
    from loynes.study.compare import compare as ask

    output.check_target(out, pictures=True)
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


def _refuse(names: list[str], why: str) -> None:
    from loynes.errors import UsageError

    if names:
        raise UsageError(f"{names[0]}: {why}")


def _policies(
    model: str, changes: Iterable[str], policies: str, limits: bool, given: dict[str, Any], as_json: bool,
    out: str | None, ways: dict[str, Any],
) -> None:  # fmt: skip
    """The same jobs under several policies."""
    from loynes.cli import output
    from loynes.cli.watch import asking
    from loynes.model import load as read
    from loynes.study.policies import compare_policies

    output.check_target(out, pictures=True)
    chosen = read(model, changes)
    folder = output.run_folder(out)
    names = [name.strip() for name in policies.split(",") if name.strip()]
    asked = {name: ways.pop(name) for name in ("seed", "confidence")}
    with asking(f"{chosen.label}: policies", folder, **ways) as watched:
        found = compare_policies(chosen, names, limits=limits, folder=folder, **given, **asked, **watched)
    output.result(found, as_json, out)
