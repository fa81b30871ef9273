"""Forecasts: 1,000 running and 5,000 waiting jobs on 10,000 servers, made from a fixed seed; no history, one process.

python benchmarks/eta.py                10,000 draws each under fcfs and EASY
python benchmarks/eta.py --quick        a tenth of the draws
"""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import loynes
from recorder import Recorder, options, timed

SERVERS, RUNNING, WAITING = 10_000, 1_000, 5_000
# Draws, and the seconds of processor time wanted for 10,000 of them on two cores.
POLICIES = {"fcfs": (10_000, 2.0), "easy": (10_000, 30.0)}
LIMITS = 3600.0 * np.array([1, 2, 4, 8, 12, 24])


def listing(path: Path) -> None:
    """Running jobs take all servers; those in line need 1 to 128, powers of two, fewer of the large ones."""
    rng = np.random.default_rng(1)
    running = np.full(RUNNING, SERVERS // RUNNING)
    moved = rng.integers(0, SERVERS // RUNNING, RUNNING // 2)
    running[::2] += moved
    running[1::2] -= moved
    waiting = 2 ** np.minimum(rng.geometric(0.4, WAITING) - 1, 7)
    limits = rng.choice(LIMITS, RUNNING + WAITING)
    elapsed = np.floor(rng.random(RUNNING) * limits[:RUNNING])
    rows = [f"{i},R,{running[i]},{elapsed[i]:.0f},{limits[i]:.0f}" for i in range(RUNNING)]
    rows += [f"{RUNNING + i},PD,{waiting[i]},,{limits[RUNNING + i]:.0f}" for i in range(WAITING)]
    path.write_text("\n".join(["id,state,need,elapsed,limit", *rows]) + "\n")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", loynes.LoynesWarning)
    record = Recorder("eta", chosen.record)
    print(f"{RUNNING} running and {WAITING} waiting jobs on {SERVERS} servers\n\n| policy | draws | wall, s | "
          "processor, s | processor, ms a draw | wanted, wall, idle | the last in line starts, median, h |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "now.csv"
        listing(path)
        for policy, (usual, wanted) in POLICIES.items():
            draws = usual // 10 if chosen.quick else usual
            ask = partial(loynes.eta, path, servers=SERVERS, policy=policy)
            ask(draws=4)  # compiled
            took, found = timed(partial(ask, draws=draws))
            record.note(f"{RUNNING} running, {WAITING} waiting, {policy}", took, draws, "draws")
            last = found.jobs[-1].median / 3600.0
            print(f"| {policy} | {draws} | {took.wall:.2f} | {took.processor:.2f} | {took.processor / draws * 1e3:.3g} "
                  f"| {wanted / 10.0:g} | {last:.1f} |", flush=True)  # fmt: skip
    record.save()


if __name__ == "__main__":
    main()
