"""What others might send to the page's server: foreign pages, other names, wrong tokens, too much of anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from loynes.explore.server import HEADERS, app_of
from loynes.explore.state import MOST_BYTES, first_state, from_address
from loynes.model import load

TOKEN, HOST = "token-of-the-test", "127.0.0.1:8000"
STATE = first_state(load("five-class-exponential"))
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def client() -> TestClient:
    # Without its lifespan: no worker is started, and nothing that is refused may need one.
    return TestClient(app_of(STATE, TOKEN, frozenset({HOST})), base_url=f"http://{HOST}")


def post(client: TestClient, path: str, body: Any, **headers: str) -> Any:
    return client.post(f"/{TOKEN}/api/{path}", content=json.dumps(body),
                       headers={"content-type": "application/json"} | headers)  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    state = STATE.model_dump(exclude_none=True)
    return {"state": state | {"model": state["model"] | changes}, "form": "toml"}


def test_the_page_is_there_with_its_policy(client: TestClient) -> None:
    got = client.get(f"/{TOKEN}/")
    assert got.status_code == 200
    assert all(got.headers[name] == value for name, value in HEADERS.items())
    for name in ("page.js", "state.js", "charts.js", "line.js", "page.css", "report.css"):
        assert client.get(f"/{TOKEN}/assets/{name}").status_code == 200


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 404),
        ("/wrong/", {}, 404),
        ("/wrong/api/start", {}, 404),
        (f"/{TOKEN}/", {"host": "evil.example:8000"}, 421),
        (f"/{TOKEN}/", {"host": "127.0.0.1:8001"}, 421),
        (f"/{TOKEN}/api/start", {"origin": "http://evil.example"}, 403),
        (f"/{TOKEN}/api/start", {"origin": "null"}, 403),
        (f"/{TOKEN}/api/start", {"sec-fetch-site": "cross-site"}, 403),
        (f"/{TOKEN}/assets/..%2fserver.py", {}, 404),
        (f"/{TOKEN}/assets/kernel.py", {}, 404),
    ],
)
def test_others_are_refused(client: TestClient, path: str, headers: dict[str, str], status: int) -> None:
    got = client.get(path, headers=headers)
    assert got.status_code == status
    assert got.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_forms_of_other_pages_are_refused(client: TestClient) -> None:
    assert post(client, "export", document(), origin="http://evil.example").status_code == 403
    assert post(client, "export", document(), **{"content-type": "text/plain"}).status_code == 415
    assert post(client, "export", document(), origin=f"http://{HOST}").status_code == 200


def test_sizes_are_bounded(client: TestClient) -> None:
    classes = STATE.model["classes"]
    assert post(client, "export", {"x": "a" * MOST_BYTES}).status_code == 413
    for changes, word in [
        ({"classes": [classes[0] | {"name": "a" * 200}, *classes[1:]]}, "signs"),
        ({"classes": classes * 20}, "classes"),
        ({"servers": 10**6}, "servers"),
        ({"classes": [classes[0] | {"service": {"law": "empirical", "file": "/etc/passwd"}}]}, "reads no files"),
    ]:
        got = post(client, "export", document(**changes))
        assert got.status_code == 400
        assert word in got.json()["error"]
    state = document()["state"] | {"policy": "/tmp/evil.py"}
    assert "no such policy" in post(client, "export", {"state": state, "form": "toml"}).json()["error"]


def test_exports_and_imports(client: TestClient) -> None:
    toml = post(client, "export", document()).text
    assert post(client, "import", {"text": toml}).json()["model"]["classes"] == STATE.model["classes"]
    assert post(client, "import", {"text": "servers = ["}).status_code == 400
    address = post(client, "export", document() | {"form": "address"}).text
    assert from_address(address) == STATE
    line = post(client, "export", document() | {"form": "command"}).text
    assert line == f"loynes evaluate model.toml --rate {STATE.rate!r}"
    evil = document(name=EVIL)
    assert EVIL in post(client, "export", evil).text
    assert post(client, "export", evil).headers["content-type"].startswith("text/plain")
