"""A run that was stopped goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.kernels.cpu.compiled import FINGERPRINT
from loynes.model import load
from loynes.results.reading import read_result
from loynes.study.evaluate import evaluate
from loynes.study.plan import plan
from loynes.study.policies import compare_policies
from loynes.study.progress import Progress, silent
from loynes.study.runfolder import complete, question
from loynes.study.sample import sample
from loynes.study.simulate import simulate
from loynes.study.stability import stability
from loynes.study.sweep import sweep

COMMANDS: dict[str, Any] = {
    "evaluate": evaluate,
    "stability": stability,
    "sample": sample,
    "plan": plan,
    "sweep": sweep,
    "simulate": simulate,
    "policies": compare_policies,
}


def resume(folder: str | Path, *, executor: Any = None, progress: Progress = silent) -> Any:
    """The result of a run folder: read, if the run was complete; else computed from where it was stopped.

    The result is the same, to the last byte, as that of a run that was never stopped. A folder of another version of
    loynes is refused. An `executor` may do the work, whoever did it before.
    """
    asked = question(folder)
    if asked["command"] not in COMMANDS:
        raise UsageError(f"{folder}: a run of {asked['command']!r} cannot be resumed")
    if complete(folder):
        return read_result(folder)
    for what, now in (("version", __version__), ("kernels", FINGERPRINT[:16])):
        if asked.get(what) != now:
            raise UsageError(
                f"{folder}: was begun by another loynes ({what} {asked.get(what)}, this one has {now}): numbers may "
                "differ; resume it with that one, or begin anew in another folder"
            )
    ask = COMMANDS[asked["command"]]
    ways: dict[str, Any] = {"folder": folder, "executor": executor, "progress": progress}
    return ask(load(asked["model"]), **asked["options"], **ways)
