"""The floor: servers, the jobs on them, and the line of those that wait, by priority and order of arrival.

Jobs live in slots of plain arrays. The line is a doubly linked list, so that a job leaves from anywhere in it at once;
running jobs are in a heap by the time they end. Nothing here knows of policies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.errors import UsageError
from loynes.kernels.events.believed import expect_end, expect_no_end, new_ends
from loynes.kernels.events.blocks import leave_seat, new_blocks, take_seat
from loynes.kernels.events.layout import Layout, Rules
from loynes.kernels.events.maintenance import expect_no_use, expect_use, more_until
from loynes.kernels.events.nodes import more_slots, new_nodes
from loynes.kernels.events.placing import displace, place
from loynes.kernels.events.promise import forget_promise, new_promise, note_stop, try_all_again
from loynes.kernels.events.sharing import (
    ahead_of_newcomer,
    goes_before,
    hold,
    new_sharing,
    note_arrival,
    note_entry,
    note_leaving,
)
from loynes.kernels.events.uncounted import inlined, uncounted

# Places in Floor.counts. WOKEN: servers were lost or came back, and nobody has been started since. BY_CLASS: whether
# lines of every class are kept, too. MEMORY, STEPS, SURPRISED are policies' own: a number they keep, how many steps a
# schedule has, and whether servers have become free, or been lost, that no schedule foresaw. LEFT: events that may
# still happen before somebody looks whether to go on.
HEAD, TAIL, LINED, RUNNING, SPARE, WOKEN, BY_CLASS, MEMORY, STEPS, SURPRISED, LEFT, COUNTS = range(12)
NOBODY = -1
# Numbers that a timetable may take.
MOST_PLANNED = 1 << 28


JOB = np.dtype(
    [
        ("service", "f8"),
        ("left", "f8"),  # of the service, still to get
        ("guess", "f8"),  # what the scheduler believes the service to be
        ("arrival", "f8"),
        ("started", "f8"),  # when first, or infinite
        ("end", "f8"),  # of a running job
        ("job_class", "i8"),
        ("reserved", "f8"),  # when a schedule lets it start, or infinite
        ("number", "i8"),  # -1 for what was there at the beginning
        ("row", "i8"),  # where its wait is to be written down, or -1
        ("after", "i8"),  # the next in line
        ("before", "i8"),
        ("next_alike", "i8"),  # the next in line of its class
        ("last_alike", "i8"),
        ("place", "i8"),  # in the heap, or -1
        ("marked", "i8"),  # a policy's own note, 0 at first
        # Not of this slot's job: lists as long as there are slots. The heap, a stack of empty slots, and running jobs
        # by their believed ends.
        ("heap", "i8"),
        ("heap_end", "f8"),  # of the job there
        ("spare", "i8"),
        ("ending", "i8"),
        ("believed", "f8"),
    ],
    align=True,
)


class Floor(NamedTuple):
    """One slot a job, as many as there is room for; `counts` and `clock` are what would be scalars."""

    jobs: NDArray[Any]
    need: Ints  # [slot, kind]
    free: Ints  # [kind]; below 0 where servers are lost as soon as their jobs end
    units: Ints  # [kind]
    counts: Ints
    alike: Ints  # [class, 2]: the first and the last in line of a class
    clock: Array  # [2]: the time, and when a schedule next wants to be asked though nothing happens, or infinite
    times: Array  # [step]: a schedule's, where a policy keeps one
    room: Ints  # [step, kind]: what it leaves free from that time on; of every node, where there are nodes
    extreme: Ints  # [2, kind]: needs of the classes that need least and most of all that may come; 0 if not known
    nodes: Any  # Nodes, or the empty tuple where every kind of servers is one pool
    sharing: Any  # Sharing, or the empty tuple where there are no priorities and no quotas
    promise: Any  # Promise, or the empty tuple where no reservation of the head of the line is kept
    ends: Any  # Ends, or the empty tuple where believed ends are not kept in order
    blocks: Any  # Blocks, or the empty tuple where the line is only walked along
    maintenance: Any  # Maintenance, or the empty tuple where no losses of a pool are announced


def new_floor(
    capacity: int,
    units: Ints,
    classes: int = 0,
    planned: bool = False,
    extreme: Ints | None = None,
    layout: Layout | None = None,
    rules: Rules | None = None,
    promising: bool = False,
    seeking: bool = False,
) -> Floor:
    """Empty; lines by class are kept for so many classes, and there is room for a timetable if it is planned.

    A floor that is promising keeps a reservation of the head of the line from event to event; one that is seeking keeps
    a long line in blocks, but not where rules say who is held back, or nodes who fits.
    """
    counts = np.zeros(COUNTS, np.int64)
    counts[HEAD] = counts[TAIL] = NOBODY
    counts[SPARE] = capacity
    counts[BY_CLASS] = classes > 0
    jobs = np.zeros(capacity, JOB)
    jobs["spare"] = np.arange(capacity - 1, -1, -1)
    # Two steps a job at most between events, and four more for every job that is moved in one.
    need, steps = np.zeros((capacity, len(units)), np.int64), 8 * capacity if planned else 1
    width = len(units) * (len(layout.capacity) if planned and layout is not None else 1)
    if steps * width > MOST_PLANNED:
        raise UsageError("too many nodes, or jobs in line, for a policy that plans ahead for every job")
    times, room = np.zeros(steps), np.zeros((steps, width), np.int64)
    alike = np.full((classes, 2), NOBODY, np.int64)
    extreme = np.zeros((2, len(units)), np.int64) if extreme is None else extreme.copy()
    return Floor(
        jobs, need, units.copy(), units.copy(), counts, alike, np.array([0.0, np.inf]), times, room, extreme,
        new_nodes(layout, capacity, planned), new_sharing(rules), new_promise(len(units)) if promising else (),
        new_ends(jobs, 0) if promising or layout is not None else (),
        new_blocks(capacity, len(units)) if seeking and rules is None and layout is None else (), (),
    )  # fmt: skip


def larger(floor: Floor) -> Floor:
    """The same floor with room for twice as many jobs."""
    capacity, spare = len(floor.jobs), int(floor.counts[SPARE])
    planned = len(floor.times) > 1
    layout = floor.nodes.layout if planned and floor.nodes != () else None  # for the width of its timetable
    wide = new_floor(2 * capacity, floor.units, len(floor.alike), planned, floor.extreme, layout)
    wide.jobs[:capacity], wide.need[:capacity] = floor.jobs, floor.need
    wide.free[:], wide.counts[:], wide.clock[:] = floor.free, floor.counts, floor.clock
    wide.alike[:] = floor.alike
    wide.times[: len(floor.times)], wide.room[: len(floor.room)] = floor.times, floor.room
    wide.jobs["spare"][:capacity] = np.arange(2 * capacity - 1, capacity - 1, -1)
    wide.jobs["spare"][capacity : capacity + spare] = floor.jobs["spare"][:spare]
    wide.counts[SPARE] = capacity + spare
    wide = wide._replace(
        nodes=more_slots(floor.nodes, 2 * capacity, planned), sharing=floor.sharing,
        maintenance=more_until(floor.maintenance, 2 * capacity),
    )  # fmt: skip
    return with_kept(wide, floor)


def with_kept(floor: Floor, other: Floor) -> Floor:
    """A floor that keeps of its jobs what another does. Those in line get seats when they are looked for."""
    ends = () if other.ends == () else new_ends(floor.jobs, int(floor.counts[RUNNING]))
    blocks = () if other.blocks == () else new_blocks(len(floor.jobs), len(floor.units))
    return floor._replace(promise=other.promise, ends=ends, blocks=blocks)


def rebase(floor: Floor, time: float) -> None:
    """Let that time be 0."""
    for name in ("arrival", "started", "end", "reserved", "heap_end", "believed"):
        floor.jobs[name] -= time
    floor.times[:] -= time
    floor.clock[:] -= time
    if floor.promise != ():
        forget_promise(floor.promise)


@inlined
def admit(floor, demand, job_class, service, guess, number, row):
    """A job arrives at the end of the line, to take its class's row of `demand`; its slot."""
    floor.counts[SPARE] -= 1
    slot = floor.jobs[floor.counts[SPARE]].spare
    for k in range(floor.free.size):
        floor.need[slot, k] = demand[job_class, k]
    job = floor.jobs[slot]
    job.service = service
    job.left = service
    job.guess = guess
    job.arrival = floor.clock[0]
    job.started = np.inf
    job.end = np.inf
    job.job_class = job_class
    job.reserved = np.inf
    job.number = number
    job.row = row
    job.place = NOBODY
    job.marked = 0
    ahead = ahead_of_newcomer(floor.sharing, floor, floor.counts[TAIL], job_class)
    enter_line(floor, slot, ahead, floor.alike[job_class, 1] if floor.counts[BY_CLASS] else NOBODY)
    note_arrival(floor.sharing, slot)
    return slot


