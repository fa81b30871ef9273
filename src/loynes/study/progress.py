"""How long work tells how far it is: a share of the work done (0 to 1) and what is known so far."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float, str], None]


def silent(share: float, text: str) -> None:
    """The default: nobody watches."""
