"""Steps of arrivals whose rate repeats with a cycle; bit for bit `loynes.inputs.periodic`."""

from __future__ import annotations

import numpy as np

from loynes.inputs.periodic import UNITS, UNITS_SHIFT
from loynes.kernels.cpu.compiled import compiled

_UNITS, _UNIT = float(UNITS), 2.0**-UNITS_SHIFT


@compiled
def ahead(t, x, e):
    """The gap after a job at place x, and the place of the next, e expected jobs later."""
    m, time = t.phases, t.time
    slot, r = x % m, x // m
    cycles = np.floor(e / time[m])
    e = max(e - cycles * time[m], 0.0)
    passed = cycles * m
    start, left = r, time[slot] * (1.0 - r * _UNIT)
    while time[slot] == 0.0 or e > left:
        e -= left
        slot = slot + 1 if slot + 1 < m else 0
        passed += 1.0
        start, left = 0, time[slot]
    to = min(start + np.int64(e / time[slot] * _UNITS + 0.5), UNITS - 1)
    return (passed * _UNITS + np.float64(to - r)) * time[m + 1], slot + m * to


@compiled
def behind(t, x, e):
    """The gap before a job at place x, and the place of the last, e expected jobs earlier."""
    m, time = t.phases, t.time
    slot, r = x % m, x // m
    cycles = np.floor(e / time[m])
    e = max(e - cycles * time[m], 0.0)
    passed = cycles * m
    start, left = r, time[slot] * (r * _UNIT)
    while time[slot] == 0.0 or e > left:
        e -= left
        slot = slot - 1 if slot > 0 else m - 1
        passed += 1.0
        start, left = UNITS, time[slot]
    to = min(max(start - np.int64(e / time[slot] * _UNITS + 0.5), 0), UNITS - 1)
    return (passed * _UNITS + np.float64(r - to)) * time[m + 1], slot + m * to
