"""A synthetic job log in the Standard Workload Format, for trying `loynes replay` without a real one.

python examples/make_swf.py log.swf
python examples/make_swf.py log.swf.gz --jobs 1000000 --servers 4096 --load 0.6 --blemishes 0.05 --seed 7

Arrivals follow a day and night cycle, needs are powers of two, run times are lognormal, and all of it is drawn from one
seed. Nothing here was measured anywhere: the header says so. The recorded waits are made up,
too. With `--blemishes`, such a share of lines has what real logs have: missing fields, cancelled jobs,
run times of zero.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np

HEADER = """\
; Version: 2.2
; Computer: none
; Note: SYNTHETIC. Drawn by examples/make_swf.py with seed {seed}; no machine, no users, no measurement.
; UnixStartTime: 1704067200
; TimeZoneString: UTC
; MaxJobs: {jobs}
; MaxRecords: {jobs}
; MaxNodes: {servers}
; MaxProcs: {servers}
; MaxQueues: 3
"""
DAY = 86400.0
MEDIAN_RUN, RUN_SHAPE = 900.0, 1.6  # seconds; standard deviation of the logarithm
SWING = 0.8  # of the arrival rate, around its mean, over a day


def draw(jobs: int, servers: int, load: float, blemishes: float, seed: int) -> np.ndarray:
    """All lines, one row each of 18 whole numbers."""
    rng = np.random.default_rng(seed)
    powers = np.arange(int(np.log2(max(servers // 2, 1))) + 1)
    share = 0.75**powers
    need = 2 ** rng.choice(powers, size=jobs, p=share / share.sum())
    run = np.maximum(1, np.rint(rng.lognormal(np.log(MEDIAN_RUN), RUN_SHAPE, jobs)))
    # Points of a unit-rate process, put where the integral of the daily rate reaches them.
    span = float(need @ run) / (load * servers)
    grid = np.linspace(0.0, span, max(1000, int(48 * span / DAY)))
    passed = grid - SWING * DAY / (2 * np.pi) * (np.sin(2 * np.pi * grid / DAY))
    place = np.sort(rng.uniform(0.0, passed[-1], jobs))
    submit = np.floor(np.interp(place, passed, grid))
    submit -= submit[0]
    wait = np.where(rng.random(jobs) < 0.6, 0.0, np.floor(rng.exponential(600.0, jobs) * (1 + np.log2(need))))
    lines = np.full((jobs, 18), -1, dtype=np.int64)
    lines[:, 0] = np.arange(1, jobs + 1)
    lines[:, 1], lines[:, 2], lines[:, 3] = submit, wait, run
    lines[:, 4] = lines[:, 7] = need
    lines[:, 8] = 3600 * np.ceil(2 * run / 3600)
    lines[:, 10] = np.where(rng.random(jobs) < 0.93, 1, 0)
    lines[:, 11] = rng.zipf(1.6, jobs).clip(1, 200)
    lines[:, 12] = lines[:, 11] % 7 + 1
    lines[:, 14] = np.where(need * 8 > servers, 3, np.where(run < 600, 1, 2))
    lines[:, 15] = 1
    _blemish(lines, rng.permutation(jobs)[: int(blemishes * jobs)])
    return lines


def _blemish(lines: np.ndarray, chosen: np.ndarray) -> None:
    """A quarter each: cancelled before they ran, allocation not recorded, run time not recorded, run time zero."""
    cancelled, allocation, unknown, zero = np.array_split(chosen, 4)
    lines[cancelled, 3], lines[cancelled, 4], lines[cancelled, 10] = 0, 0, 5
    lines[allocation, 4] = -1
    lines[unknown, 3] = -1
    lines[zero, 3] = 0


def write(path: Path, lines: np.ndarray, servers: int, seed: int) -> None:
    text = HEADER.format(seed=seed, jobs=len(lines), servers=servers)
    body = "\n".join(" ".join(map(str, line)) for line in lines.tolist())
    data = (text + body + "\n").encode("ascii")
    # No time of day in the gzip header: the same seed gives the same bytes.
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="a .swf or .swf.gz file to write")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--servers", type=int, default=128)
    parser.add_argument("--load", type=float, default=0.5, help="offered work as a share of the servers")
    parser.add_argument("--blemishes", type=float, default=0.0, help="share of lines with something missing")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    lines = draw(options.jobs, options.servers, options.load, options.blemishes, options.seed)
    write(options.path, lines, options.servers, options.seed)


if __name__ == "__main__":
    main()
