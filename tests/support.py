"""Models and checks that several tests use."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from loynes.estimate import Estimate
from loynes.inputs.tables import JobTable, Needs
from loynes.kernels.engine import ForwardState, PairState, PileState, SampleState
from loynes.kernels.tally import new_heap, new_tally, tally_columns
from loynes.model import Model, load
from loynes.threshold.controls import Mix

# Statistical tests ask whether an exact value lies in an interval of this confidence. The suite makes fewer than 300
# such checks with fixed seeds, so the chance that a correct program fails any of them is below 3e-4.
SURE = 1 - 1e-6

LAWS: dict[str, dict[str, Any]] = {
    "exponential": {"law": "exponential", "mean": 1.3},
    "erlang": {"law": "erlang", "phases": 3, "mean": 0.8},
    "hyperexponential": {"law": "hyperexponential", "probabilities": [0.2, 0.5, 0.3], "means": [3.0, 0.5, 0.1]},
    "bounded_pareto": {"law": "bounded_pareto", "low": 0.2, "high": 50.0, "shape": 1.4},
    "pareto": {"law": "pareto", "shape": 5.5, "mean": 1.1},
    "deterministic": {"law": "deterministic", "value": 0.7},
    "uniform": {"law": "uniform", "low": 0.5, "high": 2.0},
    "gamma": {"law": "gamma", "shape": 0.4, "mean": 1.5},
    "weibull": {"law": "weibull", "shape": 0.7, "mean": 1.2},
    "lognormal": {"law": "lognormal", "mean": 1.0, "cv": 1.2},
    "phase_type": {"law": "phase_type", "initial": [0.5, 0.3, 0.2],
                   "generator": [[-2.0, 1.0, 0.5], [0.2, -1.0, 0.3], [0.0, 4.0, -5.0]]},
    "coxian": {"law": "coxian", "rates": [2.0, 1.5, 0.4], "continue": [0.6, 0.3]},
    "mixture": {
        "law": "mixture",
        "weights": [0.25, 0.5, 0.25],
        "laws": [
            {"law": "deterministic", "value": 2.0},
            {"law": "mixture", "weights": [0.4, 0.6], "laws": [{"law": "gamma", "shape": 2.5, "mean": 1.0},
                                                               {"law": "uniform", "low": 0.0, "high": 1.0}]},
            {"law": "lognormal", "mean": 0.5, "cv": 0.6},
        ],
    },
    "empirical": {"law": "empirical", "values": [0.3, 2.5, 0.0, 0.9, 1.4], "weights": [3.0, 0.5, 1.0, 4.0, 1.5]},
    "quantiles": {"law": "quantiles", "probabilities": [0.0, 0.1, 0.5, 0.95, 1.0], "values": [0.1, 0.4, 0.9, 2.0, 6.0]},
    "truncated": {"law": "truncated", "of": {"law": "gamma", "shape": 0.6, "mean": 2.0}, "low": 0.2, "high": 7.0},
    "shifted": {"law": "shifted", "of": {"law": "weibull", "shape": 1.5, "mean": 0.9}, "by": 0.3},
    "scipy": {"law": "scipy", "name": "invgauss", "args": [0.8], "keywords": {"scale": 1.4}},
    "fit": {"law": "fit", "mean": 1.2, "cv": 0.6},
}  # fmt: skip


def single(law: dict[str, Any], servers: int = 1) -> Model:
    """One class of one-server jobs: G/G/s."""
    return load({"servers": servers, "classes": [{"name": "only", "need": 1, "probability": 1.0, "service": law}]})


def assert_holds(exact: float, estimate: Estimate, width: float) -> None:
    """The interval holds the exact value, and is narrow enough (relative half-width) to mean something."""
    assert estimate.low <= exact <= estimate.high, (exact, estimate)
    assert estimate.half_width <= width * max(abs(exact), 1e-300), (exact, estimate)


@st.composite
def models(draw: Any, most_servers: int = 40, laws: tuple[str, ...] = tuple(LAWS)) -> Model:
    """Any small model: up to five classes of any law."""
    servers = draw(st.integers(1, most_servers))
    count = draw(st.integers(1, 5))
    weights = np.array([draw(st.integers(1, 9)) for _ in range(count)], dtype=float)
    classes = [
        {"need": draw(st.integers(1, servers)), "probability": float(p), "service": LAWS[draw(st.sampled_from(laws))]}
        for p in weights / weights.sum()
    ]
    return load({"servers": servers, "classes": classes})


@st.composite
def models_of_kinds(draw: Any, specific: bool = True, disciplines: tuple[str, ...] = ("fcfs", "reserving")) -> Model:
    """One to four kinds of servers, any needs, some of them specific."""
    units = {f"kind{t}": draw(st.integers(1, 24)) for t in range(draw(st.integers(1, 4)))}
    count = draw(st.integers(1, 4))
    classes = []
    for _ in range(count):
        need = {kind: draw(st.integers(0, n)) for kind, n in units.items()}
        own = {kind: draw(st.integers(0, n - need[kind])) if specific else 0 for kind, n in units.items()}
        if not any(need.values()) and not any(own.values()):
            need["kind0"] = 1
        law = LAWS[draw(st.sampled_from(["exponential", "erlang", "deterministic", "hyperexponential"]))]
        classes.append({"need": need, "specific": own, "probability": 1.0 / count, "service": law})
    return load({"resources": units, "classes": classes, "discipline": draw(st.sampled_from(disciplines))})


def nowhere(replicas: int) -> np.ndarray:
    """Places of Poisson arrivals, which have no memory."""
    return np.zeros(replicas, np.int64)


def empty_chains(
    table: JobTable, needs: Needs, rows: int, unit: float = 1.0, groups: int | None = None
) -> ForwardState:
    """Chains from empty servers, and a tally with a row for each unless told otherwise."""
    tally = new_tally(
        groups or rows, tally_columns(table, needs), unit, len(table.units), bool(needs.phase_weight.size)
    )
    return ForwardState(np.zeros((rows, table.servers)), nowhere(rows), tally)


def flat_piles(table: JobTable, mix: Mix, rows: int) -> PileState:
    heap = new_heap(rows, len(table.need), len(mix.blocking), len(table.units))
    return PileState(np.zeros((rows, table.servers)), nowhere(rows), heap)


def pairs_up_to(table: JobTable, height: float, rows: int) -> PairState:
    """Pairs of chains, from empty servers and from this workload of all."""
    shape = (rows, table.servers)
    return PairState(np.zeros(shape), np.full(shape, height), np.full(rows, -1, np.int64), nowhere(rows))


def unsampled(table: JobTable, count: int) -> SampleState:
    return SampleState(np.empty((count, table.servers)), np.empty(count, np.int64), np.empty(count, np.int64))
