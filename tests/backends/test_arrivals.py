"""Arrivals of every kind: kernels draw what the reference draws, forwards and into the past, and what is claimed of the
time a block takes holds for every place the process can end in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loynes.errors import ModelError
from loynes.inputs.arrivals import PERIODIC, RECORDED, start_places
from loynes.inputs.jobs import draw
from loynes.inputs.tables import JobTable, job_table, needs_of
from loynes.kernels import reference
from loynes.kernels.cpu.engine import CpuEngine
from loynes.kernels.cpu.jobs import draw_block, new_block
from loynes.kernels.cpu.trail import extend_trail, new_trail, trail_at
from loynes.kernels.engine import Backward, BlockBefore, BlockState, Forward
from loynes.kernels.reference import BLOCK
from loynes.model import Model, load
from loynes.stationary.block_bounds import Gaps
from support import empty_chains, unsampled

ONE = {"law": "exponential", "mean": 1.0}
TURNS = [[-1.0, 1.0], [0.5, -0.5]]
MMPP = {"process": "mmpp", "generator": TURNS, "rates": [3.0, 0.2]}
MAP = {"process": "map", "d0": [[-3.0, 1.0], [0.5, -1.0]], "d1": [[0.5, 1.5], [0.5, 0.0]]}
DAY = {"process": "periodic", "cycle": 24.0, "rates": [0.5, 4.0, 0.0, 1.0]}
PROCESSES: dict[str, dict[str, Any]] = {
    "erlang gaps": {"process": "renewal", "gap": {"law": "erlang", "phases": 3, "mean": 2.0}},
    "constant gaps": {"process": "renewal", "gap": {"law": "deterministic", "value": 1.0}},
    "recorded law": {
        "process": "renewal",
        "gap": {"law": "empirical", "values": [0.0, 1.0, 5.0], "weights": [2, 1, 1]},
    },
    "mmpp": MMPP,
    "map": MAP,
    "mmpp with a mix": MMPP | {"mix": [[0.9, 0.1], [0.2, 0.8]]},
    "batches": {"process": "batch", "size": {"law": "exponential", "mean": 3.0}},
    "batches of mmpp": {"process": "batch", "size": {"law": "deterministic", "value": 4.0}, "of": MMPP},
    "batches of gaps": {
        "process": "batch",
        "size": {"law": "uniform", "low": 0.0, "high": 3.0},
        "of": {"process": "renewal", "gap": {"law": "uniform", "low": 0.0, "high": 1.0}},
    },
    "recorded": {"process": "trace", "gaps": [0.5, 0.0, 2.0, 1.0, 0.1] * 30},
    "a cycle": DAY,
    "a cycle with a mix": DAY | {"mix": [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]},
    "short cycles": {"process": "periodic", "cycle": 0.01, "rates": [0.0, 1.0, 0.0, 0.0, 3.0]},
}
# What is not bounded, and so has no certificate.
SESSIONS: dict[str, dict[str, Any]] = {
    "sessions": {
        "process": "sessions",
        "size": {"law": "exponential", "mean": 3.0},
        "gap": {"law": "deterministic", "value": 0.1},
        "of": {"process": "poisson", "rate": 0.5},
        "repeat": 0.4,
    },
    "sessions of gaps": {
        "process": "sessions",
        "size": {"law": "empirical", "values": [1.0, 2.0, 150.0], "weights": [5.0, 4.0, 1.0]},
        "gap": {"law": "uniform", "low": 0.0, "high": 0.2},
        "of": {"process": "renewal", "gap": {"law": "erlang", "phases": 2, "mean": 3.0}, "rate": 0.5},
        "repeat": 1.0,
    },
    "sessions in phases": {
        "process": "sessions",
        "size": {"law": "uniform", "low": 0.0, "high": 5.0},
        "gap": {"law": "lognormal", "mean": 0.3, "cv": 1.0},
        "of": MMPP,
    },
    "sessions in phases with a mix": {
        "process": "sessions",
        "size": {"law": "deterministic", "value": 3.0},
        "gap": {"law": "exponential", "mean": 0.3},
        "of": MMPP | {"mix": [[0.9, 0.1], [0.2, 0.8]]},
        "repeat": 0.5,
    },
}
ALL = PROCESSES | SESSIONS


def model_of(arrivals: dict[str, Any]) -> Model:
    shares = (
        [{}, {}]
        if "mix" in arrivals or "mix" in arrivals.get("of", {})
        else [{"probability": 0.6}, {"probability": 0.4}]
    )
    classes = [{"name": f"c{i}", "need": 1 + 2 * i, "service": ONE} | share for i, share in enumerate(shares)]
    return load({"servers": 5, "arrivals": arrivals, "classes": classes})


@pytest.mark.parametrize("name", sorted(ALL))
def test_blocks_are_the_reference(name: str) -> None:
    table = job_table(model_of(ALL[name]), 0.7)
    reach = 5 * BLOCK
    expected = draw(table, 5, 2, 9, np.arange(-reach, reach))
    block, x = new_block(table), int(start_places(table.arrivals, 5, 2, np.array([9]))[0])
    trail = extend_trail(table, np.uint64(5), 2, 9, reach, block, new_trail(x))
    for first in range(-reach, reach, BLOCK):
        at = trail_at(trail, first) if first < 0 else x
        x = draw_block(table, np.uint64(5), 2, 9, first, block, at)
        part = slice(first + reach, first + reach + BLOCK)
        np.testing.assert_array_equal(block.gap, expected.gap[part])
        np.testing.assert_array_equal(block.service, expected.service[part])
        np.testing.assert_array_equal(block.job_class, expected.job_class[part])
        if first == -BLOCK:
            x = int(start_places(table.arrivals, 5, 2, np.array([9]))[0])


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_longer_past_has_the_same_end(name: str) -> None:
    table = job_table(model_of(ALL[name]), 0.7)
    short, long = (draw(table, 1, 0, 3, np.arange(-n, 0)) for n in (64, 700))
    np.testing.assert_array_equal(long.gap[-64:], short.gap)
    np.testing.assert_array_equal(long.job_class[-64:], short.job_class)


@pytest.mark.parametrize("name", sorted(ALL))
def test_chains_are_the_reference(name: str) -> None:
    """Forward in stretches, and backward from empty: the same as job by job."""
    model = model_of(ALL[name])
    table, needs = job_table(model, 0.5 * model.ideal), needs_of(model)
    replicas, jobs, engine = np.array([4, 7]), 6 * BLOCK, CpuEngine()
    chains = empty_chains(table, needs, 2)
    chains.places[:] = start_places(table.arrivals, 3, 0, replicas)
    for begin, end in ((0, 2 * BLOCK), (2 * BLOCK, jobs)):
        engine.run(Forward(table, 3, 0, replicas, needs, np.arange(2), True), chains, begin, end)
    for r, replica in enumerate(replicas):
        np.testing.assert_array_equal(chains.workload[r], chain(table, 3, int(replica), 0, jobs))
    samples = unsampled(table, 3)
    engine.run(Backward(table, 3, 0, np.arange(10, 13), BLOCK, 1 << 12, confirmations=1), samples, 0, 3)
    for r, length in enumerate(samples.length):
        if length:
            np.testing.assert_array_equal(samples.workload[r], chain(table, 3, 10 + r, -int(length), 0))


def chain(table: JobTable, seed: int, replica: int, begin: int, end: int) -> np.ndarray:
    W, jobs = np.zeros(table.servers), draw(table, seed, 0, replica, np.arange(begin, end))
    for first in range(0, end - begin, BLOCK):
        part = slice(first, first + BLOCK)
        W, _, _ = reference.advance_block(W, jobs.need[part], jobs.service[part], jobs.gap[part])
    return W


@pytest.mark.parametrize("name", sorted(ALL))
def test_both_sides_of_job_0_have_the_same_law(name: str) -> None:
    """Gaps before and after job 0, run by different rules: mean, square and product of neighbours.

    Three averages of 400 independent replicas for seventeen processes, at 5 standard errors: one false alarm in 30,000.
    """
    table = job_table(model_of(ALL[name]), 0.7)
    places, block, sides = start_places(table.arrivals, 11, 0, np.arange(400)), new_block(table), []
    for first in (-BLOCK, 0):
        gaps = np.empty((400, BLOCK))
        for r in range(400):
            draw_block(table, np.uint64(11), 0, r, first, block, places[r])
            gaps[r] = block.gap
        sides.append(np.stack([gaps.mean(axis=1), (gaps**2).mean(axis=1), (gaps[:, 1:] * gaps[:, :-1]).mean(axis=1)]))
    past, future = sides
    difference = (past - future).mean(axis=1)
    error = np.std(past - future, axis=1, ddof=1) / 20.0
    assert np.all(np.abs(difference) <= 5.0 * error + 1e-12)
    mean = 0.5 * (past[0] + future[0])
    assert abs(mean.mean() - 1 / 0.7) <= 5.0 * np.std(mean, ddof=1) / 20.0 + 1e-12


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_a_block_s_time_for_every_place(name: str) -> None:
    """E[exp(-theta A) | place at the end] never exceeds its bound, and reaches it where there are no batches; in a
    cycle but for the factor between its best and its worst place.

    At most 40 places of thirteen processes, at 5 standard errors: one false alarm in 10,000.
    """
    table = job_table(model_of(PROCESSES[name]), 0.7)
    theta, length, count = 0.05, 2 * BLOCK, 2000
    bound = np.exp(Gaps(table).log(length, theta))
    t = table.arrivals
    worst = 0.0
    for place in range(min(t.phases * max(1, t.sizes), 40)):
        jobs = np.empty((count, len(table.need)), np.int64)
        blocks = BlockState(np.full(count, place), np.empty(count), np.empty(count), jobs)
        CpuEngine().run(BlockBefore(table, 3, 1, np.arange(count), length), blocks, 0, count)
        values = np.exp(-theta * blocks.time)
        error = np.std(values, ddof=1) / np.sqrt(count)
        assert values.mean() <= bound + 5.0 * error + 1e-12
        worst = max(worst, values.mean() + 5.0 * error)
    if not t.sizes and t.process != RECORDED:
        swing = np.ptp(np.cumsum(t.time[: t.phases] - t.time[: t.phases].mean())) if t.process == PERIODIC else 0.0
        assert worst >= 0.995 * bound * np.exp(-theta * swing / 0.7)


@pytest.mark.parametrize(
    ("arrivals", "said"),
    [
        ({"process": "renewal"}, "arrivals.gap: is missing"),
        ({"process": "renewal", "gap": {"law": "erlang", "mean": 1.0}}, "arrivals.gap.phases: is missing"),
        ({"process": "mmpp", "generator": TURNS, "rates": [1.0]}, "must be square, with a row and a column"),
        ({"process": "mmpp", "generator": TURNS, "rates": [0.0, 0.0]}, "there are no arrivals"),
        (
            {"process": "mmpp", "generator": [[-1.0, 1.0], [0.0, 0.0]], "rates": [1.0, 1.0]},
            "reachable from every other",
        ),
        ({"process": "map", "d0": [[-1.0]], "d1": [[0.5]]}, "row 0: all rates out of a phase must sum to 0"),
        ({"process": "map", "d0": [[-1.0]], "d1": [[-1.0]]}, "rates must be at least 0"),
        ({"process": "map", "d0": [[-1.0, 0.5]], "d1": [[0.5]]}, "two square matrices of the same size"),
        (MMPP | {"mix": [[1.0, 0.0]]}, "mix: must have a row for each of the 2 phases"),
        (MMPP | {"mix": [[1.0, 0.1], [0.5, 0.5]]}, r"mix\[0\]: must sum to 1"),
        (MMPP | {"mix": [[1.0], [1.0]]}, "arrivals.mix: must have a column for each of the 2 classes"),
        (
            {"process": "batch", "size": {"law": "pareto", "shape": 1.5, "mean": 3.0}},
            "more than 100000 jobs in a batch",
        ),
        ({"process": "batch", "size": {"law": "empirical", "values": [0.0, 2.0]}}, "size: must be above 0"),
        (MMPP | {"mix": [[0.9, 0.1], [1.0]]}, r"mix\[1\]: has 1 entries, mix\[0\] has 2"),
        (MMPP | {"generator": [[-1e7, 1e7], [1e7, -1e7]]}, "phases change .* times a job"),
        (MMPP | {"generator": [[-1e-9, 1e-9], [1e-9, -1e-9]]}, "too rare to be drawn"),
        ({"process": "trace", "gaps": [0.0, 0.0]}, "gaps: must not all be 0"),
        ({"process": "trace", "gaps": [1.0, -1.0]}, r"arrivals.gaps\[1\] = -1.0"),
        (DAY | {"rates": [0.0, 0.0]}, "rates: must not all be 0"),
        (DAY | {"rates": [1.0, -1.0]}, r"arrivals.rates\[1\] = -1.0"),
        (DAY | {"cycle": 0.0}, "arrivals.cycle = 0.0"),
        (DAY | {"rates": [1.0] * 673}, "arrivals.rates: must be at most 672 items|672"),
        (DAY | {"mix": [[1.0, 0.0]]}, "mix: must have a row for each of the 4 slots, has 1"),
        (DAY | {"mix": [[1.0], [1.0], [1.0], [1.0]]}, "arrivals.mix: must have a column for each of the 2 classes"),
        (SESSIONS["sessions"] | {"of": {}}, "of.rate: is missing"),
        (SESSIONS["sessions"] | {"repeat": 1.5}, "arrivals.repeat = 1.5"),
        (SESSIONS["sessions"] | {"of": DAY}, "arrivals.of.process = 'periodic': must be one of poisson, renewal, mmpp"),
        (SESSIONS["sessions"] | {"size": {"law": "empirical", "values": [0.0, 2.0]}}, "a session has at least one job"),
        (
            SESSIONS["sessions"] | {"size": {"law": "pareto", "shape": 1.5, "mean": 3.0}},
            "more than 100000 jobs in a session",
        ),
        (
            {"process": "queue"},
            "arrivals.process = 'queue': must be one of poisson, renewal, mmpp, map, batch, trace, periodic, sessions",
        ),
    ],
)
def test_bad_arrivals(arrivals: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        model_of(arrivals)


def test_bad_streams() -> None:
    own = {"process": "poisson", "rate": 1.0}
    first, second = {"need": 1, "service": ONE, "arrivals": own}, {"need": 2, "service": ONE}
    for classes, said in (
        ([first, second | {"probability": 1.0}], r"classes\[1\].arrivals: is missing"),
        ([first, second | {"arrivals": {"process": "poisson"}}], r"classes\[1\].arrivals.rate: is missing"),
        ([first | {"probability": 0.9}, second | {"arrivals": own}], "the arrivals make it 0.5; leave it out"),
        ([first, second | {"arrivals": {"process": "renewal", "gap": {"law": "uniform", "low": 0.0, "high": 1.0}}}],
         "gaps of a uniform law cannot be superposed"),
        ([second], r"classes\[0\].probability: is missing"),
    ):  # fmt: skip
        with pytest.raises(ModelError, match=said):
            load({"servers": 4, "classes": classes})


def test_a_rate_beside_the_process_sets_its_speed() -> None:
    for arrivals in ALL.values():
        model = model_of(arrivals)
        faster = model.with_rate(2.5)
        assert faster.rate == 2.5
        assert load(faster.to_dict()) == faster
        assert [c.probability for c in faster.classes] == [c.probability for c in model.classes]


def test_large_batches_are_bounded_at_once() -> None:
    """Fifty thousand sizes: a bound for every theta without a search over each."""
    size = {"law": "uniform", "low": 0.0, "high": 50_000.0}
    gaps = Gaps(job_table(model_of({"process": "batch", "size": size}), 0.7))
    assert gaps.log(1 << 22, 1e-6) < 0
    assert gaps.log(64, 1e-6) == 0.0


def test_slow_phases_keep_their_digits() -> None:
    for slow in (1.0, 1e-3, 1e-6):
        model = model_of(MMPP | {"generator": [[-slow, slow], [2 * slow, -2 * slow]], "rates": [0.5, 2.0]})
        assert model.rate == pytest.approx(1.0, rel=1e-13)
