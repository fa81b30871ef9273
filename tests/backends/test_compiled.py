"""How kernels are compiled and kept: twins for compiled callers, and where the cache lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba import config
from numba.core import caching
from numba.core.types import float64

from loynes.kernels.cpu.compiled import compiled


def doubled(x):
    return 2.0 * x


def test_compiled_callers_take_a_twin() -> None:
    """A function that kernels call is compiled without what Python would call it by, until Python does."""
    inner = compiled(doubled, cached=False)

    def twice(x):
        return inner(inner(x))

    outer = compiled(twice, cached=False)
    assert outer(3.0) == 12.0
    assert outer.signatures == [(float64,)]
    assert inner.signatures == []
    assert inner(3.0) == 6.0
    assert inner.signatures == [(float64,)]


def refuse(locator: object) -> None:
    raise PermissionError("read-only")


def files(folder: Path) -> set[str]:
    return {path.suffix for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("installed", ["writable", "read-only", "read-only, no home either"])
def test_the_cache_of_an_installation(installed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the sources where that can be written, else in the user's cache, else nowhere: then every process compiles
    anew. Nothing is written before a function is called."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    sources, home = tmp_path / "sources", tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    locators = caching.CacheImpl._locator_classes
    for locator in locators:
        if "UserWide" not in locator.__name__:
            if installed == "writable":
                monkeypatch.setattr(locator, "get_cache_path", lambda self: str(sources))
            else:
                monkeypatch.setattr(locator, "ensure_cache_path", refuse)
        elif installed == "read-only, no home either":
            monkeypatch.setattr(locator, "ensure_cache_path", refuse)
    first, second = compiled(doubled), compiled(doubled)
    assert not sources.exists()
    assert not home.exists()
    assert first(3.0) == second(3.0) == 6.0
    kept = {"writable": sources, "read-only": home}.get(installed)
    for folder in (sources, home):
        assert files(folder) == ({".nbi", ".nbc"} if folder == kept else set())
    assert sum(second.stats.cache_hits.values()) == (kept is not None)
