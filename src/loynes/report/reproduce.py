"""The command line that gives the same answer again, and what else it depends on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from loynes.report.leaves import at, number, texts
from loynes.report.words import about, duration, percent

MODEL = "model.toml"
MODELS = "a.toml b.toml"
# What does not change the numbers, or is in the model that the page shows.
_NOT_ASKED = ("max_jobs", "discipline", "backend")
# Of a comparison: how the second model came about, and the first one's load; the page has both models and the rate.
_OF_PAIRS = ("names", "second", "load_a", "load", "without", "change", "changes", "rate")


def asked_of(path: str | Path) -> dict[str, Any] | None:
    """What a run folder says was asked; None where there is none that can be read."""
    try:
        asked = json.loads((Path(path) / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return asked if isinstance(asked, dict) and isinstance(asked.get("options"), dict) else None


def command_of(data: dict[str, Any], command: str, asked: dict[str, Any] | None) -> list[str]:
    """One line a command; the model is the one that the page shows."""
    if asked is not None and asked.get("command") == command:
        said = {name: value for name, value in asked["options"].items() if name not in _NOT_ASKED}
    else:
        said = _known(data, command)
    if command == "compare":
        rates = {number(at(data, side, "rate")) for side in ("a", "b")}
        shared = {"rate": rates.pop()} if len(rates) == 1 else {}
        said = shared | {name: value for name, value in said.items() if name not in _OF_PAIRS}
    if command == "policies":
        command = "compare"
        said = {"policies": ",".join(texts(said.pop("policies", None)))} | _of_policies(said)
        return [f"loynes {command} {MODEL}{_options(said)}"]
    return [f"loynes {command} {MODELS if command == 'compare' else MODEL}{_options(said)}"]


def _of_policies(said: dict[str, Any]) -> dict[str, Any]:
    """What is by default is not said."""
    limits = {"no_limits": True} if said.get("limits") is False else {}
    return {
        name: value for name, value in said.items() if name != "limits" and (name, value) != ("inflation", 1.0)
    } | limits


def _known(data: dict[str, Any], command: str) -> dict[str, Any]:
    """What a result alone tells of its question."""
    said: dict[str, Any] = {}
    match command:
        case "sweep":
            values: dict[str, list[Any]] = {name: [] for name in texts(data.get("vary"))}
            for point in data.get("points") or []:
                for name in values:
                    value = at(point, "config", name)
                    if value not in values[name]:
                        values[name].append(value)
            for name, axis in (("load", "loads"), ("rate", "rates")):
                if name in values:
                    said[axis] = values.pop(name)
            said["vary"] = values
        case "plan":
            said["slo"] = [at(goal, "text") for goal in data.get("objectives") or []]
            said["vary"] = data.get("vary")
            if data.get("vary") != "rate":
                said["rate"] = data.get("rate")
        case "evaluate" | "sample":
            said = {name: data.get(name) for name in ("rate", "method", "samples")}
        case "simulate":
            said = {name: data.get(name) for name in ("policy", "rate", "start", "horizon")}
            said["at"] = [at(moment, "time") for moment in data.get("moments") or []]
            said |= {name: value for name, value in (data.get("details") or {}).items() if said["horizon"] is None}
        case "policies":
            said = {"policies": data.get("policies"), "limits": bool(data.get("limits"))}
            said["rates"] = sorted(
                {rate for p in data.get("points") or [] if (rate := number(at(p, "rate"))) is not None}
            )
        case "stability":
            said = {"discipline": data.get("discipline")} if data.get("discipline") != "fcfs" else {}
    return said | {name: data.get(name) for name in ("confidence", "seed") if data.get(name) is not None}


def _options(said: dict[str, Any]) -> str:
    words: list[str] = []
    for name, value in said.items():
        flag = "--" + {"objectives": "slo", "start": "from"}.get(name, name).replace("_", "-")
        if name in ("loads", "rates", "at") and isinstance(value, list):
            value = ",".join(_plain(x) for x in value)
        if isinstance(value, dict):
            value = [f"{key}={','.join(_plain(x) for x in values)}" for key, values in value.items()]
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            for one in value if isinstance(value, list) else [value]:
                words += [flag, shlex.quote(_plain(one))]
    return "".join(f" {word}" for word in words)


def _plain(value: Any) -> str:
    # Seventeen digits where they are needed: another rate is another question.
    return repr(value) if isinstance(value, float) else str(value)


def how_of(data: dict[str, Any], *more: tuple[str, str]) -> list[tuple[str, str]]:
    """Term and value: what the numbers depend on, and what they cost."""
    found: list[tuple[str, str]] = list(more)
    for name in ("method", "backend", "seed"):
        if data.get(name) is not None:
            found.append((name, str(data[name])))
    confidence, jobs, seconds = (number(data.get(name)) for name in ("confidence", "jobs", "seconds"))
    if confidence is not None:
        found.append(("confidence", percent(confidence, 7)))
    if jobs is not None:
        found.append(("jobs computed", about(jobs)))
    if seconds is not None:
        found.append(("time taken", duration(seconds)))
    if at(data, "model", "hash"):
        found.append(("model hash", str(at(data, "model", "hash"))))
    found.append(("loynes", str(data.get("version") or "unknown version")))
    return found
