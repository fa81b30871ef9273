"""Sessions: runs of jobs of one user, alike, one after the other; where a run stands at a job.

A place tells three things, x = phase + phases (k + sizes r): the phase of the process that says when sessions begin,
how many jobs of the session came before this one, k, and how many are still to come, r. Sizes S of sessions are
independent, and so are the gaps, within sessions and between them; the phase stands still while a session lasts.

**Forwards.** While r > 0 the next job is of the same session: a gap of its own, k + 1 and r - 1. Else a gap between
sessions follows and a new one begins: k = 0, r = S - 1, with S drawn by the words of the last job of the old one.

**Backwards.** While k > 0 the job before is of the same session: k - 1 and r + 1. Else it was the last of another one,
whose size is drawn by that job's words: k = S - 1, r = 0. Sessions are independent of one another, so the ones before
job 0 are drawn as those after it are; the gaps between them are those of the reversed process.

**At job 0.** Of n sessions in a row about n P(S = s) have s jobs, and each of their jobs finds another k: a job finds
(k, r) with probability P(S = k + r + 1) / E[S]. So a session of s jobs is drawn with probability s P(S = s) / E[S], and
any k of it alike.

**Alike.** The class of a job is picked by word 0 of its session's first job, which is k jobs before it. With
probability `repeat`, by its own word 1, its service is made of that job's words 2 and 3, and else of its own. So a job
is still a pure function of its index, once its place is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loynes.arrays import Array, Ints
from loynes.model.arrivals import Sessions


def repeat_cut(process: Sessions) -> int:
    """A job repeats its session's first if its word is below."""
    return round(process.repeat * 2.0**32)


def met_sizes(process: Sessions) -> Array:
    """The size of the session that a job finds itself in, up to a factor."""
    return process.sizes * np.arange(1.0, len(process.sizes) + 1.0)


def start_positions(size: Ints, word: NDArray[np.uint64], sizes: int) -> Ints:
    """k + sizes r for a job anywhere in a session of this size."""
    k = ((word * size.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
    return np.asarray(k + sizes * (size - 1 - k))


def split(x: int, phases: int, sizes: int) -> tuple[int, int, int]:
    """Phase, jobs before and jobs to come."""
    return x % phases, x // phases % sizes, x // phases // sizes


def joined(phase: int, before: int, more: int, phases: int, sizes: int) -> int:
    return phase + phases * (before + sizes * more)


def jobs_before(places: Ints, phases: int, sizes: int) -> Ints:
    """k at each place."""
    return np.asarray(places // phases % sizes)
