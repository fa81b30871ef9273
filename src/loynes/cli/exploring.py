"""What `loynes explore` does before its server runs: reads the model, finds a port, says the address."""

from __future__ import annotations

import secrets
import sys
import threading
import webbrowser
from collections.abc import Iterable

from loynes.errors import UsageError
from loynes.model import Model, load
from loynes.readable import readable

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def model_of(subject: str, changes: Iterable[str]) -> Model:
    """The model that is named; of a log, one that is fitted to it, as `loynes fit` does."""
    from loynes.questions.asking.subject import is_log

    if not is_log(subject):
        return load(subject, changes)
    from loynes.questions.asking.ask import ask
    from loynes.questions.fit import Fit

    fitted = ask(Fit.of(subject, compare=False))
    return load(fitted.model, changes)  # type: ignore[attr-defined]


def explore(subject: str, changes: Iterable[str], *, browser: bool, port: int, host: str) -> None:
    """Serve the page until interrupted."""
    try:
        from loynes.explore.server import bound, serve
    except ImportError:
        raise UsageError("explore needs Starlette and uvicorn: pip install 'loynes[explore]'") from None
    from loynes.explore.state import first_state

    state = first_state(model_of(subject, changes))
    _ = state.cluster  # one that is too large for a page is refused before anything is opened
    try:
        listening = bound(host, port)
    except OSError as error:
        raise UsageError(f"port {port}: cannot listen on {host}: {error.strerror}") from None
    token = secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/{token}/"
    if host not in LOOPBACK:
        print(f"loynes: warning: {host} can be reached from other machines; whoever has the address can use the page",
              file=sys.stderr)  # fmt: skip

    def ready() -> None:
        print(readable(f"{state.cluster.label} is at {address}"), flush=True)
        print("Ctrl-C ends it", file=sys.stderr, flush=True)
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()

    serve(state, listening, token, host, ready)
