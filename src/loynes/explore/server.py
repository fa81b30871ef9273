"""The page's server: on the loopback address, behind a random token, with every request checked and bounded."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from typing import Any, get_args

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loynes._version import __version__
from loynes.errors import LoynesError
from loynes.explore.asked import facts_of
from loynes.explore.state import LONGEST_NAME, MOST_BYTES, Also, Form, State, exported, imported, state_of
from loynes.explore.work import BusyError, Workers

# What the browser may ask for, and what it is. Styles of reports are those of the page, too.
ASSETS = {
    "index.html": ("explore", "text/html"),
    "page.css": ("explore", "text/css"),
    "report.css": ("report", "text/css"),
    "page.js": ("explore", "text/javascript"),
    "state.js": ("explore", "text/javascript"),
    "charts.js": ("explore", "text/javascript"),
    "line.js": ("explore", "text/javascript"),
}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Lets through only requests to this very address, with the token, from the page itself.

    A page elsewhere whose name was made to resolve to this machine (rebinding) sends its own name as Host; one that
    posts to this address sends its own as Origin. Neither is let through, and neither knows the token.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Request(scope).headers
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("this server is not known by that name", 421)
        origins = {f"http://{host}" for host in self._hosts}
        if "origin" in headers and headers["origin"].lower() not in origins:
            return PlainTextResponse("requests come from this page only", 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("requests come from this page only", 403)
        given = scope["path"].split("/")[1:2]
        if not given or not hmac.compare_digest(given[0].encode("utf-8", "replace"), self._token.encode()):
            return PlainTextResponse("not found", 404)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdecimal() or int(length[:12]) > MOST_BYTES:
            return PlainTextResponse("more than is taken", 413)
        if scope["method"] == "POST" and headers.get("content-type", "").split(";")[0] != "application/json":
            return PlainTextResponse("JSON is expected", 415)
        return None


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON of a request, read up to a bound whatever its length was said to be."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MOST_BYTES:
            raise HTTPException(413, "more than is taken")
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        raise HTTPException(400, "not valid JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "not an object")
    return given


def app_of(state: State, token: str, hosts: frozenset[str], workers: Workers | None = None) -> ASGIApp:
    """The whole application, for a page that begins with this state."""
    workers = workers or Workers()

    async def asset(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in ASSETS:
            raise HTTPException(404, "not found")
        room, kind = ASSETS[name]
        path = files(f"loynes.{room}") / "assets" / ("page.css" if name == "report.css" else name)
        return Response(path.read_bytes(), media_type=kind)

    async def start(request: Request) -> Response:
        from loynes.kernels.events.policies import policies

        return JSONResponse({"state": state.model_dump(exclude_none=True), "version": __version__,
                             "policies": list(policies())})  # fmt: skip

    async def answer(request: Request) -> Response:
        given = await body_of(request)
        asked = state_of(given.get("state"))
        tab = str(given.get("tab", ""))[:LONGEST_NAME]
        also = [name for name in get_args(Also) if name in (given.get("also") or ())]
        facts = facts_of(asked)
        sent = {"state": asked.model_dump(exclude_none=True), "also": also}
        events = workers.answers(tab, sent)

        async def streamed() -> AsyncIterator[bytes]:
            yield _sse(facts)
            try:
                async for event in events:
                    yield _sse(event)
            except BusyError as error:
                yield _sse({"kind": "error", "text": str(error)})
            finally:
                await events.aclose()  # type: ignore[attr-defined]

        return StreamingResponse(streamed(), media_type="text/event-stream")

    async def export(request: Request) -> Response:
        given = await body_of(request)
        asked, form = state_of(given.get("state")), given.get("form")
        if form == "report":
            page = await _report(workers, asked)
            return Response(page, media_type="text/html", headers={"content-disposition": "attachment"})
        if form not in get_args(Form):
            raise HTTPException(400, "no such form")
        return PlainTextResponse(exported(asked, form))  # type: ignore[arg-type]

    async def take(request: Request) -> Response:
        given = await body_of(request)
        model = imported(str(given.get("text", "")))
        from loynes.explore.state import first_state
        from loynes.model import load

        return JSONResponse(first_state(load(model)).model_dump(exclude_none=True))

    async def refused(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, 400)

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await workers.start()
        try:
            yield
        finally:
            await workers.close()

    routes = [
        Route(f"/{token}/", asset), Route(f"/{token}/assets/{{name}}", asset), Route(f"/{token}/api/start", start),
        Route(f"/{token}/api/answer", answer, methods=["POST"]),
        Route(f"/{token}/api/export", export, methods=["POST"]),
        Route(f"/{token}/api/import", take, methods=["POST"]),
    ]  # fmt: skip
    handlers: Any = {LoynesError: refused, HTTPException: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), token, hosts)


async def _report(workers: Workers, state: State) -> str:
    """The page that `loynes report` would write of this state."""
    sent = {"state": state.model_dump(exclude_none=True), "report": True}
    events = workers.answers(f"report {secrets.token_hex(4)}", sent)
    try:
        async for event in events:
            if event["kind"] == "report":
                return str(event["page"])
            if event["kind"] in ("error", "lost"):
                raise HTTPException(400, event.get("text", "the worker was lost; ask again"))
    finally:
        await events.aclose()  # type: ignore[attr-defined]
    raise HTTPException(400, "there is no report of this state: is it stable?")


def _sse(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event, allow_nan=False)}\n\n".encode()


def names_of(host: str, port: int) -> frozenset[str]:
    """What a browser calls this server: the address it listens on, and the names of the loopback one if it listens
    there, too, as it does on all addresses (a container's way, whose port is passed on to this machine's loopback)."""
    own = f"[{host}]" if ":" in host else host
    local = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::")
    loopback = ("127.0.0.1", "localhost", "[::1]") if host in local else ()
    return frozenset(f"{name}:{port}" for name in (own, *loopback))


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":  # there it would let another program listen at the same port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def serve(state: State, listening: socket.socket, token: str, host: str, ready: Any = None) -> None:
    """Serve the page until interrupted; the workers end with it."""
    import uvicorn

    app = app_of(state, token, names_of(host, listening.getsockname()[1]))
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=1,
        limit_concurrency=256, h11_max_incomplete_event_size=16384,
    )  # fmt: skip
    if ready is not None:
        ready()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
