"""Forecasts at many instants of logs with known laws: intervals hold the truth as often as they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import loynes

MAKE = Path(__file__).parents[2] / "examples" / "make_swf.py"
# The truths of one log hang together: on eight months a share of 80% is known to within two points (docs/eta.md).
SEEDS = (1, 2, 3)


def test_intervals_hold_what_they_say(tmp_path: Path) -> None:
    """80 and 95% intervals over 510 instants of three logs; what is judged of each counts as much as there is of it."""
    held, judged = {"0.8": 0.0, "0.95": 0.0}, 0
    for seed in SEEDS:
        log = tmp_path / f"log{seed}.swf"
        options = ["--jobs", "60000", "--servers", "256", "--load", "0.5", "--seed", str(seed)]
        subprocess.run([sys.executable, str(MAKE), str(log), *options], check=True)
        result = loynes.eta_backtest(backtest=str(log), instants=170, draws=200)
        judged += result.judged
        held = {share: held[share] + result.judged * result.scores[0].coverage[share] for share in held}
        assert result.saved > 0.3
    assert 0.77 <= held["0.8"] / judged <= 0.83
    assert 0.93 <= held["0.95"] / judged <= 0.97
