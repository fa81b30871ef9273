"""Forecasts at many instants of a log with known laws: intervals hold the truth as often as they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import loynes

MAKE = Path(__file__).parents[2] / "examples" / "make_swf.py"


def test_intervals_hold_what_they_say(tmp_path: Path) -> None:
    """80 and 95% intervals over 500 instants; the truths of one log hang together, hence the room on either side."""
    log = tmp_path / "log.swf"
    made = [sys.executable, str(MAKE), str(log), "--jobs", "60000", "--servers", "256", "--load", "0.5", "--seed", "1"]
    subprocess.run(made, check=True)
    result = loynes.eta_backtest(backtest=str(log), instants=500, draws=200)
    ours = result.scores[0]
    assert 0.77 <= ours.coverage["0.8"] <= 0.83
    assert 0.93 <= ours.coverage["0.95"] <= 0.97
    assert result.saved > 0.3
