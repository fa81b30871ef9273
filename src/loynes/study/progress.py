"""How long work tells how far it is: a share of the work done (0 to 1) and what is known so far.

Anything that can be called so will do. One that also has a method `did` hears, every second or so, how many jobs were
simulated since it last did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from loynes.kernels.backends import wrapped
from loynes.study.stretched import StretchedEngine

Progress = Callable[[float, str], None]


def silent(share: float, text: str) -> None:
    """The default: nobody watches."""


class Part:
    """The progress of a part of a whole: a stretch of its share; whoever hears of jobs still does."""

    def __init__(self, whole: Progress, first: float, size: float, name: str = "") -> None:
        self._whole, self._first, self._size, self._name = whole, first, size, name
        self.did = getattr(whole, "did", None)

    def __call__(self, share: float, text: str) -> None:
        said = "; ".join(filter(None, (self._name, text)))
        self._whole(self._first + share * self._size, said)


# A question within a question is heard once.
_hears: ContextVar[bool] = ContextVar("hears", default=False)


@contextmanager
def heard_by(progress: Progress) -> Iterator[None]:
    """While this lasts, progress hears of every job that engines simulate, if it wants to."""
    did = getattr(progress, "did", None)
    if did is None or _hears.get():
        yield
        return
    token = _hears.set(True)
    try:
        with wrapped(lambda name, make: StretchedEngine(make(name), did)):
            yield
    finally:
        _hears.reset(token)
