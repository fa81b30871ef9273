"""What a scenario changes while time goes by: how fast jobs come, and how many servers there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.events.floor import RUNNING, Floor
from loynes.kernels.events.loop import lose_servers
from loynes.kernels.events.maintenance import new_maintenance, recount
from loynes.kernels.events.node_order import NONE
from loynes.kernels.events.nodes import arrange


@dataclass(frozen=True)
class ServerChange:
    """At a time so many servers of every kind are lost (those below 0 come back): once idle, or at once.

    Where there are nodes, these go away, or come back, with all that they have, and nothing is said of servers. A node
    that goes away takes no tasks any more; at once, the jobs that have a task on it are interrupted.
    """

    time: float
    lost: tuple[int, ...]
    at_once: bool
    number: int  # tells it from the others
    nodes_lost: tuple[int, ...] = ()
    nodes_back: tuple[int, ...] = ()
    # Known from the beginning: until they come back, by a change that is announced, too, nobody starts on nodes who is
    # believed to be there when they go, and in a pool nobody who would need what is lost then.
    announced: bool = False


@dataclass(frozen=True)
class Changes:
    """Nothing changes by default. Arrivals' own time runs `factors[i]` times as fast from `times[i]` on."""

    times: tuple[float, ...] = (0.0,)
    factors: tuple[float, ...] = (1.0,)
    of_servers: tuple[ServerChange, ...] = ()

    @property
    def is_announced(self) -> bool:
        """Whether any of it is known before."""
        return any(change.announced for change in self.of_servers)

    @property
    def announced(self) -> list[tuple[float, float, tuple[int, ...]]]:
        """From when to when which nodes will be away, as far as this is known before."""
        known = [change for change in self.of_servers if change.announced]
        found = list[tuple[float, float, tuple[int, ...]]]()
        for change in known:
            for node in change.nodes_lost:
                back = [one.time for one in known if one.time > change.time and node in one.nodes_back]
                found.append((change.time, min(back, default=float(np.inf)), (node,)))
        return found

    def real(self, arrival: Array) -> Array:
        """When jobs come that would come at these times were the rate never changed."""
        if self.factors == (1.0,):
            return arrival
        starts, factors = np.array(self.times), np.array(self.factors)
        # Arrivals' own time at the beginning of each piece. Where it stands still nobody comes.
        own = np.concatenate([[0.0], np.cumsum(np.diff(starts) * factors[:-1])])
        piece = np.searchsorted(own, arrival, side="right") - 1
        return np.asarray(starts[piece] + (arrival - own[piece]) / factors[piece])


def apply(change: ServerChange, floor: Floor, in_line: bool, rng: np.random.Generator) -> None:
    """Take servers away or give them back; running jobs may keep a place in line."""
    if floor.nodes != ():
        _move_nodes(change, floor, in_line)
        return
    lost = [(kind, count) for kind, count in enumerate(change.lost) if change.at_once and count > 0]
    hit = [_hit(floor, kind, count, change.announced, rng) for kind, count in lost]
    slots = np.unique(np.concatenate([np.empty(0, np.int64), *hit]))
    lose_servers(floor, np.array(change.lost, np.int64), slots, in_line, change.announced)
    if floor.maintenance != ():
        floor.maintenance.happened[0] += change.announced
        expect_anew(floor)


def announce_losses(floor: Floor, changes: Changes) -> Floor:
    """The floor of a pool, of which it is known beforehand when servers will be lost."""
    losses = [(change.time, change.lost) for change in changes.of_servers if change.announced]
    floor = floor._replace(maintenance=new_maintenance(losses, len(floor.jobs)))
    expect_anew(floor)
    return floor


def expect_anew(floor: Floor) -> None:
    """Count what those that run will leave."""
    running = floor.jobs["heap"][: floor.counts[RUNNING]]
    floor.maintenance.until[running] = floor.jobs["started"][running] + floor.jobs["guess"][running]
    recount(floor.maintenance, floor.units, floor.need[running], floor.maintenance.until[running])


def _hit(floor: Floor, kind: int, lost: int, announced: bool, rng: np.random.Generator) -> Ints:
    """Slots of the jobs that run on at least one of so many servers of a kind: random ones, or idle ones first."""
    slots = floor.jobs["heap"][: floor.counts[RUNNING]]
    # Running jobs side by side over all servers of the kind, idle ones last.
    ends = np.cumsum(floor.need[slots, kind])
    there, busy = int(floor.units[kind]), int(ends[-1]) if len(ends) else 0
    if announced:
        there, lost = busy, max(lost - max(there - busy, 0), 0)
    broken = rng.choice(there, lost, replace=False)
    places = np.searchsorted(ends, broken, side="right")
    return np.asarray(slots[np.unique(places[places < len(slots)])])


def _move_nodes(change: ServerChange, floor: Floor, in_line: bool) -> None:
    """Nodes go away and come back. One that went twice has to come back twice."""
    nodes, hit = floor.nodes, list[int]()
    there = nodes.away == 0
    np.add.at(nodes.away, list(change.nodes_lost), 1)
    np.subtract.at(nodes.away, list(change.nodes_back), 1)
    if change.announced:
        np.add.at(nodes.foreseen, list(change.nodes_lost), 1)
        np.subtract.at(nodes.foreseen, list(change.nodes_back), 1)
    if change.at_once:
        for slot in floor.jobs["heap"][: floor.counts[RUNNING]].tolist():
            piece, struck = int(nodes.piece[slot]), False
            while piece != NONE:
                struck |= bool(nodes.away[nodes.piece_node[piece]] > 0)
                piece = int(nodes.next_piece[piece])
            if struck:
                hit.append(slot)
    lost = nodes.layout.capacity[there].sum(axis=0) - nodes.layout.capacity[nodes.away == 0].sum(axis=0)
    lose_servers(floor, lost, np.array(sorted(hit), np.int64), in_line, change.announced)
    arrange(nodes)
