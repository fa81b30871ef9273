"""The recurrence against an event-by-event run of the same jobs that shares no code with it (SimPy)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from loynes.inputs.jobs import Jobs, draw
from loynes.inputs.tables import job_table
from loynes.kernels import reference
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load
from support import models


def event_by_event(jobs: Jobs, servers: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrival, start and end of every job; a SimPy container serves requests strictly in order."""
    environment = simpy.Environment()
    free = simpy.Container(environment, init=servers, capacity=servers)
    arrival, start, end = (np.zeros(len(jobs.need)) for _ in range(3))

    def job(n: int):
        arrival[n] = environment.now
        yield free.get(int(jobs.need[n]))
        start[n] = environment.now
        yield environment.timeout(jobs.service[n])
        end[n] = environment.now
        yield free.put(int(jobs.need[n]))

    def source():
        for n in range(len(jobs.need)):
            environment.process(job(n))
            yield environment.timeout(jobs.gap[n])

    environment.process(source())
    environment.run()
    return arrival, start, end


def lost_server_time(jobs: Jobs, servers: int, arrival: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    """Integral over time of the idle servers while some job waits, from the jobs' times alone."""
    events = sorted(
        itertools.chain(
            ((t, 0, 1) for t in arrival),
            ((t, int(a), -1) for t, a in zip(start, jobs.need, strict=True)),
            ((t, -int(a), 0) for t, a in zip(end, jobs.need, strict=True)),
        )
    )
    lost, busy, waiting, before = 0.0, 0, 0, 0.0
    for now, taken, queued in events:
        if waiting:
            lost += (servers - busy) * (now - before)
        busy += taken
        waiting += queued
        before = now
    return lost


def recurrence(model: Model, jobs: Jobs) -> tuple[np.ndarray, np.ndarray]:
    W = np.zeros(model.servers)
    waits, losses = [], []
    for first in range(0, len(jobs.need), BLOCK):
        part = slice(first, first + BLOCK)
        W, wait, loss = reference.advance_block(W, jobs.need[part], jobs.service[part], jobs.gap[part])
        waits.append(wait)
        losses.append(loss)
    return np.concatenate(waits), np.concatenate(losses)


@settings(max_examples=25)
@given(models(most_servers=25), st.integers(0, 2**32), st.floats(0.3, 1.5))
def test_starts_and_loss_of_any_model(model: Model, seed: int, load_factor: float) -> None:
    jobs = draw(job_table(model, load_factor * model.ideal), seed, 0, 0, np.arange(4 * BLOCK))
    wait, loss = recurrence(model, jobs)
    arrival, start, end = event_by_event(jobs, model.servers)
    scale = float(end.max())
    np.testing.assert_allclose(wait, start - arrival, rtol=0, atol=1e-12 * scale)
    lost = lost_server_time(jobs, model.servers, arrival, start, end)
    assert np.sum(loss) == pytest.approx(lost, rel=1e-9, abs=1e-9 * scale)


def test_the_loss_is_not_cut_at_the_next_arrival() -> None:
    """The paper's printed formula cuts every term at tau and counts too little; ours is what the events lose."""
    model = load("five-class-exponential")
    jobs = draw(job_table(model, 1.35), 5, 0, 0, np.arange(64 * BLOCK))
    wait, loss = recurrence(model, jobs)
    times = event_by_event(jobs, model.servers)
    lost = lost_server_time(jobs, model.servers, *times)
    assert np.sum(loss) == pytest.approx(lost, rel=1e-9)
    assert wait.max() > 0
    W, cut = np.zeros(model.servers), 0.0
    for a, sigma, tau in zip(jobs.need, jobs.service, jobs.gap, strict=True):
        cut += float(np.sum(np.minimum(W[a - 1] - W[:a], tau)))
        W = reference.sorted_step(W, a, sigma, tau)
    assert cut < 0.6 * lost
