"""The head of the line's reservation: when it can start, and who may start before it without making that any later.

By the run times that the scheduler believes in, the head can start at the first end of a running job after which there
are enough servers; where there are nodes, after which its tasks can be placed. Whoever starts now and runs on at that
time takes servers that were to be free then: that is harmless if those left over still do for the head. On nodes this
is asked with the tasks where they would be placed now. Of a quota that the head needs it takes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.ends import drop_first, enter
from loynes.kernels.events.floor import NOBODY, RUNNING, TAIL, leave_line, run_where_placed, start
from loynes.kernels.events.maintenance import Maintenance, enough_later, leaves_enough_beside
from loynes.kernels.events.node_order import NONE, first_node, next_node, node_at
from loynes.kernels.events.nodes import BEFORE, MOVES, ROOM, Nodes
from loynes.kernels.events.placing import put_on_nodes, take_off_nodes, tasks_in
from loynes.kernels.events.promise import HEAD_CLASS, TRIED, WHOSE, change_expected, forget_promise, is_promised
from loynes.kernels.events.sharing import leaves_quota
from loynes.kernels.events.uncounted import inlined, uncounted
from loynes.kernels.events.view import next_in_line


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@inlined
def start_head(floor, head):
    """The head of the line starts; whatever was promised to it or another does not hold any more."""
    forget_promise(floor.promise)
    start(floor, head)


@inlined
def reserve(floor, head):
    """When the head of the line can start, or infinite; what is left over then is kept for `start_beside`."""
    promise = floor.promise
    if not is_promised(floor, head):
        promise.time[0] = look_ahead(floor.nodes, floor, head)
        promise.notes[WHOSE] = floor.jobs[head].number
        promise.notes[HEAD_CLASS] = floor.jobs[head].job_class
        promise.notes[TRIED] = NOBODY
    return promise.time[0]


@inlined
def first_to_try(floor, head):
    """The first in line behind the head of whom it is not known that it cannot start, or NOBODY."""
    tried = floor.promise.notes[TRIED]
    return next_in_line(floor, head if tried == NOBODY else tried)


@inlined
def note_tried(floor, started):
    """All in line have been tried; whether somebody was started.

    That makes less room for the others. But tasks of theirs may be placed on other nodes now, harmless ones.
    """
    pooled = without_nodes(floor.nodes)
    floor.promise.notes[TRIED] = floor.counts[TAIL] if pooled or not started else NOBODY


@_chosen
def without_nodes(nodes):
    """Whether every kind of servers is one pool."""


@without_nodes.variant(type(None))
def _is_pool(nodes):
    return True


@without_nodes.variant(Nodes)
def _is_no_pool(nodes):
    return False


@_chosen
def look_ahead(nodes, floor, head):
    """The first believed end after which the head has enough, or infinite."""


@_chosen
def start_beside(nodes, floor, head, slot):
    """Start a job that fits and will run on when the head is to start, if it leaves enough for the head."""


@_chosen
def may_start_beside(nodes, floor, slot):
    """Whether `start_beside` may start a job that fits: where this is False, it does not."""


@_chosen
def start_before(nodes, floor, slot):
    """Start a job that fits and will have ended when the head is to start."""


@look_ahead.variant(type(None))
def _look_ahead_on_servers(nodes, floor, head):
    return find_start(floor.maintenance, floor, head)


@_chosen
def find_start(maintenance, floor, head):
    """The same in a pool, of which some servers may be announced to be lost."""


@find_start.variant(type(None))
def _find_in_constant_pool(maintenance, floor, head):
    return find_servers(floor, head)


@find_start.variant(Maintenance)
def _find_in_changing_pool(maintenance, floor, head):
    return find_servers_around(maintenance, floor, head)


@uncounted
def find_servers(floor, head):
    """What is left over then is in `spare`, and what would be just before in `before`."""
    kinds, spare, before, running = floor.free.size, floor.promise.spare, floor.promise.before, floor.counts[RUNNING]
    for k in range(kinds):
        spare[k] = floor.free[k] - floor.need[head, k]
    reserved, last = np.inf, -np.inf  # where servers are lost, the head may need more than there are
    size = list_ends(floor, running)
    while size > 0 and max(floor.jobs[0].believed, floor.clock[0]) <= reserved:
        # Whoever should have ended may do so at any moment.
        ends = max(floor.jobs[0].believed, floor.clock[0])
        if ends > last:
            last = ends
            for k in range(kinds):
                before[k] = spare[k]
        slot, size = next_to_end(floor, size, running)
        enough = True
        for k in range(kinds):
            spare[k] += floor.need[slot, k]
            enough &= spare[k] >= 0
        if enough:
            reserved = ends
    if reserved == np.inf:
        for k in range(kinds):
            before[k] = spare[k]
    return reserved


@uncounted
def find_servers_around(maintenance, floor, head):
    """The head can also start when servers come back, and must have its own until its believed end."""
    kinds, spare, running, i = floor.free.size, floor.promise.spare, floor.counts[RUNNING], maintenance.happened[0]
    for k in range(kinds):
        spare[k] = floor.free[k] - floor.need[head, k]
    size = list_ends(floor, running)
    while size > 0 or i < maintenance.time.size:
        time = floor.jobs[0].believed if size > 0 else np.inf
        time = max(min(time, maintenance.time[i]) if i < maintenance.time.size else time, floor.clock[0])
        while size > 0 and floor.jobs[0].believed <= time:
            slot, size = next_to_end(floor, size, running)
            for k in range(kinds):
                spare[k] += floor.need[slot, k]
        while i < maintenance.time.size and maintenance.time[i] <= time:
            for k in range(kinds):
                spare[k] -= maintenance.lost[i, k]
            i += 1
        enough = enough_later(maintenance, floor, head, head, time, time + floor.jobs[head].guess)
        for k in range(kinds):
            enough &= spare[k] >= 0
        if enough:
            return time
    return np.inf


@start_beside.variant(type(None))
def _start_on_spare_servers(nodes, floor, head, slot):
    promise, harmless = floor.promise, leaves_quota(floor.sharing, floor, slot, head)
    harmless &= leaves_enough_beside(floor.maintenance, floor, head, slot, promise.time[0])
    for k in range(floor.free.size):
        harmless &= floor.need[slot, k] <= max(promise.spare[k], 0)
    if harmless:
        for k in range(floor.free.size):
            promise.spare[k] -= floor.need[slot, k]
            promise.before[k] -= floor.need[slot, k]
        start(floor, slot)
    return harmless


@may_start_beside.variant(type(None))
def _are_enough_spare(nodes, floor, slot):
    harmless = True
    for k in range(floor.free.size):
        harmless &= floor.need[slot, k] <= max(floor.promise.spare[k], 0)
    return harmless


@may_start_beside.variant(Nodes)
def _tried_on_nodes(nodes, floor, slot):
    return True


@start_before.variant(type(None))
def _start(nodes, floor, slot):
    if floor.clock[0] + floor.jobs[slot].guess == floor.promise.time[0]:
        for k in range(floor.free.size):
            floor.promise.before[k] -= floor.need[slot, k]
    start(floor, slot)


@start_before.variant(Nodes)
def _start_on_nodes(nodes, floor, slot):
    c = floor.jobs[slot].job_class
    put_on_nodes(nodes, slot, c, floor.clock[0], floor.jobs[slot].guess)
    nodes.counts[MOVES] += 1
    if floor.clock[0] + floor.jobs[slot].guess == floor.promise.time[0]:
        change_expected(nodes, slot, c, floor.promise.notes[HEAD_CLASS], BEFORE, -1)
    leave_line(floor, slot)
    run_where_placed(floor, slot)


@start_beside.variant(Nodes)
def _start_on_spare_nodes(nodes, floor, head, slot):
    c, announced = floor.jobs[slot].job_class, nodes.windows.shape[1] > 0
    if nodes.barred[c] == nodes.counts[MOVES] or not leaves_quota(floor.sharing, floor, slot, head):
        return False
    of_head = floor.jobs[head].job_class
    put_on_nodes(nodes, slot, c, floor.clock[0], floor.jobs[slot].guess)
    change_expected(nodes, slot, c, of_head, ROOM, -1)
    if nodes.counts[ROOM] < nodes.layout.tasks[of_head]:
        change_expected(nodes, slot, c, of_head, ROOM, 1)
        take_off_nodes(nodes, slot, c)
        if not announced:  # else it depends on how long a job takes where it is placed
            nodes.barred[c] = nodes.counts[MOVES]
        return False
    nodes.counts[MOVES] += 1
    change_expected(nodes, slot, c, of_head, BEFORE, -1)
    leave_line(floor, slot)
    run_where_placed(floor, slot)
    return True


@uncounted
def list_ends(floor, running):
    """A list of the jobs that end next: of the heap of all running ones those whose parents were taken from the list;
    to begin with the first of all. How many are in it."""
    return enter(floor, 0, 0, floor.ends.believed[0]) if running > 0 else 0


@uncounted
def next_to_end(floor, size, running):
    """Take the job that ends next out of a list of that size, and put those behind it in; how many there are now."""
    place = floor.jobs[0].ending
    size = drop_first(floor, size)
    for child in (2 * place + 1, 2 * place + 2):
        if child < running:
            size = enter(floor, size, child, floor.ends.believed[child])
    return floor.ends.job[place], size


@look_ahead.variant(Nodes)
def _look_ahead_on_nodes(nodes, floor, head):
    nodes.counts[MOVES] += 1
    if nodes.windows.shape[1] > 0:
        return find_around_maintenance(nodes, floor, head)
    return find_nodes(nodes, floor, head)


@uncounted
def find_nodes(nodes, floor, head):
    """With `expected` as all ends until then, and all before, leave it."""
    c, reserved, last, together = floor.jobs[head].job_class, np.inf, -np.inf, 0
    tasks, running = nodes.layout.tasks[c], floor.counts[RUNNING]
    copy_units(nodes.free, nodes.expected[0])
    nodes.counts[ROOM] = 0
    at = first_node(nodes, c)
    while at != NONE:
        nodes.counts[ROOM] += tasks_in(nodes, nodes.free, node_at(nodes, c, at), c, 0.0, 0.0)
        at = next_node(nodes, c, at)
    # Those that end together last are listed from the end of the running ones.
    size = list_ends(floor, running)
    while size > 0 and floor.jobs[0].believed <= reserved:
        ends = floor.jobs[0].believed
        if ends > last:
            last, together = ends, 0
        slot, size = next_to_end(floor, size, running)
        change_expected(nodes, slot, floor.jobs[slot].job_class, c, ROOM, 1)
        together += 1
        floor.jobs[running - together].ending = slot
        if reserved == np.inf and nodes.counts[ROOM] >= tasks:
            reserved = ends
    copy_units(nodes.expected[0], nodes.expected[1])
    nodes.counts[BEFORE] = nodes.counts[ROOM]
    if reserved < np.inf:
        for i in range(together):
            slot = floor.jobs[running - 1 - i].ending
            change_expected(nodes, slot, floor.jobs[slot].job_class, c, BEFORE, -1)
    return reserved


@uncounted
def copy_units(units, to):
    for node in range(units.shape[0]):
        for k in range(units.shape[1]):
            to[node, k] = units[node, k]


@uncounted
def find_around_maintenance(nodes, floor, head):
    """The same where nodes will be away: the head can also start when some come back, and never runs into that."""
    c, length, reserved = floor.jobs[head].job_class, floor.jobs[head].guess, np.inf
    running, back, later = floor.counts[RUNNING], 0, nodes.expected[0]
    for node in range(nodes.away.size):
        # A node that failed is not expected to come back.
        expected = nodes.away[node] <= nodes.foreseen[node]
        for k in range(nodes.idle.size):
            later[node, k] = nodes.layout.capacity[node, k] - nodes.held[node, k] if expected else 0
    size = list_ends(floor, running)
    while reserved == np.inf:
        # One that comes back at this moment may not have done so yet.
        while back < nodes.returns.size and nodes.returns[back] < floor.clock[0]:
            back += 1
        time = nodes.returns[back] if back < nodes.returns.size else np.inf
        if size > 0 and floor.jobs[0].believed < time:
            time = floor.jobs[0].believed
        if time == np.inf:
            break
        while size > 0 and floor.jobs[0].believed <= time:
            slot, size = next_to_end(floor, size, running)
            change_expected(nodes, slot, floor.jobs[slot].job_class, c, ROOM, 1)
        if back < nodes.returns.size and nodes.returns[back] <= time:
            back += 1
        nodes.stretch[0], nodes.stretch[1], nodes.counts[ROOM] = time, time + length, 0
        for node in range(nodes.away.size):
            nodes.counts[ROOM] += max(tasks_in(nodes, later, node, c, time, time + length), 0)
        if nodes.counts[ROOM] >= nodes.layout.tasks[c]:
            reserved = time
    return reserved
