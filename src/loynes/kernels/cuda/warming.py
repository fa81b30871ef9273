"""A GPU that is started while the program is still loaded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise


def asked_for(words: Sequence[str]) -> bool:
    """Whether a command line names the GPU as its backend."""
    named = [word for flag, word in pairwise(words) if flag == "--backend"]
    named += [word.removeprefix("--backend=") for word in words if word.startswith("--backend=")]
    return any(name.startswith("cuda") for name in named)


def warm_up() -> None:
    """Load CuPy and start the GPU while this thread goes on: it takes half a second, most of it outside of Python."""

    def start() -> None:
        with suppress(Exception):  # whatever is wrong will be said when the backend is needed
            import cupy

            cupy.zeros(1)

    threading.Thread(target=start, daemon=True).start()
