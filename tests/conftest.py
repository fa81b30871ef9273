"""Shared by all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: the first example of a kernel may have to compile it.
settings.register_profile("house", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
