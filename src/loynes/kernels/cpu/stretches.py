"""A log in stretches: run side by side where there are cores, and again in parts where that is wanted.

**Side by side.** The first stretches are run from the state that the jobs before have left. Others, further on, are run
at the same time from a guess, the empty cluster. What a stretch does depends on the state before it alone, so a guess
is mended by running on from the true state until it stands where the guess stood at the same place: from there on the
guess was right, to the last bit. That the two do meet is what the recurrence is known for: whoever was in service at
the guess has to leave, and the line has to be empty once. Where they do not (more work comes than the servers can do),
all was run twice, so guesses are tried on a small part first, and given up for a while where they fail.

A chain from an upper bound, beside the one from below, would tell the same without the true state, but costs a third
run until they meet; the true state is needed anyway for the jobs before.

**Again in parts.** Where windows of time end is known only when the last job has ended. Stretches that lie in one
window have their losses summed as they are; those that an edge cuts, a few, are run again.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from loynes.arrays import Array, Ints
from loynes.kernels.cpu.replay import Chain, Jobs, Met, Saved, cheaper_as_runs
from loynes.kernels.cpu.threads import cores, heed, new_flag, run_lines
from loynes.kernels.reference import BLOCK

# Jobs of a stretch: whole blocks, and no fewer than servers, so that states take no more memory than jobs.
LEAST_STRETCH = 256 * BLOCK
# A thread is given at least so many stretches, and a first try takes at most so much of the log.
LEAST_TURN = 4
FIRST_TRY = 1 / 8
# Times are compared with edges of windows to so much of the whole time: rounding is far below.
SLACK = 1e-12
ALL_TIME = np.array([0.0, np.inf])


class Replayed:
    """What jobs met on an empty cluster: the wait and the HOL loss (server time) of each, the workload at the end."""

    def __init__(self, jobs: Jobs, chain: Chain, stretch: int) -> None:
        count = len(jobs.need)
        self._jobs, self._met = jobs, Met(np.empty(count), np.empty(count))
        self._firsts = range(0, count, stretch)
        self._before: list[Saved] = [chain.state] * len(self._firsts)
        self._chain, self._flag = chain, new_flag()
        self.again = 0  # stretches that were run a second time, because a guess was wrong

    @property
    def wait(self) -> Array:
        return self._met.wait

    @property
    def loss(self) -> Array:
        return self._met.loss

    @property
    def workload(self) -> Array:
        return self._chain.workload

    def run(self, threads: int) -> None:
        """All stretches."""
        count = len(self._firsts)
        turn = max(LEAST_TURN, int(FIRST_TRY * count / threads))
        at, alone = 0, turn
        while at < count:
            left = count - at
            if threads < 2 or left < 2 * LEAST_TURN:
                self._run_on(self._chain, at, count)
                return
            turn = min(turn, -(-left // threads))
            ends = [min(at + (i + 1) * turn, count) for i in range(threads)]
            again = self._side_by_side(at, ends)
            at = ends[-1]
            self.again += again
            if 2 * again <= (threads - 1) * turn:
                turn *= 2
            else:
                alone *= 2
                stop = min(at + threads * alone, count)
                self._run_on(self._chain, at, stop)
                at = stop

    def _side_by_side(self, at: int, ends: list[int]) -> int:
        """Stretches from `at` on, a thread up to each end; returns how many had to be run again."""
        chains = [self._chain, *(Chain(self._chain.servers, self._chain.as_runs) for _ in ends[1:])]
        begins = [at, *ends[:-1]]
        turns = zip(chains, begins, ends, strict=True)
        run_lines([iter([partial(self._run_on, *turn)]) for turn in turns], len(chains), self._flag)
        again = 0
        for chain, begin, end in zip(chains[1:], begins[1:], ends[1:], strict=True):
            met = self._run_on(self._chain, begin, end, until_met=True)
            again += met - begin
            if met < end:
                self._chain = chain
        return again

    def _run_on(self, chain: Chain, begin: int, end: int, until_met: bool = False) -> int:
        """Stretches begin .. end - 1; on request only until what is known to be before one is where the chain stands.

        Returns the first stretch that was not run.
        """
        for k in range(begin, end):
            if until_met and chain.stands_at(self._before[k]):
                return k
            heed(self._flag)
            self._before[k] = chain.state
            chain.run(self._jobs, *self._bounds(k), self._met, ALL_TIME, 0, np.zeros(1))
        return end

    def _bounds(self, k: int) -> tuple[int, int]:
        first = self._firsts[k]
        return first, min(first + self._firsts.step, len(self._jobs.need))

    def lost_in(self, edges: Array) -> Array:
        """The HOL loss in windows of time; what lies past the last edge is in the last one."""
        submit, wait, loss = self._jobs.submit, self.wait, self.loss
        lost, inner, chain = np.zeros(len(edges) - 1), edges[1:-1], Chain(self._chain.servers, self._chain.as_runs)
        slack = SLACK * (submit[-1] + wait[-1])
        for k, before in enumerate(self._before):
            first, stop = self._bounds(k)
            # Starts ascend, and servers idle for a job's sake only after it has come and the one before has started.
            begun = max(submit[first], submit[first - 1] + wait[first - 1]) if first else 0.0
            low, high = np.searchsorted(inner, (begun - slack, submit[stop - 1] + wait[stop - 1] + slack)).tolist()
            if low == high:
                # Summed one after the other, as the chain does.
                lost[low] = np.add.accumulate(np.append(lost[low], loss[first:stop]))[-1]
            else:
                chain.state = before
                chain.run(self._jobs, first, stop, self._met, edges, low, lost)
        return lost


def run_replay(
    servers: int,
    need: Ints,
    service: Array,
    submit: Array,
    as_runs: bool | None = None,
    threads: int | None = None,
    stretch: int | None = None,
) -> Replayed:
    """Jobs submitted at given times, ascending, on an empty cluster. Neither threads nor stretches change a bit."""
    form = cheaper_as_runs(servers, need) if as_runs is None else as_runs
    blocks = -(-max(LEAST_STRETCH, servers) // BLOCK)
    found = Replayed(Jobs(need, service, submit), Chain(servers, form), stretch or BLOCK * blocks)
    found.run(cores() if threads is None else threads)
    return found
