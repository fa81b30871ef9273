"""What `loynes explore` does before its server runs: reads the model, finds a port, says the address."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from loynes.errors import UsageError
from loynes.readable import readable

if TYPE_CHECKING:
    from loynes.explore.service import Service

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def write(subject: str, changes: Iterable[str], path: str, seconds: float | None = None) -> None:
    """Write a page that needs no server, in so many seconds; an interrupt writes what is known by then."""
    from loynes.cli import output
    from loynes.cli.watch import watching
    from loynes.execution.deadline import Deadline
    from loynes.explore import offline
    from loynes.explore.offline_known import TIME
    from loynes.explore.subject import model_of

    offline.check_path(path)
    model = model_of(subject, changes)
    deadline = Deadline(TIME if seconds is None else seconds)
    with watching(f"{model.label}: explore", deadline=deadline) as progress:
        offline.write(model, path, progress, deadline)
    output.wrote(path)


def time_budget(text: str) -> float:
    """Seconds of a text: 30s, 5min, 2h."""
    from loynes.model.units import seconds_of

    try:
        seconds = seconds_of(text)
    except ValueError as error:
        raise UsageError(f"time: {error}") from None
    if not 0 < seconds < float("inf"):
        raise UsageError(f"time {text}: must be a time above 0, such as 30s or 5min")
    return seconds


def explore(subject: str, changes: Iterable[str], *, browser: bool, port: int, host: str) -> None:
    """Serve the page until interrupted."""
    try:
        from loynes.explore.server import EVERYWHERE, bound, serve
    except ImportError:
        raise UsageError("explore needs Starlette and uvicorn: pip install 'loynes[explore]'") from None
    from loynes.explore.subject import service_of

    service: Service = service_of(subject, changes)
    try:
        listening = bound(host, port)
    except OSError as error:
        raise UsageError(f"port {port}: cannot listen on {host}: {error.strerror}") from None
    token = token_of(port)
    name = socket.gethostname() if host in EVERYWHERE else host
    shown = f"[{name}]" if ":" in name else name
    address = f"http://{shown}:{listening.getsockname()[1]}/{token}/"
    if host not in LOOPBACK:
        print(f"loynes: warning: {host} can be reached from other machines; whoever has the address can use the page",
              file=sys.stderr)  # fmt: skip

    def ready() -> None:
        print(readable(f"{service.state.cluster.label} is at {address}"), flush=True)
        print("Ctrl-C ends it", file=sys.stderr, flush=True)
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()

    serve(service, listening, token, host, ready)


def token_of(port: int) -> str:
    """What nobody can guess of the address: drawn anew, but kept for a port that is named.

    A page whose server was started again on the same port then finds it, and its address, which holds its state, still
    opens. The file is for its owner's eyes only; where there can be none, the token is a new one each time.
    """
    new = secrets.token_urlsafe(24)
    if not port:
        return new
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "loynes"
    file = folder / f"explore-{port}.token"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError), open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as out:
            out.write(new)
        seen, kept = file.stat(), file.read_text()
        mine = seen.st_uid == getattr(os, "getuid", lambda: seen.st_uid)() and not seen.st_mode & 0o077
        # Of somebody else, readable by others, or spoilt: not to be trusted.
        if mine and re.fullmatch(r"[\w-]{32}", kept, re.ASCII):
            return kept
    return new
