"""First come, first served, event by event: an independent check that shares nothing with the recurrence.

Its own random numbers (NumPy's), its own clock, a heap of departures. Plain and slow.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from loynes.estimate import Estimate, mean_of
from loynes.model import Model
from loynes.model.simple_laws import Exponential


def mean_wait(model: Model, rate: float, jobs: int, replicas: int, seed: int, confidence: float = 0.99) -> Estimate:
    """Of Poisson arrivals and exponential services, from independent runs that leave out their first quarter."""
    return mean_of(np.array([_run(model, rate, jobs, seed, replica) for replica in range(replicas)]), confidence)


def _run(model: Model, rate: float, jobs: int, seed: int, replica: int) -> float:
    rng = np.random.default_rng([seed, replica])
    classes = rng.choice(len(model.classes), jobs, p=_normalised([c.probability for c in model.classes]))
    means = np.array([c.service.mean for c in model.classes])
    needs = np.array([model.demand(c)[0] for c in model.classes])
    assert all(isinstance(c.service, Exponential) for c in model.classes)
    services = (rng.exponential(1.0, jobs) * means[classes]).tolist()
    arrivals = np.cumsum(rng.exponential(1.0 / rate, jobs)).tolist()
    wanted = needs[classes].tolist()
    free = model.servers
    running: list[tuple[float, int]] = []
    now, total = 0.0, 0.0
    for arrival, need, service in zip(arrivals, wanted, services, strict=True):
        now = max(now, arrival)  # nobody starts before the job ahead of it
        while running and (running[0][0] <= now or free < need):
            ended, given = heapq.heappop(running)
            free += given
            now = max(now, ended)
        free -= need
        heapq.heappush(running, (now + service, need))
        total += now - arrival if arrival >= arrivals[jobs // 4] else 0.0
    return total / (jobs - jobs // 4)


def _normalised(shares: list[float]) -> NDArray[np.float64]:
    return np.array(shares) / math.fsum(shares)
