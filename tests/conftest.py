"""Shared by all tests."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

# No deadline: the first example of a kernel may have to compile it.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
# To compile a kernel makes millions of objects that live as long as it does: Python's usual search for garbage, after
# every 700 of them, is a seventh of the time.
gc.set_threshold(20_000, 20, 50)


def pytest_collection_finish() -> None:
    """Tests and modules are no garbage: they are not searched again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def without_response_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that do not look at them: by bisection on distribution functions, they take longest of a short run."""
    from loynes.estimate import Estimate
    from loynes.estimators import chains

    monkeypatch.setattr(chains._Waits, "_response_percentiles", lambda *_: [Estimate.exact(0.0)] * 4)


@pytest.fixture
def means_only(without_response_percentiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that look at no percentile and no tail at all: means, variances, P(no wait) and losses are there."""
    from loynes.estimate import Estimate
    from loynes.estimators import chains

    monkeypatch.setattr(
        chains._Waits, "_wait_percentiles", lambda self, *_: [Estimate.exact(0.0)] * len(self.wanted.quantiles)
    )
    monkeypatch.setattr(chains._Waits, "tails", lambda *_: {})
