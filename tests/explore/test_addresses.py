"""By which names the live page lets itself be asked for."""

from __future__ import annotations

from loynes.explore.server import Names, bound


def test_a_container_s_page_is_asked_for_on_loopback() -> None:
    """It listens on all addresses, and its port is passed on to this machine's loopback address, under the same
    number. Whoever listens on one address only is asked for by that."""
    local = {"127.0.0.1:8765", "localhost:8765", "[::1]:8765"}
    elsewhere = {"192.0.2.1:8765", "example.org:8765", "localhost:8766"}
    for everywhere in ("0.0.0.0", "::"):
        assert all(name in Names.of(everywhere, 8765) for name in {"0.0.0.0:8765", "[::]:8765", *local})
        assert "example.org:8765" not in Names.of(everywhere, 8765)
        assert "localhost:8766" not in Names.of(everywhere, 8765)
    assert all(name in Names.of("127.0.0.1", 8765) for name in local)
    assert not any(name in Names.of("127.0.0.1", 8765) for name in elsewhere)
    assert [name for name in sorted({*local, *elsewhere}) if name in Names.of("192.0.2.1", 8765)] == ["192.0.2.1:8765"]


def test_a_port_that_is_taken_is_not_shared() -> None:
    with bound("127.0.0.1", 0) as first:
        first.listen()
        try:
            bound("127.0.0.1", first.getsockname()[1]).close()
        except OSError:
            return
    raise AssertionError("two listen at the same port")
