"""The page's server: on the loopback address, behind a random token, with every request checked and bounded."""

from __future__ import annotations

import hmac
import json
import os
import socket
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loynes.errors import LoynesError
from loynes.explore.pages import ASSETS, asset_of
from loynes.explore.service import Service
from loynes.explore.state import MOST_BYTES
from loynes.explore.work import BusyError

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


# Listening on these is listening on all addresses of the machine.
EVERYWHERE = ("0.0.0.0", "::")


class Guard:
    """Lets through only requests to this very address, with the token, from the page itself.

    A page elsewhere whose name was made to resolve to this machine (rebinding) sends its own name as Host; one that
    posts to this address sends its own as Origin. Neither is let through, and neither knows the token.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Container[str]) -> None:
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
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return PlainTextResponse("this server is not known by that name", 421)
        if any(origin.lower() != f"http://{host}" for origin in headers.getlist("origin")):
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


def app_of(service: Service, token: str, hosts: Container[str]) -> ASGIApp:
    """The whole application: pages, and the service behind them."""

    async def asset(request: Request) -> Response:
        name = request.path_params.get("name") or "index.html"
        if name not in ASSETS:
            raise HTTPException(404, "not found")
        return Response(asset_of(name).encode(), media_type=ASSETS[name][1])

    async def start(request: Request) -> Response:
        return JSONResponse(service.start())

    async def alive(request: Request) -> Response:
        return Response(status_code=204)

    async def answer(request: Request) -> Response:
        facts, job = service.answer(await body_of(request))

        async def streamed() -> AsyncIterator[bytes]:
            # Whoever goes away, by closing the tab or by asking again, ends the work.
            try:
                yield _sse(facts)
                async for event in job:
                    yield _sse(event)
            finally:
                job.cancel()

        return StreamingResponse(streamed(), media_type="text/event-stream")

    async def export(request: Request) -> Response:
        given = await body_of(request)
        text = await service.export(given)
        if given.get("form") == "report":
            return Response(text, media_type="text/html", headers={"content-disposition": "attachment"})
        return PlainTextResponse(text)

    async def take(request: Request) -> Response:
        return JSONResponse(service.take(await body_of(request)))

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, BusyError):
            return JSONResponse({"error": str(error)}, 503, {"retry-after": "2"})
        return JSONResponse({"error": str(error)}, 400)

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": error.detail}, error.status_code)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.workers.start()
        try:
            yield
        finally:
            await service.workers.close()

    routes = [
        Route(f"/{token}/", asset), Route(f"/{token}/assets/{{name}}", asset), Route(f"/{token}/api/start", start),
        Route(f"/{token}/api/alive", alive),
        Route(f"/{token}/api/answer", answer, methods=["POST"]),
        Route(f"/{token}/api/export", export, methods=["POST"]),
        Route(f"/{token}/api/import", take, methods=["POST"]),
    ]  # fmt: skip
    handlers: dict[Any, Any] = {LoynesError: refused, HTTPException: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), token, hosts)


def _sse(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event, allow_nan=False)}\n\n".encode()


@dataclass(frozen=True)
class Names:
    """What a browser may call this server, with the port.

    On all addresses of the machine these are its name and whatever is written as an address: a page elsewhere can make
    its own name lead here, but not a number.
    """

    names: frozenset[str]
    port: int
    addresses: bool = False

    @classmethod
    def of(cls, host: str, port: int) -> Names:
        own = f"[{host}]" if ":" in host else host.lower()
        loopback = {"127.0.0.1", "localhost", "[::1]"}
        if host in EVERYWHERE:
            machine = {socket.gethostname().lower(), socket.getfqdn().lower()}
            return cls(frozenset(loopback | machine), port, addresses=True)
        return cls(frozenset({own} | (loopback if own in loopback else set())), port)

    def __contains__(self, given: object) -> bool:
        name, _, port = str(given).rpartition(":")
        if port != str(self.port):
            return False
        if name in self.names:
            return True
        with suppress(ValueError):
            return self.addresses and bool(ip_address(name.removeprefix("[").removesuffix("]")))
        return False


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":  # there it would let another program listen at the same port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever comes before the server is ready waits, and is not refused
    except OSError:
        listening.close()
        raise
    return listening


def serve(
    service: Service, listening: socket.socket, token: str, host: str, ready: Callable[[], None] | None = None
) -> None:
    """Serve the page until interrupted; the workers end with it."""
    import uvicorn

    app = app_of(service, token, Names.of(host, listening.getsockname()[1]))
    config = uvicorn.Config(
        # h11 is the parser of the tests; another one that is installed may read requests that say two things otherwise.
        app, http="h11", ws="none", log_level="critical", access_log=False, server_header=False,
        timeout_graceful_shutdown=1, limit_concurrency=256, h11_max_incomplete_event_size=16384,
    )  # fmt: skip
    if ready is not None:
        ready()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
