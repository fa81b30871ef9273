"""The server's life: it goes and comes back, tabs come and go, a thousand ask at once, nothing is left in the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from browser import CHROMIUM
from explore.live import MODEL, TEXT, Driver, Page, Served
from firefox import FIREFOX

SETTLED = "document.querySelector('#trust').dataset.precision === '0.01'"


def until(done: object, what: str, seconds: float = 30.0) -> None:
    """Wait until a function says so."""
    assert callable(done)
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def seconds_of(pids: list[int]) -> float:
    """Processor time that these have taken."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def test_two_tabs_do_not_disturb_each_other_and_a_closed_one_ends_its_work(pages: Page, served: Served) -> None:
    page = pages
    page.wait(SETTLED)
    page.settled()
    first = page.run("document.querySelector('#waits').innerText")
    before = page.browser.another_tab()
    other = Page(page.browser)
    other.open(served.address)
    other.choose("rate", 2.0)
    other.answered("certified")
    second = other.run("document.querySelector('#waits').innerText")
    # Many servers at a high load: much work, that nobody wants once the tab is closed.
    heavy = {
        "servers": 900,
        "classes": [c | {"need": c["need"] * 100} for c in MODEL["classes"]],
        "arrivals": {"rate": 2.7},
    }
    other.drop("heavy.json", json.dumps(heavy))
    other.wait("document.querySelector('#label').innerText.endsWith(': 900 servers')")
    if sys.platform == "linux":
        workers = served.workers()
        began = seconds_of(workers)
        until(lambda: seconds_of(workers) > began + 0.3, "nothing was being computed")
    page.browser.back_to(before)
    if sys.platform == "linux":

        def quiet() -> bool:
            now = served.workers()
            began = seconds_of(now)
            time.sleep(0.5)
            return now == served.workers() and seconds_of(now) - began < 0.1

        until(quiet, "the work of a closed tab went on")
    assert first != second
    assert page.run("document.querySelector('#waits').innerText") == first


def test_a_thousand_requests_at_once(page: Page, served: Served) -> None:
    """Each is answered or sent away, and the page works afterwards."""
    where = urlsplit(served.address)
    body = json.dumps({"state": {"model": MODEL, "rate": 1.0}, "tab": "%d"}).encode()
    head = f"POST {where.path}api/answer HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-type: application/json\r\n"

    async def one(number: int) -> int:
        sent = body.replace(b"%d", str(number).encode())
        try:
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.write(f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent)
            line = await asyncio.wait_for(reader.readline(), 60)
            writer.close()
        except ConnectionError:
            return 0  # not let in
        return int(line.split()[1]) if line else 0

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(one(number) for number in range(1000)))

    statuses = asyncio.run(all_of_them())
    assert set(statuses) <= {0, 200, 503}
    assert statuses.count(503) >= 100
    page.choose("rate", 0.9)
    page.answered("certified")
    until(lambda: len(served.workers()) == 2, "not two workers")


