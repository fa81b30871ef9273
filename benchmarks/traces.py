"""Reading and replaying a million recorded jobs on one core. Writes only temporary files; prints Markdown.

python benchmarks/traces.py
python benchmarks/traces.py --jobs 100000
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from loynes.errors import LoynesWarning
from loynes.kernels.cpu.replay import run_replay
from loynes.questions.replay import replay
from loynes.traces.read import read_trace

MAKER = Path(__file__).parents[1] / "examples" / "make_swf.py"
SERVERS = 4096


def maker():
    spec = importlib.util.spec_from_file_location("make_swf", MAKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def took(work: Callable[[], object], times: int = 3) -> float:
    """The median of some runs, in seconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def reading(path: Path) -> float:
    return took(lambda: read_trace(path))


def sacct(lines: np.ndarray, path: Path) -> None:
    def stamp(seconds: np.ndarray) -> list[str]:
        return np.datetime_as_string((1704067200 + seconds).astype("datetime64[s]")).tolist()

    submit, start = lines[:, 1], lines[:, 1] + lines[:, 2]
    numbers = (lines[:, 0], lines[:, 3], lines[:, 4])
    rows = zip(*(column.tolist() for column in numbers), stamp(submit), stamp(start), strict=True)
    with path.open("w") as file:
        file.write("JobID|Submit|Start|Elapsed|AllocCPUS|State\n")
        for job, run, need, came, began in rows:
            days = f"{run // 86400}-" if run >= 86400 else ""
            clock = f"{days}{run // 3600 % 24:02}:{run // 60 % 60:02}:{run % 60:02}"
            file.write(f"{job}|{came}|{began}|{clock}|{need}|COMPLETED\n")


def table(lines: np.ndarray, path: Path) -> None:
    columns = {"submit": lines[:, 1], "need": lines[:, 4], "service": lines[:, 3], "wait": lines[:, 2]}
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), path)
        return
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text(",".join(columns) + "\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", LoynesWarning)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    make = maker()
    lines = make.draw(options.jobs, SERVERS, 0.6, 0.0, 1)
    print(f"## Traces: {options.jobs} jobs, {SERVERS} servers, one core, Python {sys.version.split()[0]}\n")
    print("| what | seconds | wanted | jobs a second |")
    print("| --- | ---: | ---: | ---: |")

    def row(what: str, seconds: float, wanted: str = "") -> None:
        print(f"| {what} | {seconds:.2f} | {wanted} | {options.jobs / seconds / 1e6:.2f} M |", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name, write in (
            ("log.swf", lambda lines, path: make.write(path, lines, SERVERS, 1)),
            ("log.swf.gz", lambda lines, path: make.write(path, lines, SERVERS, 1)),
            ("log.sacct", sacct),
            ("log.csv", table),
            ("log.parquet", table),
        ):
            path = Path(folder) / name
            write(lines, path)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            row(f"read {name.removeprefix('log')} ({size})", reading(path), "5" if name == "log.swf" else "")
            if name == "log.swf":
                damaged = path.read_bytes().split(b"\n")
                damaged[20::100] = [text[: len(text) // 2] for text in damaged[20::100]]
                path.write_bytes(b"\n".join(damaged))
                row("read .swf, every 100th line cut in half", reading(path))
                make.write(path, lines, SERVERS, 1)
                trace = read_trace(path)
    replay(trace)  # compile
    row("`replay`, figures and series included", took(lambda: replay(trace)), "2")
    for form, as_runs in (("run list", True), ("dense vector", False)):
        edges, part = np.array([0.0, np.inf]), slice(0, None if as_runs else 100_000)
        arrays = (trace.need[part], trace.service[part], trace.submit[part])
        run_replay(SERVERS, *(array[:100] for array in arrays), edges, as_runs)
        seconds = took(partial(run_replay, SERVERS, *arrays, edges, as_runs))
        scale = len(trace.need) / len(arrays[0])
        row(f"the kernel alone, {form}" + (f", from {len(arrays[0])} jobs" if scale > 1 else ""), seconds * scale)


if __name__ == "__main__":
    main()
