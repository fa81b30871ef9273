"""Shared by all tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# No deadline: the first example of a kernel may have to compile it.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


@pytest.fixture
def without_response_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that do not look at them: by bisection on distribution functions, they take longest of a short run."""
    from loynes.estimate import Estimate
    from loynes.estimators import chains

    monkeypatch.setattr(chains._Waits, "_response_percentiles", lambda *_: [Estimate.exact(0.0)] * 4)
