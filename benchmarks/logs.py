"""How far answers from a log can be trusted, and how fast they are: coverage, backtests, speed.

python benchmarks/logs.py coverage [LOGS]     data intervals on synthetic logs of ten weeks whose truth is known
python benchmarks/logs.py backtest LOG ...    the first half of a window forecasts the second half, at its own load
python benchmarks/logs.py speed               77,000 jobs, 100 resamples, easy, 8 sizes
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import loynes
from loynes.kernels.events.engine import run_jobs
from loynes.traces.trace import Trace
from recorder import Recorder, timed

DAY = 86400.0
SERVERS = 64
NEEDS, SHARES = np.array([1, 2, 4, 8, 16]), np.array([0.4, 0.2, 0.2, 0.12, 0.08])
RESAMPLES = 60


def synthetic(rng: np.random.Generator, weeks: int, load: float, heavy: bool = False, daily: float = 300.0) -> Trace:
    """Sessions of four like jobs on average, more by day than by night and on weekdays than on weekends."""
    hours = np.arange(168)
    wave = (1.0 + 0.7 * np.sin(2 * np.pi * (hours % 24 - 9) / 24)) * np.where(hours // 24 >= 5, 0.4, 1.0)
    count = rng.poisson(daily / 4.0 / 24.0 * np.tile(wave / wave.mean(), weeks))
    begin = np.sort((np.repeat(np.arange(168 * weeks), count) + rng.random(count.sum())) * 3600.0)
    size = rng.geometric(0.25, len(begin))
    session = np.repeat(np.arange(len(begin)), size)
    pause = rng.exponential(300.0, len(session))
    first = np.diff(session, prepend=-1) > 0
    pause[first] = 0.0
    since = np.cumsum(pause)
    submit = np.repeat(begin, size) + since - np.repeat(since[first], size)
    need = np.repeat(rng.choice(NEEDS, len(begin), p=SHARES), size)
    sigma = 1.0 if heavy else 0.5
    length = np.repeat(rng.lognormal(-0.5 * sigma**2, sigma, len(begin)), size)
    length *= rng.lognormal(-0.045, 0.3, len(session)) if heavy else rng.exponential(1.0, len(session))
    order = np.argsort(submit, kind="stable")
    submit = submit[order] - submit[order[0]]
    service = (length * load * SERVERS * DAY / daily / float(NEEDS @ SHARES))[order]
    return Trace(submit, need[order], service, np.full(len(order), np.nan), {"user": session[order]})


def replayed(trace: Trace, policy: str, servers: int = SERVERS) -> np.ndarray[Any, np.dtype[np.float64]]:
    times, _ = run_jobs(np.array([servers]), trace.submit, trace.need[:, None], trace.service, policy)
    return np.asarray(times[:, 0])


def coverage(logs: int) -> None:
    print("kind,policy,load,metric,truth,held,below,above,logs")
    for heavy, policy, load in ((False, "easy", 0.7), (False, "fcfs", 0.6), (True, "easy", 0.6)):
        wait = replayed(synthetic(np.random.default_rng([8, 0]), 1500, load, heavy), policy)
        truth = {"wait.mean": wait.mean(), "wait.p95": np.quantile(wait, 0.95), "no_wait": np.mean(wait == 0.0)}
        hits: dict[str, list[int]] = {name: [] for name in truth}
        for number in range(logs):
            log = synthetic(np.random.default_rng([7, number]), 10, load, heavy)
            found = loynes.evaluate(log, servers=SERVERS, policy=policy, resamples=RESAMPLES, seed=number).overall
            values = {"wait.mean": found.wait.mean, "wait.p95": found.wait.p95, "no_wait": found.no_wait}
            for name, value in values.items():
                hits[name].append(int(np.sign(truth[name] - value.low) + np.sign(truth[name] - value.high)))
        for name, sides in hits.items():
            held, below, above = (np.mean([side == which for side in sides]) for which in (0, -2, 2))
            kind = "heavy" if heavy else "moderate"
            print(
                f"{kind},{policy},{load},{name},{truth[name]:.6g},{held:.3f},{below:.3f},{above:.3f},{logs}", flush=True
            )


def part(log: Trace, begin: float, end: float) -> Trace:
    return log.select((log.submit >= begin) & (log.submit < end))


def backtest(paths: list[str], half: int = 28, step: int = 14) -> None:
    """Whether the mean wait of the second half lies in the interval ahead of the first half, run at its own load."""
    print("log,policy,windows,held,below,above")
    for path in paths:
        log = loynes.read_trace(path)
        servers = int(log.servers or log.need.max())
        log = log.fitting(servers)
        days = int(log.span / DAY)
        size = min(half, max(7, days // 6))
        for policy in ("fcfs", "easy"):
            sides = []
            for start in range(0, days - 2 * size + 1, min(step, max(1, size // 4))):
                one, two = (part(log, (start + k * size) * DAY, (start + (k + 1) * size) * DAY) for k in (0, 1))
                if min(one.jobs, two.jobs) < 100:
                    continue
                scale = (two.work / size) / (one.work / size)
                found = loynes.evaluate(one, servers=servers, policy=policy, resamples=RESAMPLES, run_times=scale)
                wait = float(loynes.replay(two, servers=servers, policy=policy).overall.wait.mean.estimate)
                mean = found.ahead.overall.wait.mean
                sides.append(int(np.sign(wait - mean.low) + np.sign(wait - mean.high)))
            held, below, above = (np.mean([side in which for side in sides]) for which in ((0, -1, 1), (-2,), (2,)))
            print(f"{Path(path).name},{policy},{len(sides)},{held:.3f},{below:.3f},{above:.3f}", flush=True)


def speed() -> None:
    log = synthetic(np.random.default_rng(1), 37, 0.7)
    sizes = list(range(SERVERS, SERVERS + 32, 4))
    ask = partial(loynes.sweep, log, servers=SERVERS, policy="easy", resamples=100, vary={"servers": sizes})
    took, _ = timed(ask)
    what = f"{log.jobs} jobs, 100 resamples, easy, {len(sizes)} sizes"
    record = Recorder("logs")
    record.note(what, took)
    record.save()
    print(f"{what}: {took.wall:.1f} s, {took.processor:.1f} s of processor time")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, *more = sys.argv[1:] or ["speed"]
    if what == "coverage":
        coverage(int(more[0]) if more else 200)
    elif what == "backtest":
        backtest(more)
    else:
        speed()
