"""Results draw themselves on any axes they are given."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import loynes


def test_plot() -> None:
    result = loynes.evaluate("five-class-exponential", rate=1.0, samples=2000)
    _, given = plt.subplots()
    axes = result.plot(ax=given)
    assert axes is given
    assert [label.get_text() for label in axes.get_xticklabels()] == ["T1", "T2", "T5", "T10", "T15", "all jobs"]
    means = axes.containers[0][0].get_ydata()
    assert means[-1] == pytest.approx(result.overall.wait.mean.estimate)
    assert "rate 1 " in axes.get_title()
    plt.close("all")
