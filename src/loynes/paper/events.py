"""First come, first served, event by event: an independent check that shares nothing with the recurrence.

Its own random numbers (NumPy's generator), its own clock, and a heap of departures.
"""

from __future__ import annotations

import heapq
import math
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numpy.typing import NDArray

from loynes.errors import UsageError
from loynes.estimate import Estimate, mean_of
from loynes.kernels.cpu.threads import cores
from loynes.model import Exponential, Model


def mean_wait(model: Model, rate: float, jobs: int, replicas: int, seed: int, confidence: float = 0.99) -> Estimate:
    """Of Poisson arrivals and exponential services, from independent runs that leave out their first quarter."""
    if not all(isinstance(c.service, Exponential) for c in model.classes):
        raise UsageError(f"{model.label}: this check is there for exponential services only")
    shares = np.cumsum([c.probability for c in model.classes])
    means = np.array([c.service.mean for c in model.classes])
    needs = np.array([model.demand(c)[0] for c in model.classes], np.int64)

    def one(replica: int) -> float:
        return float(
            _run(np.random.default_rng([seed, replica]), model.servers, rate, shares / shares[-1], means, needs, jobs)
        )

    with ThreadPoolExecutor(cores()) as pool:
        return mean_of(np.array(list(pool.map(one, range(replicas)))), confidence)


@numba.njit(nogil=True)
def _run(
    rng: np.random.Generator,
    servers: int,
    rate: float,
    shares: NDArray[np.float64],
    means: NDArray[np.float64],
    needs: NDArray[np.int64],
    jobs: int,
) -> float:
    free = servers
    running = [(math.inf, 0)]
    arrival, now, total = 0.0, 0.0, 0.0
    skipped = jobs // 4
    for number in range(jobs):
        arrival += rng.exponential(1.0 / rate)
        job = np.searchsorted(shares, rng.random())
        now = max(now, arrival)  # nobody starts before the job ahead of it
        while running[0][0] <= now or free < needs[job]:
            ended, given = heapq.heappop(running)
            free += given
            now = max(now, ended)
        free -= needs[job]
        heapq.heappush(running, (now + rng.exponential(means[job]), needs[job]))
        if number >= skipped:
            total += now - arrival
    return total / (jobs - skipped)
