"""The command line that gives the same answer again.

Every result is to say it itself, as `command_lines()`; until then it is put together here from what the record holds.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from loynes.results.comparison import Comparison
from loynes.results.exact import Exact
from loynes.results.fit import FittedModel
from loynes.results.plan import Plan
from loynes.results.policies import PolicyComparison
from loynes.results.records import Evaluation, Threshold
from loynes.results.replay import Replay
from loynes.results.samples import SampleFile
from loynes.results.simulation import Simulation
from loynes.results.sweep import Sweep

Options = dict[str, object]
MODEL = "model.toml"
# What does not change the numbers, or is in the models that the page shows.
_IN_MODELS = ("max_jobs", "discipline", "backend", "names", "second", "load_a", "without", "change", "changes")
_FLAGS = {"objectives": "slo", "start": "from"}


def again(result: object, question: Options | None = None) -> list[str]:
    """The command lines; `question` is what a run folder says was asked, and says more than the record."""
    if hasattr(result, "command_lines"):
        return list(result.command_lines())
    command, files, options = _of_record(result)
    if question is not None and command and isinstance(given := question.get("options"), dict):
        kept = {name: value for name, value in given.items() if name not in _IN_MODELS}
        options = kept if not isinstance(result, Comparison) else options | _without_load(kept)
    return [f"loynes {command} {files}{_words(options)}"] if command else []


def asked_of(path: str | Path) -> Options | None:
    """What a run folder says was asked; None where there is none that can be read."""
    try:
        question = json.loads((Path(path) / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return question if isinstance(question, dict) and isinstance(question.get("options"), dict) else None


def _without_load(options: Options) -> Options:
    return {name: value for name, value in options.items() if name not in ("load", "rate")}


def _of_record(result: object) -> tuple[str, str, Options]:
    """Command, files, and the options that a record tells."""
    match result:
        case Threshold() as r:
            order = {} if r.discipline == "fcfs" else {"discipline": r.discipline}
            return "stability", MODEL, {**order, "confidence": r.confidence, "seed": r.seed}
        case Evaluation() as r:
            return "evaluate", MODEL, {"rate": r.rate, "method": r.method, "confidence": r.confidence, "seed": r.seed}
        case SampleFile() as r:
            return "sample", MODEL, {"rate": r.rate, "method": r.method, "samples": r.samples, "seed": r.seed}
        case Sweep() as r:
            axes = {name: list(dict.fromkeys(point.config[name] for point in r.points)) for name in r.vary}
            rates: Options = {f"{name}s": axes.pop(name) for name in ("load", "rate") if name in axes}
            return "sweep", MODEL, {**rates, "vary": axes, "confidence": r.confidence, "seed": r.seed}
        case Plan() as r:
            rate = {} if r.vary == "rate" else {"rate": r.rate}
            goals = {"slo": [goal.text for goal in r.objectives], "vary": r.vary}
            return "plan", MODEL, {**goals, **rate, "confidence": r.confidence, "seed": r.seed}
        case Comparison() as r:
            rate = {"rate": r.a.rate} if r.a.rate == r.b.rate else {}
            return "compare", "a.toml b.toml", {**rate, "confidence": r.confidence, "seed": r.seed}
        case PolicyComparison() as r:
            limits = {} if r.limits else {"no_limits": True}
            options = {"policies": ",".join(r.policies), "rates": sorted({point.rate for point in r.points})}
            return "compare", MODEL, {**options, **limits, "confidence": r.confidence, "seed": r.seed}
        case Simulation() as r:
            times: Options = {"horizon": r.horizon, "at": [moment.time for moment in r.moments]}
            run: Options = {"policy": r.policy, "rate": r.rate, "start": r.start, **times, "replicas": r.replicas}
            return "simulate", MODEL, {**run, "confidence": r.confidence, "seed": r.seed}
        case Replay() as r:
            by = {} if r.by == "need" else {"by": r.by}
            numbers = {} if r.policy == "fcfs" else {"policy": r.policy, **_policy_numbers(r)}
            return "replay", shlex.quote(r.source), {"servers": r.servers, **by, **numbers}
        case Exact() as r:
            return "exact", MODEL, {"rate": r.rate}
        case FittedModel() as r:
            return "fit", shlex.quote(r.source), {"law": r.law}
    return ("check", MODEL, {}) if type(result).__name__ == "Check" else ("", "", {})


def _policy_numbers(result: Replay) -> Options:
    """A policy's numbers; requested times are what it believes in by default."""
    by_request = str(result.details.get("believed", "")).startswith("requested")
    names = ("window", "threshold", *(() if by_request else ("inflation",)))
    return {name: f"{result.details[name]:g}" for name in names if name in result.details}


def _words(options: Options) -> str:
    """Options as a shell reads them; what is None, False or empty is left out."""
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + _FLAGS.get(name, name).replace("_", "-")
        if name in ("loads", "rates", "at", "policies") and isinstance(value, list) and value:
            value = ",".join(map(_plain, value))
        if isinstance(value, dict):
            value = [f"{key}={','.join(map(_plain, values))}" for key, values in value.items()]
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, list) else [value]:
                words += [flag, shlex.quote(_plain(one))]
    return "".join(f" {word}" for word in words)


def _plain(value: object) -> str:
    # Seventeen digits where they are needed: another rate is another question.
    return repr(value) if isinstance(value, float) else str(value)
