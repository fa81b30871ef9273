"""Divisor filling (Grosof, Harchol-Balter and Scheller-Wolf 2022), preemptive, for needs that divide the servers.

Take the shortest beginning of all jobs, in order of arrival, of which some together need exactly all servers; of these
the largest needs are served first, as far as all servers stay busy. Where needs and servers are powers of two this is
server filling.

Of any k jobs whose needs divide k some need exactly k together, so the beginning is never longer than k jobs, and all
servers are busy whenever k jobs are present: no rate below the ideal is too much, and the mean response stays within a
constant of that of a single server as fast as all (the authors' class of work-conserving, finite-skip policies). That
such jobs exist is a theorem of Lemke and Kleitman (1989): among k whole numbers are some whose sum is a multiple of k
while the sum of their greatest common divisors with k is at most k; divisors of k are their own. The authors find such
jobs in another way, which may serve others of the first k.

Where needs do not divide the servers, or servers were lost, and no beginning fills them, those of the first k jobs are
served that together need most.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Ints
from loynes.kernels.events.floor import NOBODY
from loynes.kernels.events.mix import Mix
from loynes.kernels.events.policies.register import policy
from loynes.kernels.events.policies.server_filling import LEFT_OUT, SERVED, serve_marked
from loynes.kernels.events.uncounted import uncounted
from loynes.kernels.events.view import could_fit, first_in_line, jobs_running, next_in_line, running_job

ONE, WORD = np.uint64(1), 64


class Room(NamedTuple):
    """Where jobs to serve are looked for; nothing of it is remembered from one event to the next."""

    need: Ints  # the different needs, ascending
    number: Ints  # [need], its place among them
    there: Ints  # how many jobs of each need the beginning has
    served: Ints  # and how many of them are served
    sums: NDArray[np.uint64]  # a bit for every sum of needs that jobs of the beginning have
    reached: NDArray[np.bool_]  # [j, sum], by the j smallest needs
    used: Ints  # [sum], jobs of one need in it, at least


def room_for(mix: Mix) -> Room:
    """For the needs of all classes."""
    servers, need = int(mix.units[0]), np.unique(mix.demand[:, 0])
    number = np.zeros(int(need.max(initial=0)) + 1, np.int64)
    number[need] = np.arange(len(need))
    zeros = np.zeros(len(need), np.int64)
    reached = np.zeros((len(need) + 1, servers + 1), np.bool_)
    return Room(
        need, number, zeros, zeros.copy(), np.zeros(servers // WORD + 1, np.uint64), reached, np.zeros(servers + 1, int)
    )


def needs_no_divisors(needs: list[int], servers: int) -> tuple[str, ...]:
    """What divisor filling promises only for divisors."""
    if not any(servers % need for need in needs if need):
        return ()
    return (
        "divisor-filling leaves no server idle while there are as many jobs as servers if all needs divide the number "
        "of servers, which they do not",
    )


@policy(
    "divisor-filling",
    rank=11,
    keeps_place=True,
    identical_servers_only=True,
    prepare=room_for,
    check=needs_no_divisors,
    caveat="needs preemption that costs nothing: jobs are stopped and go on later",
    summary="preemptive: of the shortest beginning of the line of which some fill all servers exactly, those, the "
    "largest first",
    reference="Grosof, Harchol-Balter and Scheller-Wolf 2022, arXiv 2109.12663",
)
def divisor_filling(floor, room):
    serve_marked(floor, _choose(floor, room))


@uncounted
def _choose(floor, room):
    """Mark whom to serve, and nobody else; how long the beginning of the line is that was looked at."""
    for i in range(jobs_running(floor)):
        floor.jobs[running_job(floor, i)].marked = LEFT_OUT
    servers, size, listed = floor.units[0], 0, 0
    room.there[:] = 0
    room.sums[:] = np.uint64(0)
    room.sums[0] = ONE
    slot = first_in_line(floor)
    while slot != NOBODY and listed < servers and not _has(room, servers):
        floor.jobs[slot].marked = LEFT_OUT
        if could_fit(floor, slot):
            room.there[room.number[floor.need[slot, 0]]] += 1
            _add(room, floor.need[slot, 0])
            listed += 1
        size += 1
        slot = next_in_line(floor, slot)
    most = servers
    while most > 0 and not _has(room, most):
        most -= 1
    if not _largest_first(room, most):
        _fill(room, most)
    slot = first_in_line(floor)
    for _ in range(size):
        if could_fit(floor, slot) and room.served[room.number[floor.need[slot, 0]]] > 0:
            room.served[room.number[floor.need[slot, 0]]] -= 1
            floor.jobs[slot].marked = SERVED
        slot = next_in_line(floor, slot)
    return size


@uncounted
def _has(room, total):
    """Whether some of the jobs together need so many."""
    return total >> 6 < room.sums.size and (room.sums[total >> 6] >> np.uint64(total & 63)) & ONE == ONE


@uncounted
def _add(room, need):
    """One more job: every sum there is, and with its need."""
    words, bits = need >> 6, np.uint64(need & 63)
    for at in range(room.sums.size - 1, words - 1, -1):
        shifted = room.sums[at - words] << bits
        if bits > 0 and at - words > 0:
            shifted |= room.sums[at - words - 1] >> (np.uint64(WORD) - bits)
        room.sums[at] |= shifted


@uncounted
def _largest_first(room, total):
    """Serve as many as fit, the largest first; whether these need `total`."""
    left = total
    for j in range(room.need.size - 1, -1, -1):
        room.served[j] = min(room.there[j], left // room.need[j])
        left -= room.served[j] * room.need[j]
    return left == 0


@uncounted
def _fill(room, total):
    """Serve jobs that together need `total`, which some do: of the largest need as many as others can add to."""
    reached, used = room.reached, room.used
    reached[0, :] = False
    reached[0, 0] = True
    for j in range(room.need.size):
        need = room.need[j]
        for s in range(total + 1):
            used[s] = 0
            reached[j + 1, s] = reached[j, s]
            if not reached[j, s] and s >= need and reached[j + 1, s - need] and used[s - need] < room.there[j]:
                reached[j + 1, s] = True
                used[s] = used[s - need] + 1
    left = total
    for j in range(room.need.size - 1, -1, -1):
        need = room.need[j]
        count = min(room.there[j], left // need)
        while not reached[j, left - count * need]:
            count -= 1
        room.served[j] = count
        left -= count * need