def test_requests_that_no_browser_sends(served: Served) -> None:
    """Names, lengths and places of requests that say two things, as they do who smuggle one in another."""
    where = urlsplit(served.address)
    there, json_head = f"{where.path}api/start", "content-type: application/json\r\n"

    def status(request: str) -> int:
        with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
            connection.sendall(request.replace("HOST", where.netloc).encode())
            return int(connection.recv(4096).split()[1])

    assert status(f"GET {there} HTTP/1.1\r\nhost: HOST\r\n\r\n") == 200
    for request, expected in [
        (f"GET {there} HTTP/1.1\r\nhost: HOST\r\nhost: evil.example\r\n\r\n", 400),
        (f"GET {there} HTTP/1.0\r\n\r\n", 421),
        (f"GET http://evil.example{there} HTTP/1.1\r\nhost: HOST\r\n\r\n", 404),
        (f"GET http://HOST{there} HTTP/1.1\r\nhost: evil.example\r\n\r\n", 421),
        (f"GET {there} HTTP/1.1\r\nhost: HOST\r\norigin: http://HOST\r\norigin: http://evil.example\r\n\r\n", 403),
        (f"POST {there} HTTP/1.1\r\nhost: HOST\r\n{json_head}content-length: 2\r\ncontent-length: 9\r\n\r\n{{}}", 400),
        (f"POST {there} HTTP/1.1\r\nhost: HOST\r\n{json_head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        (f"GET {where.path}assets/..%2f..%2fserver.py HTTP/1.1\r\nhost: HOST\r\n\r\n", 404),
        (f"GET {where.path}assets/%2e%2e/server.py HTTP/1.1\r\nhost: HOST\r\n\r\n", 404),
    ]:
        assert status(request) == expected, request


def test_who_asks_and_does_not_read_holds_up_nobody(page: Page, served: Served) -> None:
    where = urlsplit(served.address)
    held = []
    try:
        for number in range(20):
            body = json.dumps({"state": {"model": MODEL, "rate": 1.0}, "tab": f"slow {number}"}).encode()
            held.append(socket.create_connection((where.hostname, where.port)))
            head = f"POST {where.path}api/answer HTTP/1.1\r\nhost: {where.netloc}\r\ncontent-type: application/json"
            held[-1].sendall(f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
    finally:
        page.choose("rate", 0.8)  # its turn comes after theirs, or when they go
        page.wait("document.querySelector('#known').innerText.startsWith('Exactly, at once')")
        for one in held:
            one.close()
    page.answered("certified")


def test_the_server_goes_and_comes_back(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In all browsers there are, of one server."""
    installed = [name for name, there in (("browser", CHROMIUM), ("firefox", FIREFOX)) if there]
    drivers: list[Driver] = [request.getfixturevalue(name) for name in installed]
    pages = [Page(one) for one in drivers]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    server = Served(tmp_path, MODEL, "--port", port)
    try:
        for page in pages:
            page.open(server.address)
            page.answered("certified")
        for page in pages:
            page.settled()
        workers = server.workers()
        assert len(workers) == 2
        assert server.end() in (0, 130)  # an interrupt
        until(lambda: not any(alive(pid) for pid in workers), "a worker is left after an interrupt")
        for page in pages:
            page.shows("The server does not answer")  # seen although nothing was asked
            page.choose("rate", 1.25)
        # The same port has the same token: the page finds it again, and asks what was not answered.
        again = Served(tmp_path, MODEL, "--port", port)
        assert again.address == server.address
        server = again
        for page in pages:
            command = "loynes evaluate model.toml --rate 1.25 "
            page.wait(f"document.querySelector('#same').textContent.startsWith({json.dumps(command)})")
            assert "does not answer" not in page.run(TEXT)
        if CHROMIUM is None:
            return  # Firefox's remote control runs scripts where nothing is imported
        # One that was started with another token says so instead.
        script = 'import(new URL("assets/link.js", location)).then((m) => new m.HttpLink("../other/").start())'
        assert "started again under another address" in pages[0].run(f"{script}.catch((error) => error.message)")
    finally:
        server.end()
        for one in drivers:
            one.go("about:blank")


def test_nothing_is_left_of_a_server_that_was_killed(tmp_path: Path) -> None:
    server = Served(tmp_path)
    until(lambda: len(server.workers()) == 2, "no workers")
    workers = server.workers()
    server.end(signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in workers), "a worker is left", 10)


def test_a_port_that_is_taken_is_said(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    from loynes.cli.app import main

    port = str(urlsplit(served.address).port)
    with pytest.raises(SystemExit) as ended:
        main(["explore", "--no-browser", "--port", port])
    assert ended.value.code == 2
    assert f"port {port}: cannot listen on 127.0.0.1" in capsys.readouterr().err


def test_a_token_is_kept_for_a_port_unless_others_can_read_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from loynes.cli.exploring import token_of

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert len({token_of(0), token_of(0), token_of(8001), token_of(8002)}) == 4
    first = token_of(8001)
    assert token_of(8001) == first
    file = tmp_path / "loynes" / "explore-8001.token"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    assert token_of(8001) != first
    file.chmod(0o600)
    file.write_text("short")
    assert len(token_of(8001)) == len(first)
