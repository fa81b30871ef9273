"""Who in line may start: a walk along a short line, a search in the blocks of a long one."""

from __future__ import annotations

from typing import Any

from loynes.kernels.cpu.variants import chosen_by_type
from loynes.kernels.events.blocks import NO_SEAT, SEATED, Blocks, next_seat, seat_line
from loynes.kernels.events.floor import LINED, NOBODY
from loynes.kernels.events.promise import Promise
from loynes.kernels.events.uncounted import uncounted


def _chosen(function: Any) -> Any:
    return chosen_by_type(function, counted=False)


@_chosen
def prepare_line(blocks, floor, head):
    """Make ready for the search a line that begins with that job."""


@prepare_line.variant(type(None))
def _prepare_nothing(blocks, floor, head):
    pass


@prepare_line.variant(Blocks)
def _seat_line(blocks, floor, head):
    seat_line(blocks, floor, head, floor.counts[LINED])


@_chosen
def may_start_from(blocks, floor, slot, reserved, least):
    """The first in line, from a job on, of whom it cannot be said at once that it does not start; NOBODY if none is.

    It is believed to take less than `least`. Whoever is believed to end by the time that is reserved may take all that
    is free, others only what the head of the line will not need then.
    """


@may_start_from.variant(type(None))
def _walk(blocks, floor, slot, reserved, least):
    return slot


@may_start_from.variant(Blocks)
def _walk_or_search(blocks, floor, slot, reserved, least):
    return search(blocks, floor, slot, reserved, least) if slot != NOBODY and blocks.notes[SEATED] == 1 else slot


@uncounted
def search(blocks, floor, slot, reserved, least):
    for k in range(floor.free.size):
        blocks.most[0, k] = max(floor.free[k], 0)
        blocks.most[1, k] = blocks.most[0, k]
    limit_to_spare(floor.promise, floor)
    seat = next_seat(blocks, blocks.seat[slot], floor.clock[0], reserved, least)
    return NOBODY if seat == NO_SEAT else blocks.job[seat]


@_chosen
def limit_to_spare(promise, floor):
    """Where the head of the line is promised its start, others must leave it what it needs then."""


@limit_to_spare.variant(type(None))
def _limit_nothing(promise, floor):
    pass


@limit_to_spare.variant(Promise)
def _limit_to_spare(promise, floor):
    for k in range(floor.free.size):
        floor.blocks.most[1, k] = min(floor.blocks.most[1, k], max(promise.spare[k], 0))
