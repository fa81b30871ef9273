"""What others might send to the page's server: foreign pages, other names, wrong tokens, too much of anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explore.asgi import Answer, asked
from loynes.explore.server import HEADERS, Names, app_of
from loynes.explore.service import Service
from loynes.explore.state import MOST_BYTES, first_state, from_address
from loynes.explore.work import MOST_WAITING, Workers
from loynes.model import load

TOKEN, HOST = "token-of-the-test", "127.0.0.1:8000"
STATE = first_state(load("five-class-exponential"))
EVIL = "<script>alert(1)</script>"
NAMES = Names.of("127.0.0.1", 8000)
# Its workers are never started: nothing that is refused may need one.
SERVICE = Service(STATE, Workers())
APP = app_of(SERVICE, TOKEN, NAMES)


def get(path: str, **headers: str) -> Answer:
    return asked(APP, "GET", path, {"host": HOST} | headers)


def post(path: str, body: Any, pieces: int = 1, **headers: str) -> Answer:
    raw = json.dumps(body).encode()
    given = {"host": HOST, "content-type": "application/json", "content-length": str(len(raw))} | headers
    return asked(APP, "POST", f"/{TOKEN}/api/{path}", given, raw, pieces)


def document(**changes: Any) -> dict[str, Any]:
    state = STATE.model_dump(exclude_none=True)
    return {"state": state | {"model": state["model"] | changes}, "form": "toml"}


def test_the_page_is_there_with_its_policy() -> None:
    got = get(f"/{TOKEN}/")
    assert got.status == 200
    assert all(got.headers[name] == value for name, value in HEADERS.items())
    for name in ("page.js", "explorer.js", "link.js", "state.js", "charts.js", "line.js", "page.css", "report.css"):
        assert get(f"/{TOKEN}/assets/{name}").status == 200


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/wrong/", {}, 404),
        ("/wrong/api/start", {}, 404),
        (f"/{TOKEN}/", {"host": "evil.example:8000"}, 421),
        (f"/{TOKEN}/", {"host": "127.0.0.1:8001"}, 421),
        (f"/{TOKEN}/", {"host": ""}, 421),
        (f"/{TOKEN}/api/start", {"origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/api/start", {"origin": "null"}, 403),
        (f"/{TOKEN}/api/start", {"sec-fetch-site": "cross-site"}, 403),
        (f"/{TOKEN}/api/start", {"sec-fetch-site": "same-site"}, 403),
        (f"/{TOKEN}/assets/..%2fserver.py", {}, 404),
        (f"/{TOKEN}/assets/kernel.py", {}, 404),
        (f"/{TOKEN}/assets/../server.py", {}, 404),
        (f"/{TOKEN}/assets//etc/passwd", {}, 404),
        (f"/{TOKEN.upper()}/", {}, 404),
        (f"//{TOKEN}/", {}, 404),
    ],
)
def test_others_are_refused(path: str, headers: dict[str, str], status: int) -> None:
    got = get(path, **headers)
    assert got.status == status
    assert got.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_forms_of_other_pages_are_refused() -> None:
    assert post("export", document(), origin="http://evil.example").status == 403
    assert post("export", document(), **{"content-type": "text/plain"}).status == 415
    assert post("export", document(), origin=f"http://{HOST}").status == 200


def test_sizes_are_bounded() -> None:
    classes = STATE.model["classes"]
    assert post("export", {"x": "a" * MOST_BYTES}).status == 413
    # Whatever the length is said to be, what comes is counted.
    assert post("export", {"x": "a" * MOST_BYTES}, pieces=9, **{"content-length": "10"}).status == 413
    assert post("export", {}, **{"content-length": "-1"}).status == 413
    assert post("export", {"x": "a" * 1_000_000}).status == 413  # as a class name of 1 MB
    for changes, word in [
        ({"classes": [classes[0] | {"name": "a" * 200}, *classes[1:]]}, "signs"),
        ({"classes": classes * 20}, "classes"),
        ({"servers": 10**6}, "servers"),
        ({"classes": [classes[0] | {"service": {"law": "empirical", "file": "/etc/passwd"}}]}, "reads no files"),
    ]:
        got = post("export", document(**changes))
        assert got.status == 400
        assert word in got.json()["error"]
    state = document()["state"] | {"policy": "/tmp/evil.py"}
    assert "no such policy" in post("export", {"state": state, "form": "toml"}).json()["error"]
    pinned = {"model": STATE.model, "rate": 1.0, "policy": "/tmp/evil.py"}
    state = document()["state"] | {"pinned": pinned}
    assert "no such policy" in post("export", {"state": state, "form": "toml"}).json()["error"]


@pytest.mark.parametrize("body", [[], "text", {}, {"state": 1}, {"state": {"model": [], "rate": 1}}, {"state": {}}])
def test_what_is_no_request_is_refused(body: Any) -> None:
    for path in ("answer", "export"):
        got = post(path, body)
        assert got.status == 400
        assert got.json()["error"]


NO_JSON = (
    b'{"state":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"a":' * 30_000 + b"1" + b"}" * 30_000,
    b'{"state": "\xff\xfe"}',
    b'{"state": {"model": {}, "rate": ' + b"9" * 5000 + b"}}",
    b"",
)


@pytest.mark.parametrize("raw", NO_JSON)
def test_json_that_is_none_is_refused(raw: bytes) -> None:
    """Nested without end, not in UTF-8, a number of 5,000 digits, nothing."""
    got = asked(APP, "POST", f"/{TOKEN}/api/export", {"host": HOST, "content-type": "application/json"}, raw)
    assert got.status == 400
    assert got.json()["error"] == "not valid JSON"


def test_a_name_that_no_file_can_hold_is_refused() -> None:
    classes = STATE.model["classes"]
    for form in ("toml", "address", "python", "command"):
        got = post("export", document(classes=[classes[0] | {"name": "\ud800"}, *classes[1:]]) | {"form": form})
        assert got.status == 400
        assert "half a sign" in got.json()["error"]


def test_exports_and_imports() -> None:
    toml = post("export", document()).text
    assert post("import", {"text": toml}).json()["model"]["classes"] == STATE.model["classes"]
    assert post("import", {"text": json.dumps(STATE.model)}).json()["model"]["classes"] == STATE.model["classes"]
    assert post("import", {"text": "servers = ["}).status == 400
    address = post("export", document() | {"form": "address"}).text
    assert from_address(address) == STATE
    line = post("export", document() | {"form": "command"}).text
    assert line == f"loynes evaluate model.toml --rate {STATE.rate!r}"
    assert "no such form" not in post("export", document() | {"form": "python"}).text
    assert post("export", document() | {"form": "exe"}).status == 400
    evil = document(name=EVIL)
    assert EVIL in post("export", evil).text
    assert post("export", evil).headers["content-type"].startswith("text/plain")


def test_a_notebook_cell_is_python_whatever_names_are() -> None:
    import ast

    name = "'''\"\"\"\\');import os#"
    cell = post("export", document(name=name) | {"form": "python"}).text
    calls = [node for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Call)]
    assert [ast.unparse(call.func) for call in calls] == ["loynes.load", "loynes.evaluate"]


def test_too_many_tabs_are_sent_away_at_once() -> None:
    service = Service(STATE, Workers())
    for tab in range(MOST_WAITING):
        service.workers.submit(str(tab), {})
    app = app_of(service, TOKEN, NAMES)
    raw = json.dumps(document() | {"tab": "one more"}).encode()
    got = asked(app, "POST", f"/{TOKEN}/api/answer", {"host": HOST, "content-type": "application/json"}, raw)
    assert got.status == 503
    assert got.headers["retry-after"]
    assert "too many" in got.json()["error"]
    # A tab that waits already gets its place anew.
    assert service.workers.submit("0", {}).ended is False


@pytest.mark.parametrize(
    ("host", "name", "known"),
    [
        ("127.0.0.1", "localhost:8000", True),
        ("127.0.0.1", "[::1]:8000", True),
        ("127.0.0.1", "192.0.2.7:8000", False),
        ("127.0.0.1", "127.0.0.1", False),
        ("192.0.2.7", "192.0.2.7:8000", True),
        ("192.0.2.7", "127.0.0.1:8000", False),
        ("0.0.0.0", "192.0.2.7:8000", True),
        ("0.0.0.0", "[2001:db8::1]:8000", True),
        ("0.0.0.0", "evil.example:8000", False),
        ("0.0.0.0", "192.0.2.7.evil.example:8000", False),
        ("0.0.0.0", "192.0.2.7:80", False),
    ],
)
def test_by_which_names_the_server_is_known(host: str, name: str, known: bool) -> None:
    assert (name in Names.of(host, 8000)) is known


def test_elsewhere_is_warned_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from loynes.cli.exploring import explore
    from loynes.explore import server

    monkeypatch.setattr(server, "serve", lambda service, listening, token, host, ready: listening.close())
    explore("one-or-all", (), browser=False, port=0, host="0.0.0.0")
    assert "can be reached from other machines" in capsys.readouterr().err
    explore("one-or-all", (), browser=False, port=0, host="127.0.0.1")
    assert "warning" not in capsys.readouterr().err