@inlined
def enter_line(floor, slot, ahead, alike):
    """Into the line behind that job, and that job of its class; nobody is the front."""
    behind = floor.counts[HEAD] if ahead == NOBODY else floor.jobs[ahead].after
    floor.jobs[slot].before = ahead
    floor.jobs[slot].after = behind
    if ahead == NOBODY:
        floor.counts[HEAD] = slot
    else:
        floor.jobs[ahead].after = slot
    if behind == NOBODY:
        floor.counts[TAIL] = slot
    else:
        floor.jobs[behind].before = slot
        try_all_again(floor.promise)
    floor.counts[LINED] += 1
    take_seat(floor.blocks, floor, slot)
    note_entry(floor.sharing, floor, slot)
    if floor.counts[BY_CLASS]:
        _enter_alike(floor, slot, alike)


@uncounted
def _enter_alike(floor, slot, alike):
    c = floor.jobs[slot].job_class
    later = floor.alike[c, 0] if alike == NOBODY else floor.jobs[alike].next_alike
    floor.jobs[slot].last_alike = alike
    floor.jobs[slot].next_alike = later
    if alike == NOBODY:
        floor.alike[c, 0] = slot
    else:
        floor.jobs[alike].next_alike = slot
    if later == NOBODY:
        floor.alike[c, 1] = slot
    else:
        floor.jobs[later].last_alike = slot


