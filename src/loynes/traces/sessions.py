"""Sessions in a log: jobs of one user, each submitted soon after the one before."""

from __future__ import annotations

import numpy as np

from loynes.arrays import Ints
from loynes.traces.trace import Trace

# A pause of more than twenty minutes between two submissions ends a session (Zilber, Gil, Feitelson 2005).
PAUSE = 1200.0


def sessions_of(trace: Trace) -> Ints:
    """The session of every job, numbered from 0 on in the order in which sessions begin.

    Where the log does not tell users, jobs of the same need and requested time count as one user's.
    """
    user = _users(trace)
    order = np.lexsort((np.arange(trace.jobs), user))
    starts = np.ones(trace.jobs, dtype=np.bool_)
    starts[1:] = (np.diff(user[order]) != 0) | (np.diff(trace.submit[order]) > PAUSE)
    session = np.empty(trace.jobs, np.int64)
    session[order] = np.cumsum(starts) - 1
    # Numbered by their first jobs.
    _, first, inverse = np.unique(session, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()], np.int64)


def _users(trace: Trace) -> Ints:
    if "user" in trace.labels:
        return np.asarray(np.unique(trace.labels["user"], return_inverse=True)[1].ravel(), np.int64)
    requested = trace.requested
    asked = np.zeros(trace.jobs) if requested is None else np.nan_to_num(requested, nan=-1.0)
    alike = np.unique(np.column_stack([trace.need.astype(np.float64), asked]), axis=0, return_inverse=True)[1]
    return np.asarray(alike.ravel(), np.int64)
