"""A model's randomness as arrays: what a kernel needs to turn random words into jobs.

A class's law is a list of branches (one, unless it is a mixture). A branch takes the part [low, low + width) of the
service's uniform u, stretches it to (0, 1), and applies one of the recipes below. Every law takes exactly one uniform.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import ModelError
from loynes.inputs.arrivals import ArrivalTable, arrival_table, cuts_of, mean_size
from loynes.model.cluster import Model
from loynes.model.laws.law import Law, leaves
from loynes.model.laws.recipes import Formula, Recipe

# Formulas (model/laws/recipes.py has them) as numbers. For a table r is its number, for pieces p and q say where its
# nodes are: rows p .. p + q - 1.
FORMULAS: tuple[Formula, ...] = get_args(Formula)
EXPONENTIAL, PARETO, BOUNDED_PARETO, DETERMINISTIC, UNIFORM, WEIBULL, TABLE, PIECES = range(len(FORMULAS))

# The log-quantile is smooth in the logit of u; the grid covers every u = (x + 1/2) 2^-52 (logits within 36.8).
TABLE_EDGE = 37.0
TABLE_CELLS = 2048
TABLE_STEP = 2.0 * TABLE_EDGE / TABLE_CELLS
# More classes than these are very many: each of them brings little, and nothing that is dear is done for each.
MANY_CLASSES = 1024
# What tables may take, and how many are made together.
MOST_BYTES = 2 << 30
TOGETHER = 16


class JobTable(NamedTuple):
    """Arrays and scalars only: kernels take it as it is."""

    servers: int  # of all kinds together
    plain: bool  # one kind, any server will do: `need` says it all
    strict: bool  # nobody starts before the job ahead has (always so in the plain model)
    units: Ints  # servers of each kind
    demand: Ints  # [class, kind], any of them
    specific: Ints  # [class, kind], particular ones, drawn at random
    gap_mean: float  # 1 / arrival rate; 0 in the saturated system
    arrivals: ArrivalTable
    simple: bool  # every branch exponential, one a class: the fully vectorised path
    class_cut: NDArray[np.uint64]  # class c is drawn when class_cut[c-1] <= word < class_cut[c]
    need: Ints  # per class
    # Branches of class c: first[c] .. first[c + 1] - 1; then those of a renewal's gaps, and of a session's.
    first: Ints
    low: Array  # per branch
    stretch: Array  # 1 / width
    recipe: Ints
    p: Array
    q: Array
    r: Array
    add: Array
    grid: Array  # [table, node, (log-quantile, slope x step)]; r is the table's number
    pieces: Array  # [node, (u, quantile, slope)] of all laws, one after the other


def class_probabilities(table: JobTable) -> Array:
    """The probabilities classes are drawn with: the model's, to 2^-32."""
    return np.diff(table.class_cut.astype(np.float64), prepend=0.0) * 2.0**-32


def rarest(table: JobTable) -> float:
    """The probability of the rarest class, or branch of one's law; of sessions, whose jobs come together, so much less
    as a session has jobs."""
    classes = len(table.need)
    branches = np.repeat(class_probabilities(table), np.diff(table.first[: classes + 1]))
    least = float(np.min(branches / table.stretch[: len(branches)]))
    return least if table.arrivals.repeat < 0 else least / mean_size(table.arrivals)


class Needs(NamedTuple):
    """The distinct needs of a model, ascending: a workload vector answers for all classes of one need at once.

    Where classes depend on the arrival process, every class stands on its own, with its own weight in every phase. Jobs
    of a session are told by the jobs before them: there, what a job's own class is stands for the phase.
    """

    need: Ints  # servers of all kinds
    demand: Ints  # [need, kind]
    specific: Ints  # [need, kind]
    weight: Array  # probability of an arrival with this need
    of_class: Ints  # class -> position in `need`
    phase_weight: Array  # [phase, need], P(need | phase) / P(need); empty where all are 1


def job_table(model: Model, rate: float | None) -> JobTable:
    """The arrays for a model at an arrival rate; None for the saturated system, where all jobs are there at once."""
    cut = cuts_of(np.array([c.probability for c in model.classes]))
    arrivals, gap_laws = arrival_table(model, rate)
    # A renewal's and a session's gaps are drawn as services are; their laws come after those of the classes.
    drawn = _branches((*(c.service for c in model.classes), *gap_laws))
    simple = len(drawn.low) == len(model.classes) and not drawn.recipe.any() and not drawn.add.any()
    demand = np.array([model.demand(c) for c in model.classes], dtype=np.int64)
    specific = np.array([model.specific(c) for c in model.classes], dtype=np.int64)
    if model.order == "random":
        demand, specific = np.zeros_like(demand), demand + specific
    return JobTable(
        servers=model.servers,
        plain=model.plain,
        strict=model.order == "fcfs",
        units=np.array(model.units, dtype=np.int64),
        demand=demand,
        specific=specific,
        gap_mean=0.0 if rate is None else 1.0 / rate,
        arrivals=arrivals,
        simple=bool(simple),
        class_cut=cut,
        need=np.array([model.need(c) for c in model.classes], dtype=np.int64),
        **drawn._asdict(),
    )


