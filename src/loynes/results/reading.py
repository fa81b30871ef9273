"""Reading results back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loynes.errors import LoynesError
from loynes.results.comparison import Comparison
from loynes.results.plan import Plan
from loynes.results.policies import PolicyComparison
from loynes.results.records import Evaluation, Threshold
from loynes.results.replay import Replay
from loynes.results.samples import SampleFile
from loynes.results.simulation import Simulation
from loynes.results.sweep import Sweep


def read_result(path: str | Path) -> Any:
    """A result saved as .json, or the result of a run folder."""
    source = Path(path)
    timing = source / "timing.json"
    source = source / "result.json" if source.is_dir() else source
    try:
        data = json.loads(source.read_text(encoding="utf-8"))
        if timing.exists():
            data |= json.loads(timing.read_text(encoding="utf-8"))
        return _kind(data, Path(path))
    except OSError as error:
        raise LoynesError(f"{source}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LoynesError(f"{source}: not a result of loynes ({error.__class__.__name__}: {error})") from None


def _kind(data: dict[str, Any], path: Path) -> Any:
    named: dict[Any, Any] = {"sweep": Sweep, "plan": Plan, "compare": Comparison, "simulate": Simulation,
                             "policies": PolicyComparison}  # fmt: skip
    if data.get("command") in named:
        return named[data["command"]].from_dict(data)
    if data.get("method") == "replay":
        return Replay.from_dict(data)
    if "longest" in data:
        return SampleFile.from_dict(data, path)
    return Evaluation.from_dict(data) if "overall" in data else Threshold.from_dict(data)
