"""How the CUDA sources are compiled: for one device and one model shape, when first asked for.

Fixed at compile time is what the code is unrolled over: the number of servers, the needs, the form of the state.
Probabilities, means and rates are filled in before a launch, so a sweep over rates compiles once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.inputs import elementary, philox, tables
from loynes.inputs.jobs import LARGEST, SMALLEST
from loynes.inputs.tables import JobTable, class_probabilities
from loynes.kernels import tally
from loynes.kernels.cuda import walked
from loynes.kernels.cuda.walked import Arriving
from loynes.kernels.reference import BLOCK
from loynes.kernels.shape import usual_runs

SOURCES = Path(__file__).parent
KERNELS = {"forward": "forward", "pile": "pile", "backward": "backward", "sandwich": "sandwich", "perfect": "sandwich",
           "walk": "walk", "given": "given", "words": "given", "drawn": "given"}  # fmt: skip
# No contraction to FMA and no fast-math: the same bits as the CPU.
OPTIONS = ("--std=c++17", "--fmad=false")

THREAD, WARP, FRONT, THREAD_KINDS, RUNS, WIDE_KINDS, WALK, RANDOM_THREAD, RANDOM_WARP = range(9)
FORMS = ("thread", "warp", "front", "thread", "runs", "wide", "walk", "thread", "warp")  # as people read them
RANDOM = (RANDOM_THREAD, RANDOM_WARP)  # of piles under random assignment

# What the front of an ordered vector holds: jobs of small needs do not go further.
FRONT_ENTRIES = 32

# What the sources share with Python, each said once, there: see `literal` for how numbers are handed over.
SHARED: dict[str, int | float] = {
    "FORM_THREAD": THREAD,
    "FORM_WARP": WARP,
    "FORM_FRONT": FRONT,
    "FORM_THREAD_KINDS": THREAD_KINDS,
    "FORM_RUNS": RUNS,
    "FORM_WIDE_KINDS": WIDE_KINDS,
    "FORM_RANDOM_THREAD": RANDOM_THREAD,
    "FORM_RANDOM_WARP": RANDOM_WARP,
    "BLOCK": BLOCK,
    "FRONT": FRONT_ENTRIES,
    "BIN_BITS": tally.BITS,
    "LOWEST_OCTAVE": tally.LOWEST_OCTAVE,
    "BINS": tally.BINS,
    "PHILOX_ROUNDS": philox.ROUNDS,
    "PHILOX_MULTIPLIER_0": philox.MULTIPLIER_0,
    "PHILOX_MULTIPLIER_1": philox.MULTIPLIER_1,
    "ASSIGNMENT": philox.ASSIGNMENT,
    "GROUP_SHIFT": philox.GROUP_SHIFT,
    "SMALLEST_UNIFORM": SMALLEST,
    "LARGEST_UNIFORM": LARGEST,
    "TABLE_EDGE": tables.TABLE_EDGE,
    "TABLE_PER_STEP": 1.0 / tables.TABLE_STEP,
    "TABLE_NODES": tables.TABLE_CELLS + 1,
    **walked.SHARED,
    **{formula.upper(): number for number, formula in enumerate(tables.FORMULAS)},
    **{
        name: getattr(elementary, name)
        for name in ("ONE_BITS", "ROOT_BITS", "MANTISSA", "LN2_HIGH", "LN2_LOW", "INVERSE_LN2", "EXP_LIMIT")
    },
    **{f"{name}_{k}": x for name in ("LOG_ODD", "LOG_EVEN", "EXP") for k, x in enumerate(getattr(elementary, name))},
}


def literal(value: int | float) -> str:
    """A number as C++ reads it back, exactly: doubles in hexadecimal, whole numbers as long as they need to be."""
    if isinstance(value, float):
        return f"({value.hex()})"
    if -(2**31) <= value < 2**31:
        return f"({value})" if value < 0 else str(value)
    return f"{value:#x}u" if value < 2**32 else f"{value:#x}ll"


# Where one thread a replica stops paying, and where a warp's registers no longer hold a replica, by bits.
MOST_IN_THREAD = {32: 128, 64: 64}
MOST_IN_THREAD_IF_FREQUENT = {32: 96, 64: 48}  # where a warp has its short path
MOST_IN_WARP = {32: 4096, 64: 2048}
# Of several kinds: where passing over all units at every job stops paying.
MOST_IN_WIDE = 320
# Code is unrolled over needs: beyond this many entries in all, the generic form is used.
MOST_UNROLLED = 4096
MOST_SHARED = (227 << 10) - 256  # what is declared in the sources besides
# From this probability on the most frequent need has a path of its own, if the code stays this small.
FREQUENT = 0.7
SMALL = 128


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A digest of all CUDA sources."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.cu*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Shape:
    """What a module is compiled for."""

    bits: int
    form: int
    servers: int
    class_need: tuple[int, ...]
    by_odds: tuple[int, ...]  # distinct needs, the most frequent first
    branches: int
    blockers: int
    simple: bool
    saturated: bool
    threads: int
    segments: int
    arriving: Arriving
    units: tuple[int, ...] = ()  # of each kind, where there are several
    class_demand: tuple[tuple[int, ...], ...] = ()
    need_demand: tuple[tuple[int, ...], ...] = ()  # distinct, with their specific servers
    class_specific: tuple[tuple[int, ...], ...] = ()  # where any class has such
    need_specific: tuple[tuple[int, ...], ...] = ()
    strict: bool = True
    most_runs: tuple[int, ...] = ()  # of each kind that a list has room for
    chains: int = 1  # states a team runs: 2 for the sandwich
    group: int = 1  # jobs served without a branch: any (thread), or those of the most frequent need (warp)
    least_blocks: int = 1  # blocks to keep on a multiprocessor, at the price of registers

    @property
    def entries(self) -> int:
        return -(-self.servers // (32 * self.segments))

    @property
    def lanes(self) -> int:
        return 1 if self.form in (THREAD, THREAD_KINDS, WALK, RANDOM_THREAD) else 32

    @property
    def real(self) -> type[np.floating]:
        return np.float32 if self.bits == 32 else np.float64

    @property
    def shared(self) -> int:
        """Bytes of shared memory a block takes."""
        item = self.bits // 8
        if self.form == WALK:
            return 0
        if self.form == THREAD_KINDS:
            most = np.max(self.class_demand, axis=0)
            return self.chains * int(np.sum(self.units) + np.sum(most)) * self.threads * item
        if self.form in (THREAD, RANDOM_THREAD):
            beyond = max(self.class_need) if self.form == THREAD else 0
            return self.chains * (self.servers + beyond) * self.threads * item
        jobs = self.threads * (2 * item + 8)
        if self.form == WARP:
            return jobs
        teams = self.chains * (self.threads // 32)
        if self.form in (FRONT, WIDE_KINDS, RANDOM_WARP):
            taken = (sum(-(-units // 32) for units in self.units) + 1) // 2 * 8 if self.class_specific else 0
            return teams * (-(-self.servers // 32) * 32 * item + taken) + jobs
        length = 2 if self.servers < 1 << 16 else 4
        return teams * sum(-(-runs * (item + length) // 16) * 16 for runs in self.most_runs) + jobs

    @property
    def all_units(self) -> tuple[int, ...]:
        return self.units or (self.servers,)

    @property
    def kind_of_class(self) -> list[int]:
        """What a step is told of a job's class: the place of its need, or, with several kinds, the class itself."""
        if self.units:
            return list(range(len(self.class_need)))
        return [self.by_odds.index(need) for need in self.class_need]

    def header(self) -> str:
        """The constants that the sources expect."""
        needs = sorted(self.by_odds)
        small = self.form != FRONT and self.chains * len(needs) * self.segments * self.entries <= SMALL
        constants = {
            "BITS": self.bits,
            "FORM": self.form,
            "SERVERS": self.servers,
            "CLASSES": len(self.class_need),
            "BRANCHES": self.branches,
            "BLOCKERS": self.blockers,
            "NEEDS": len(self.need_demand) if self.units else len(needs),
            "KINDS": max(len(self.units), 1),
            "PLAIN": int(not self.units),
            "MOST_SPECIFIC": max(map(sum, self.class_specific), default=0),
            "STRICT": int(self.strict),
            "SMALLEST_NEED": needs[0],
            "LARGEST_NEED": needs[-1],
            "SIMPLE": int(self.simple),
            "SATURATED": int(self.saturated),
            "RANDOM": int(self.form in RANDOM),
            "KIND_IS_NEED": int(self.form in (THREAD, FRONT, *RANDOM) or (self.form == RUNS and not self.units)),
            "THREADS": self.threads,
            "SEGMENTS": self.segments,
            "ENTRIES": self.entries,
            "MIN_BLOCKS": self.least_blocks,
            "GROUP": self.group,
            "UNROLLED_BRANCHING": self.group if small else 1,
            **self.arriving.constants(),
        }
        lists = {
            "NEED": needs,
            "NEED_BY_ODDS": self.by_odds,
            "NEED_OF_CLASS": self.class_need,
            "KIND_OF_CLASS": self.kind_of_class,
        }
        if self.units or self.form == RUNS:
            lists |= {
                "UNITS": self.all_units,
                "MOST_DEMAND": np.max(self.class_demand, axis=0).tolist() if self.units else [needs[-1]],
                **({"MOST_RUNS": self.most_runs} if self.form == RUNS else {}),
                "NEED_DEMAND": [n for need in self.need_demand for n in need] if self.units else needs,
            }
        if self.class_specific:
            lists["NEED_SPECIFIC"] = [n for need in self.need_specific for n in need]
        lines = [f"#define {name} {literal(value)}" for name, value in (SHARED | constants).items()]
        lines += [
            f"__device__ constexpr int {name}[] = {{{', '.join(map(str, items))}}};" for name, items in lists.items()
        ]
        return "\n".join(lines) + "\n"

    def source(self, kernel: str) -> str:
        """The text to compile for a kernel; the fingerprint makes caches notice when an included file has changed."""
        return f'// sources {fingerprint()}\n{self.header()}#include "{KERNELS[kernel]}.cu"\n'


