"""How often forecasts of starts hold what they say, on synthetic logs (examples/make_swf.py): rows of docs/eta.md.

    python benchmarks/starts.py --jobs 60000 --seed 101 102 103 --policy fcfs easy
    python benchmarks/starts.py --jobs 60000 --seed 101 102 103 --true-laws

With --true-laws forecasts know the laws that made the log, of a run time given its limit: what is left between their
shares and what intervals say comes from the log, whose starts depend on each other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from loynes.execution.context import Context
from loynes.questions.answering.backtesting import LEARNT_FIRST, Judged, backtest, chosen_instants
from loynes.questions.answering.forecasting import asked_limits, limits_of
from loynes.questions.answering.machines import Machines
from loynes.questions.answering.orders import order_of
from loynes.traces.read import read_trace
from loynes.traces.run_times import POINTS, RunTimeLaws
from loynes.traces.snapshot import Snapshot

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
import make_swf

LAW = stats.lognorm(s=make_swf.RUN_SHAPE, scale=make_swf.MEDIAN_RUN)
HOUR = 3600.0


@dataclass(frozen=True)
class TrueLaws:
    """Limits of these logs are twice the run time, rounded up to hours: what that tells of it."""

    def laws_of(self, snapshot: Snapshot, kinds: tuple[str, ...]) -> RunTimeLaws:
        limits, law = np.unique(snapshot.limit, return_inverse=True)
        below, above = LAW.cdf(0.5 * (limits - HOUR)), LAW.cdf(0.5 * limits)
        share = np.linspace(0.0, 1.0, POINTS + 1)
        quantiles = LAW.ppf(below[:, None] + share * (above - below)[:, None]) / limits[:, None]
        passed = np.clip((LAW.cdf(snapshot.elapsed) - below[law]) / (above - below)[law], 0.0, 1.0)
        return RunTimeLaws(quantiles, law, snapshot.limit, snapshot.elapsed, passed, snapshot.limit)


def judged(path: Path, policy: str, servers: int, instants: int, draws: int, laws: Any) -> Judged:
    trace, machines, order, context = read_trace(path), Machines({"servers": servers}), order_of(policy, {}), Context()
    trace = machines.fitting(trace)
    start = machines.replayed(trace, order, limits_of(trace), context.deadline.look)
    moments = chosen_instants(trace, start, instants, LEARNT_FIRST, 1)
    asked = asked_limits(trace)
    return backtest(trace, start, asked, machines, order, moments, model=laws, draws=draws, seed=1, context=context)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=60_000)
    parser.add_argument("--servers", type=int, default=256)
    parser.add_argument("--load", type=float, default=0.5)
    parser.add_argument("--seed", type=int, nargs="+", default=[101])
    parser.add_argument("--policy", nargs="+", default=["fcfs"])
    parser.add_argument("--instants", type=int, default=500)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--true-laws", action="store_true", help="forecasts know the laws that made the log")
    chosen = parser.parse_args()
    print("| log, policy | in 50% | in 80% | in 95% | recalibrated: 80% | 95% | below | processor, s |\n"
          "| --- | --- | --- | --- | --- | --- | --- | ---: |", flush=True)  # fmt: skip
    for seed in chosen.seed:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.swf"
            make_swf.write(
                path, make_swf.draw(chosen.jobs, chosen.servers, chosen.load, 0.0, seed), chosen.servers, seed
            )
            for policy in chosen.policy:
                begun = time.process_time()
                laws = TrueLaws() if chosen.true_laws else None
                found = judged(path, policy, chosen.servers, chosen.instants, chosen.draws, laws)
                ours, recalibrated, limits, _ = found.scores
                cells = [f"{100 * one.coverage[share]:.1f} ±{100 * one.coverage_error[share]:.1f}"
                         for one in (ours, recalibrated) for share in ("0.5", "0.8", "0.95")]  # fmt: skip
                cells.pop(3)
                print(f"| {chosen.jobs:,} jobs, seed {seed}, {policy} | {' | '.join(cells)} | "
                      f"{1.0 - ours.pinball / limits.pinball:.0%} | {time.process_time() - begun:.0f} |",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
