"""Arrivals that are not Poisson on a GPU, or on what stands for one: the CPU's bits, in double, of all that is run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from backends.test_arrivals import ALL, ONE, model_of
from loynes.inputs.arrivals import start_places
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.forward import forward
from loynes.kernels.cpu.pile import pile
from loynes.kernels.cuda import compiled
from loynes.kernels.engine import Backward, Engine, Forward, Perfect, Pile, Sandwich
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import use_runs
from loynes.model import Model, load
from loynes.threshold.controls import Mix
from support import empty_chains, flat_piles, pairs_up_to, unsampled

CPU = CpuEngine()


class Case(NamedTuple):
    model: Model
    form: int


def kinds_of(arrivals: dict[str, Any]) -> Model:
    """Two kinds of servers, and two classes whose shares the phases say."""
    classes = [{"need": {"cpu": 2}, "service": ONE}, {"need": {"cpu": 5, "gpu": 1}, "service": ONE}]
    return load({"resources": {"cpu": 12, "gpu": 3}, "arrivals": arrivals, "classes": classes})


# Every process, and some of the forms: what is walked does not depend on the form that reads it, but for its layout.
CASES = {
    "erlang gaps": Case(model_of(ALL["erlang gaps"]), compiled.THREAD),
    "phases with a mix": Case(model_of(ALL["mmpp with a mix"]), compiled.THREAD),
    "batches of gaps": Case(model_of(ALL["batches of gaps"]), compiled.THREAD),
    "batches in phases": Case(model_of(ALL["batches of mmpp"]), compiled.WARP),
    "recorded": Case(model_of(ALL["recorded"]), compiled.RUNS),
    "a cycle with a mix, kinds": Case(kinds_of(ALL["a cycle with a mix"]), compiled.WIDE_KINDS),
    "sessions of gaps": Case(model_of(ALL["sessions of gaps"]), compiled.THREAD),
    "sessions in phases with a mix": Case(model_of(ALL["sessions in phases with a mix"]), compiled.FRONT),
}


def check_chains_and_pairs(model: Model, gpu: Engine) -> None:
    """In two runs, so that places are handed over; what was observed against CPU chains that look as rarely."""
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    rows, jobs, found = 5, 6 * BLOCK, []
    replicas, group = np.arange(3, 3 + rows), np.arange(rows) % 2
    start, paired = (start_places(table.arrivals, 7, 0, of) for of in (replicas, np.arange(rows)))
    for run in (CPU, gpu):
        chains, pairs = empty_chains(table, needs, rows), pairs_up_to(table, 9.0, rows)
        chains.places[:], pairs.places[:] = start, paired
        for begin, end in ((0, 2 * BLOCK), (2 * BLOCK, jobs)):
            run.run(Forward(table, 7, 0, replicas, needs, group, run is gpu), chains, begin, end)
            run.run(Sandwich(table, 7, 0, np.arange(rows)), pairs, begin, end)
        found.append((chains.workload, chains.places, *pairs))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    seen = empty_chains(table, needs, rows)
    seen.places[:] = start
    numbers = (BLOCK, np.uint64(7), 0, replicas, group, 0, jobs, True)
    forward(table, needs, use_runs(table), *numbers, seen.workload, seen.places, seen.tally)
    for name in ("looks", "wait", "square", "none", "bins", "loss"):
        ours, theirs = (getattr(chains.tally, name) for chains in (seen, chains))
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9, err_msg=name)


def check_piles(model: Model, gpu: Engine) -> None:
    table, needs, mix = job_table(model, None), needs_of(model), Mix.of(model)
    rows, jobs, found = 5, 4 * BLOCK, []
    piled = [flat_piles(table, mix, rows) for _ in range(3)]
    for piles in piled:
        piles.places[:] = start_places(table.arrivals, 3, 1, np.arange(rows))
    for run, piles in zip((CPU, gpu), piled, strict=False):
        for begin, end in ((0, BLOCK), (BLOCK, jobs)):
            run.run(Pile(table, 3, 1, np.arange(rows), needs, mix.blockers), piles, begin, end)
        found.append((piles.heights, piles.places, *piles.heap._replace(loss=piles.heap.base)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    seen = piled[2]
    numbers = (BLOCK, np.uint64(3), 1, 0, 0, jobs)
    pile(table, needs, mix.blockers, use_runs(table), *numbers, seen.heights, seen.places, seen.heap)
    np.testing.assert_allclose(piled[1].heap.loss, seen.heap.loss, rtol=1e-9, atol=1e-9)


def check_samples(model: Model, gpu: Engine) -> None:
    """Some that are ready soon, some late, and some that are given up."""
    table, replicas = job_table(model, 0.3 * model.ideal), np.arange(11, 31)
    rows = (table, 5, 0, replicas, BLOCK)
    for task in (
        Backward(*rows, 1 << 12, confirmations=2),
        Backward(*rows, 2 * BLOCK, confirmations=1),
        Perfect(*rows, 1 << 12, ceiling=6.0, rise=1.0),
        Perfect(*rows, 2 * BLOCK, ceiling=40.0, rise=1.0),
    ):
        found = []
        for run in (CPU, gpu):
            samples = unsampled(table, len(replicas))
            run.run(task, samples, 0, 3)
            run.run(task, samples, 3, len(replicas))
            found.append(samples)
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_array_equal(theirs, ours)


def check_floats(model: Model, gpu: Engine) -> None:
    """Close to doubles, and the same places; cut in two, the same floats."""
    table, needs = job_table(model, 0.3 * model.ideal), needs_of(model)
    found = []
    for run, cuts in ((CPU, (0, 4)), (gpu, (0, 4)), (gpu, (0, 1, 4))):
        chains = empty_chains(table, needs, 3)
        chains.places[:] = start_places(table.arrivals, 7, 0, np.arange(3))
        for begin, end in pairwise(cuts):
            task = Forward(table, 7, 0, np.arange(3), needs, np.arange(3), run is gpu)
            run.run(task, chains, begin * BLOCK, end * BLOCK)
        found.append(chains)
    exact, whole, cut = found
    np.testing.assert_allclose(whole.workload, exact.workload, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(whole.places, exact.places)
    np.testing.assert_array_equal(cut.workload, whole.workload)
    np.testing.assert_array_equal(cut.tally.none, whole.tally.none)
    np.testing.assert_allclose(cut.tally.bins, whole.tally.bins, rtol=1e-12)