def shape_of(
    table: JobTable, blockers: int = 0, *, bits: int = 32, chains: int = 1, form: int | None = None, roomy: bool = False
) -> Shape:
    """The shape of a model, in the form that pays for it; `roomy` lists have room for as many runs as there can be."""
    if not table.plain:
        return _shape_of_kinds(table, blockers, bits, chains, form, roomy)
    s = table.servers
    distinct, position = np.unique(table.need, return_inverse=True)
    odds: Array = np.bincount(position, weights=class_probabilities(table)).astype(np.float64)
    by_odds = tuple(int(need) for need in distinct[np.argsort(-odds, kind="stable")])
    if form is None:
        form = _form_of(table, distinct, odds, bits, chains, roomy)
    threads, least_blocks, group = 128, 1, 1
    each = -(-s // 32)
    segments = 4 if each >= 32 else 2 if each >= 16 else 1
    if form == FRONT:
        threads = 256
        for most, likely in ((16, 0.98), (8, 0.95), (4, FREQUENT)):
            if group == 1 and odds.max() >= likely and most * by_odds[0] <= FRONT_ENTRIES:
                group = most
        while threads > 32 and chains * s * threads // 32 * bits // 8 > MOST_SHARED // 4:
            threads //= 2
    most_runs = _most_runs(table, roomy) if form == RUNS else ()
    if form == RUNS:
        threads = _threads_of_lists(most_runs, chains, bits)
    if form == THREAD:
        group = 7 if bits == 32 and chains * s <= 32 else 3  # divide 63, the jobs drawn while another is served
        rows = chains * (s + int(distinct[-1]))
        while threads < 512 and rows * 2 * threads * bits // 8 <= MOST_SHARED // 3:
            threads *= 2
    if form == WARP:
        if odds.max() >= FREQUENT and chains * len(distinct) * each <= SMALL:
            group = 8
        if each == 64 and bits == 32 and chains == 1:
            least_blocks = 4
    return Shape(
        bits=bits,
        form=form,
        servers=s,
        class_need=tuple(int(need) for need in table.need),
        by_odds=by_odds,
        branches=len(table.recipe),
        blockers=blockers,
        simple=_simple(table),
        saturated=table.gap_mean == 0.0,
        threads=threads,
        segments=segments,
        arriving=Arriving.of(table),
        most_runs=most_runs,
        chains=chains,
        group=group,
        least_blocks=least_blocks,
    )


def walk_shape(shape: Shape) -> Shape:
    """What the walk of its arrivals is compiled for: the same for all forms of a state."""
    return replace(
        shape, form=WALK, threads=128, segments=1, chains=1, group=1, least_blocks=1, blockers=0, most_runs=()
    )


def _simple(table: JobTable) -> bool:
    """Whether every service is exponential, whatever gaps are."""
    branches = table.first[len(table.need)]
    curved = table.recipe[:branches].any() or table.add[:branches].any()
    return bool(branches == len(table.need) and not curved)


def _form_of(table: JobTable, distinct: Ints, odds: Array, bits: int, chains: int, roomy: bool) -> int:
    """The form that pays for one kind of servers: costs in issue slots a job, fitted to a measurement
    (benchmarks/README.md); only which is the smallest matters."""
    s = table.servers
    frequent = odds.max() >= FREQUENT
    if s * chains <= (MOST_IN_THREAD_IF_FREQUENT if frequent else MOST_IN_THREAD)[bits]:
        return THREAD
    small = distinct <= FRONT_ENTRIES
    many = float(odds[~small].sum())
    merges = float(odds[small] @ distinct[small]) / FRONT_ENTRIES + many
    costs = {FRONT: 32.0 + 0.006 * s + merges * (60.0 + 0.6 * s) + many * 0.4 * s}
    if s * chains <= MOST_IN_WARP[bits] and len(distinct) * chains * s <= 32 * MOST_UNROLLED:
        costs[WARP] = 20.0 + 0.125 * s
    if not roomy and chains * sum(_most_runs(table, False)) * (bits // 8 + 4) <= MOST_SHARED // 4:
        costs[RUNS] = 145.0 + 0.03 * float(usual_runs(table)[0])
    return min(costs, key=costs.__getitem__)


def _shape_of_kinds(table: JobTable, blockers: int, bits: int, chains: int, form: int | None, roomy: bool) -> Shape:
    """The same for several kinds of servers, and for specific ones."""
    count, specific = len(table.units), bool(table.specific.any())
    distinct = np.unique(np.hstack([table.need[:, None], table.demand, table.specific]), axis=0)[:, 1:]
    rows = table.servers + int(np.sum(np.max(table.demand, axis=0)))
    if form is None:
        form = WIDE_KINDS if specific or table.servers <= MOST_IN_WIDE else RUNS
        if not specific and table.servers * chains <= MOST_IN_THREAD[bits]:
            form = THREAD_KINDS
    most_runs = _most_runs(table, roomy) if form == RUNS else ()
    threads = _threads_of_lists(most_runs, chains, bits) if form == RUNS else 128
    while form == THREAD_KINDS and threads < 512 and chains * rows * 2 * threads * bits // 8 <= MOST_SHARED // 3:
        threads *= 2
    while form == WIDE_KINDS and threads > 32 and chains * table.servers * threads // 32 * bits // 8 > MOST_SHARED // 4:
        threads //= 2
    return Shape(
        bits=bits,
        form=form,
        servers=table.servers,
        class_need=tuple(int(need) for need in table.need),
        by_odds=tuple(int(need) for need in np.unique(table.need)),
        branches=len(table.recipe),
        blockers=blockers,
        simple=_simple(table),
        saturated=table.gap_mean == 0.0,
        threads=threads,
        segments=1,
        arriving=Arriving.of(table),
        units=tuple(int(n) for n in table.units),
        class_demand=_rows(table.demand),
        need_demand=_rows(distinct[:, :count]),
        class_specific=_rows(table.specific) if specific else (),
        need_specific=_rows(distinct[:, count:]) if specific else (),
        strict=table.strict,
        most_runs=most_runs,
        chains=chains,
    )


def _rows(array: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(n) for n in row) for row in array)


def _most_runs(table: JobTable, roomy: bool) -> tuple[int, ...]:
    """Room for many more runs than there usually are, or for as many as there can be.

    A list that once needs more room makes the whole work be done again, so room is for a long run. Short lists vary
    more, for their length: a mix with 37 runs on average had 135 in three hundred thousand jobs, and more than 292 in
    thousands of millions; one with 243 had at most 580.

    Only the first run can be what is left of a run that a job took a part of, since jobs take from the first run on,
    and what they put in is not below what they took; every other is at least as long as some job's need.
    """
    least = [min((int(n) for n in of_kind if n), default=1) for of_kind in np.transpose(table.demand)]
    room = [int(n) // need + 2 for n, need in zip(table.units, least, strict=True)]
    if roomy:
        return tuple(room)
    wanted = np.maximum(8.0 * usual_runs(table), np.minimum(16.0 * usual_runs(table), 640.0))
    return tuple(min(n, max(128, int(w))) for n, w in zip(room, wanted, strict=True))


def _threads_of_lists(most_runs: tuple[int, ...], chains: int, bits: int) -> int:
    """A block's threads: as many as leave room for four blocks."""
    bytes_of_warp = chains * sum(most_runs) * (bits // 8 + 4)
    return next((threads for threads in (128, 64) if threads // 32 * bytes_of_warp < MOST_SHARED // 4), 32)


def table_bytes(shape: Shape, table: JobTable, grid_pointer: int, pieces_pointer: int) -> bytes:
    """The struct Table of jobs.cuh."""
    classes, branches = len(shape.class_need), shape.branches
    needs = len(shape.need_demand) if shape.units else len(shape.by_odds)
    fields: list[tuple[str, str, int]] = [
        ("gap_mean", "f8", 1),
        ("cut", "u4", classes),
        ("need", "i4", classes),
        ("kind", "i4", classes),
        ("first", "i4", shape.arriving.laws + 1),
        ("needs", "i4", needs),
        ("demand", "i4", classes * max(len(shape.units), 1)),
        *([("specific", "i4", classes * len(shape.units))] if shape.class_specific else []),
        ("recipe", "i4", branches),
        ("low", "f8", branches),
        ("stretch", "f8", branches),
        ("p", "f8", branches),
        ("q", "f8", branches),
        ("r", "f8", branches),
        ("add", "f8", branches),
        ("grid", "u8", 1),
        ("pieces", "u8", 1),
    ]
    layout = np.dtype([(name, kind, (size,)) for name, kind, size in fields], align=True)
    record = np.zeros((), layout)
    for name in ("need", "first", "recipe", "low", "stretch", "p", "q", "r", "add"):
        record[name] = getattr(table, name)
    record["gap_mean"] = table.gap_mean
    record["cut"] = _cuts(table)
    record["kind"] = shape.kind_of_class
    record["needs"] = [sum(need) for need in shape.need_demand] if shape.units else sorted(shape.by_odds)
    record["demand"] = np.ravel(shape.class_demand) if shape.units else table.need
    if shape.class_specific:
        record["specific"] = np.ravel(shape.class_specific)
    record["grid"] = grid_pointer
    record["pieces"] = pieces_pointer
    return record.tobytes()


def _cuts(table: JobTable) -> NDArray[np.uint32]:
    """32-bit cuts: the last, 2^32, is never looked at; nor is another that rounded up to it ever reached."""
    return np.minimum(table.class_cut, 2**32 - 1).astype(np.uint32)