class _Branches(NamedTuple):
    """The part of a job table that says how services and gaps are drawn."""

    first: NDArray[np.int64]
    low: NDArray[np.float64]
    stretch: NDArray[np.float64]
    recipe: NDArray[np.int64]
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    r: NDArray[np.float64]
    add: NDArray[np.float64]
    grid: NDArray[np.float64]
    pieces: NDArray[np.float64]


@lru_cache(maxsize=2)  # the same at every rate: an answer asks for them many times
def _branches(laws: tuple[Law, ...]) -> _Branches:
    first, low, width, branches = [0], [], [], []
    tabulated: list[Law] = []
    pieces: list[NDArray[np.float64]] = [np.empty((0, 3))]
    for of in laws:
        start = 0.0
        for weight, law in leaves(of):
            branches.append(_placed(law.recipe(), tabulated, pieces))
            low.append(start)
            width.append(weight)
            start += weight
        first.append(len(low))
    p, q, r, add = np.array([(branch.p, branch.q, branch.r, branch.add) for branch in branches]).T.copy()
    return _Branches(
        np.array(first, dtype=np.int64),
        np.array(low),
        1.0 / np.array(width),
        np.array([FORMULAS.index(branch.formula) for branch in branches], dtype=np.int64),
        p,
        q,
        r,
        add,
        _grids(tabulated),
        np.concatenate(pieces),
    )


def needs_of(model: Model) -> Needs:
    table = job_table(model, None)
    rows = np.hstack([table.need[:, None], table.demand, table.specific])
    by_phase, phase_weight = model.phase_mix, np.zeros((0, 0))
    if not model.independent:
        # One more column tells classes of the same need apart.
        rows = np.hstack([rows, np.arange(len(rows))[:, None]])
    if model.alike:
        phase_weight = np.diag([1.0 / c.probability for c in model.classes])
    elif by_phase is not None:
        phase_weight = by_phase.mix / by_phase.classes
    distinct, of_class = np.unique(rows, axis=0, return_inverse=True)
    weight = np.zeros(len(distinct))
    np.add.at(weight, of_class, [c.probability for c in model.classes])
    kinds = len(table.units)
    need, demand, specific = (
        np.ascontiguousarray(distinct[:, part])
        for part in (slice(0, 1), slice(1, 1 + kinds), slice(1 + kinds, 1 + 2 * kinds))
    )
    if phase_weight.size:
        phase_weight = np.ascontiguousarray(phase_weight[:, np.argsort(of_class)])
    return Needs(need[:, 0].copy(), demand, specific, weight, of_class.astype(np.int64), phase_weight)


def _placed(recipe: Recipe, tabulated: list[Law], pieces: list[Array]) -> Recipe:
    """A recipe that says where its table or its nodes are, which are put there."""
    if recipe.tabulated is not None:
        tabulated.append(recipe.tabulated)
        return recipe._replace(r=float(len(tabulated) - 1))
    if recipe.nodes is not None:
        start = sum(map(len, pieces))
        pieces.append(recipe.nodes)
        return recipe._replace(p=float(start), q=float(len(recipe.nodes)))
    return recipe


def _grids(laws: list[Law]) -> Array:
    """Log-quantiles and their slopes (times the step) at equidistant logits, for cubic Hermite interpolation."""
    grids = np.empty((len(laws), TABLE_CELLS + 1, 2))
    if not laws:
        return grids
    from scipy.interpolate import CubicSpline  # takes longer to load than most models to be judged

    if grids.nbytes > MOST_BYTES:
        raise ModelError(
            f"classes: the tables that {len(laws)} laws are drawn from would take {grids.nbytes / 2**30:.3g} GiB, at "
            f"most {MOST_BYTES >> 30} are used; exponential, Weibull and Pareto laws take none"
        )
    logit = np.linspace(-TABLE_EDGE, TABLE_EDGE, TABLE_CELLS + 1)
    for some in range(0, len(laws), TOGETHER):
        here = slice(some, some + TOGETHER)
        value = np.array([law.log_quantile(logit) for law in laws[here]])
        grids[here, :, 0] = value
        grids[here, :, 1] = CubicSpline(logit, value, axis=1)(logit, 1) * TABLE_STEP
    return grids
