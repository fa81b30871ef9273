"""The same queue as a plain SimPy model: what many people would write today, and the yardstick of `make bench`."""

from __future__ import annotations

import random

import simpy

from loynes.model import Model


def mean_wait(model: Model, rate: float, jobs: int, seed: int = 1) -> float:
    """Event by event: a container hands out servers strictly in order of arrival."""
    rng = random.Random(seed)
    environment = simpy.Environment()
    servers = simpy.Container(environment, init=model.servers, capacity=model.servers)
    classes = list(model.classes)
    weights = [c.probability for c in classes]
    waited = 0.0

    def job(need: int, service: float):
        nonlocal waited
        arrived = environment.now
        yield servers.get(need)
        waited += environment.now - arrived
        yield environment.timeout(service)
        yield servers.put(need)

    def source():
        for drawn in rng.choices(classes, weights, k=jobs):
            environment.process(job(drawn.need, rng.expovariate(1.0 / drawn.service.mean)))
            yield environment.timeout(rng.expovariate(rate))

    environment.process(source())
    environment.run()
    return waited / jobs
