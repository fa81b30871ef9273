"""What the benchmark scripts share: how long work took, and one JSON file of all of it.

A script notes what it measured under names that stay the same from one version to the next; `save` puts them under the
script's name into a file that other scripts have written to. compare.py reads two such files. Processor time is that of
the process, its threads and the processes it has waited for: other work on the machine adds to it by crowding caches
only, while wall time is anybody's guess there.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
LATEST = RESULTS / "latest.json"


class Took(NamedTuple):
    """Seconds."""

    wall: float
    processor: float


def clock() -> Took:
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(time.perf_counter(), time.process_time() + waited_for.ru_utime + waited_for.ru_stime)


def since(began: Took) -> Took:
    now = clock()
    return Took(now.wall - began.wall, now.processor - began.processor)


def timed(work: Callable[[], Any], times: int = 1) -> tuple[Took, Any]:
    """Of some runs the one in the middle by processor time, and what the last one gave."""
    found = []
    for _ in range(times):
        began = clock()
        result = work()
        found.append(since(began))
    return sorted(found, key=lambda took: took.processor)[len(found) // 2], result


def machine() -> dict[str, Any]:
    """What timings depend on; nothing that names the machine."""
    from loynes.kernels.cpu.threads import cores

    packages = {name: importlib.metadata.version(name) for name in ("loynes", "numpy", "scipy", "numba")}
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **packages,
    }


def _processor() -> str:
    """As the system calls it, with the vector instructions that decide how fast kernels are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    known = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    vectors = next((name for name in ("avx512f", "avx2") if name in known.get("flags", "").split()), "")
    return " ".join(filter(None, (known.get("model name", platform.machine()), vectors)))


class Recorder:
    """Notes of one script."""

    def __init__(self, script: str, path: Path | None = LATEST) -> None:
        self._script, self._path = script, path
        self.notes: dict[str, dict[str, Any]] = {}

    def note(self, name: str, took: Took, work: float = 1.0, unit: str = "answer") -> None:
        """So much work (jobs, answers) in so many seconds."""
        digits = {"wall": round(took.wall, 4), "processor": round(took.processor, 4)}
        self.notes[name] = {"work": work, "unit": unit, **digits}

    def save(self) -> None:
        """Into the file, in place of what it had of this script; and the machine that it was measured on last."""
        if self._path is None:
            return
        known = json.loads(self._path.read_text()) if self._path.exists() else {"scripts": {}}
        known["machine"] = machine()
        known["scripts"][self._script] = self.notes
        known["scripts"] = dict(sorted(known["scripts"].items()))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"machine": known["machine"], "scripts": known["scripts"]}, indent=1) + "\n")


def options(description: str | None) -> argparse.ArgumentParser:
    """A parser with what all scripts have: where notes go."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--record", type=Path, default=LATEST, metavar="FILE", help=f"where notes go: results/{LATEST.name}"
    )
    return parser