@inlined
def leave_line(floor, slot):
    leave_seat(floor.blocks, slot)
    note_leaving(floor.sharing, floor, slot)
    ahead, behind = floor.jobs[slot].before, floor.jobs[slot].after
    if ahead == NOBODY:
        floor.counts[HEAD] = behind
    else:
        floor.jobs[ahead].after = behind
    if behind == NOBODY:
        floor.counts[TAIL] = ahead
    else:
        floor.jobs[behind].before = ahead
    floor.counts[LINED] -= 1
    if floor.counts[BY_CLASS]:
        _leave_alike(floor, slot)


@uncounted
def _leave_alike(floor, slot):
    c = floor.jobs[slot].job_class
    ahead, behind = floor.jobs[slot].last_alike, floor.jobs[slot].next_alike
    if ahead == NOBODY:
        floor.alike[c, 0] = behind
    else:
        floor.jobs[ahead].next_alike = behind
    if behind == NOBODY:
        floor.alike[c, 1] = ahead
    else:
        floor.jobs[behind].last_alike = ahead


@inlined
def run(floor, slot):
    """Give a job its servers; it may still be in line."""
    place(floor.nodes, floor, slot)
    run_where_placed(floor, slot)


@inlined
def run_where_placed(floor, slot):
    """Let a job run whose tasks have their nodes, where there are nodes."""
    for k in range(floor.free.size):
        floor.free[k] -= floor.need[slot, k]
    hold(floor.sharing, floor, slot, 1)
    now = floor.clock[0]
    if floor.jobs[slot].started == np.inf:
        floor.jobs[slot].started = now
    floor.jobs[slot].end = now + floor.jobs[slot].left
    size = floor.counts[RUNNING]
    floor.counts[RUNNING] = size + 1
    _rise(floor, slot, floor.jobs[slot].end, size)
    expect_end(floor.ends, floor, slot, size)
    expect_use(floor.maintenance, floor, slot)


@inlined
def start(floor, slot):
    """A job starts: it leaves the line for its servers."""
    leave_line(floor, slot)
    run(floor, slot)


@inlined
def stop(floor, slot):
    """Take a job off its servers; what it has had is not lost."""
    note_stop(floor.promise, floor, slot)
    expect_no_use(floor.maintenance, floor, slot, 1)
    displace(floor.nodes, floor, slot)
    hold(floor.sharing, floor, slot, -1)
    for k in range(floor.free.size):
        floor.free[k] += floor.need[slot, k]
    floor.jobs[slot].left = floor.jobs[slot].end - floor.clock[0]
    floor.jobs[slot].end = np.inf
    hole = floor.jobs[slot].place
    floor.jobs[slot].place = NOBODY
    size = floor.counts[RUNNING] - 1
    expect_no_end(floor.ends, slot, size)
    floor.counts[RUNNING] = size
    last, ends = floor.jobs[size].heap, floor.jobs[size].heap_end
    if hole < size:
        if hole > 0 and ends < floor.jobs[(hole - 1) >> 1].heap_end:
            _rise(floor, last, ends, hole)
        else:
            _sink(floor, last, ends, hole, size)


@uncounted
def interrupt(floor, slot, in_line):
    """A running job loses its servers and what it has had; it waits again, in its place by order of arrival."""
    stop(floor, slot)
    floor.jobs[slot].left = floor.jobs[slot].service
    floor.jobs[slot].started = np.inf
    floor.jobs[slot].reserved = np.inf
    if not in_line:
        rejoin(floor, slot)


@uncounted
def rejoin(floor, slot):
    """Into the line, in its place by priority and order of arrival."""
    ahead, alike, other = NOBODY, NOBODY, floor.counts[HEAD]
    while other != NOBODY and goes_before(floor.sharing, floor, other, slot):
        ahead = other
        if floor.jobs[other].job_class == floor.jobs[slot].job_class:
            alike = other
        other = floor.jobs[other].after
    enter_line(floor, slot, ahead, alike)


@inlined
def vacate(floor, slot):
    """A job that is neither in line nor on servers is gone."""
    floor.jobs[floor.counts[SPARE]].spare = slot
    floor.counts[SPARE] += 1


@inlined
def _rise(floor, slot, ends, at):
    while at > 0:
        parent = (at - 1) >> 1
        if floor.jobs[parent].heap_end <= ends:
            break
        _move(floor, parent, at)
        at = parent
    _set(floor, slot, ends, at)


@inlined
def _sink(floor, slot, ends, at, size):
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and floor.jobs[child + 1].heap_end < floor.jobs[child].heap_end:
            child += 1
        if floor.jobs[child].heap_end >= ends:
            break
        _move(floor, child, at)
        at = child
    _set(floor, slot, ends, at)


@inlined
def _move(floor, place, to):
    _set(floor, floor.jobs[place].heap, floor.jobs[place].heap_end, to)


@inlined
def _set(floor, slot, ends, at):
    floor.jobs[at].heap = slot
    floor.jobs[at].heap_end = ends
    floor.jobs[slot].place = at
