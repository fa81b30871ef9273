"""Samples of every law: moments and Kolmogorov-Smirnov distance against the law itself.

False alarms: one KS test and two moment tests a law at 1e-6 each, 11 laws: below 4e-5 for the file, seeds fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from loynes.inputs.jobs import draw
from loynes.inputs.tables import job_table
from support import LAWS, SURE, single

COUNT = 400_000


@pytest.mark.parametrize("name", sorted(LAWS))
def test_services(name: str) -> None:
    model = single(LAWS[name])
    law = model.classes[0].service
    x = draw(job_table(model, 1.0), 2026, 0, 0, np.arange(COUNT)).service
    if law.variance == 0:
        assert np.all(x == law.mean)
        return
    z = stats.norm.isf((1 - SURE) / 2)
    assert abs(x.mean() - law.mean) <= z * math.sqrt(law.variance / COUNT)
    # The variance's own standard error from the sample; heavy laws make it wide, never too narrow by much.
    squares = (x - law.mean) ** 2
    assert abs(squares.mean() - law.variance) <= z * squares.std() / math.sqrt(COUNT)
    if name == "mixture":  # has an atom: compare where the distribution function is continuous
        ordered = np.sort(x[x != 2.0])
        assert np.count_nonzero(x == 2.0) / COUNT == pytest.approx(0.25, abs=z * math.sqrt(0.25 * 0.75 / COUNT))
        expected = (law.cdf(ordered) - 0.25 * (ordered >= 2.0)) / 0.75
    elif name == "empirical":  # nothing but atoms
        values, counts = np.unique(x, return_counts=True)
        probabilities = np.diff(law.cdf(values), prepend=0.0)
        assert stats.chisquare(counts, COUNT * probabilities).pvalue > 1 - SURE
        return
    else:
        ordered = np.sort(x)
        expected = law.cdf(ordered)
    n = len(ordered)
    steps = np.arange(n + 1) / n
    distance = max(np.max(steps[1:] - expected), np.max(expected - steps[:-1]))
    assert distance <= stats.kstwo.isf(1 - SURE, n)


def test_gaps_and_classes() -> None:
    from loynes.model import load

    model = load("borg-cell-b")
    jobs = draw(job_table(model, 2.0), 7, 0, 0, np.arange(COUNT))
    assert stats.kstest(jobs.gap, stats.expon(scale=0.5).cdf).pvalue > 1e-6
    counts = np.bincount(jobs.job_class, minlength=17)
    assert stats.chisquare(counts, COUNT * np.array([c.probability for c in model.classes])).pvalue > 1e-6
    assert abs(np.corrcoef(jobs.gap, jobs.service)[0, 1]) < 5 / math.sqrt(COUNT)
    assert abs(np.corrcoef(jobs.gap[1:], jobs.gap[:-1])[0, 1]) < 5 / math.sqrt(COUNT)


def test_streams_and_replicas_differ() -> None:
    table = job_table(single(LAWS["exponential"]), 1.0)
    runs = [draw(table, seed, stream, replica, np.arange(4096)).service for seed, stream, replica in
            ((1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0), (1 + 2**32, 0, 0))]  # fmt: skip
    correlation = np.corrcoef(runs) - np.eye(5)
    assert np.max(np.abs(correlation)) < 5.5 / 64
