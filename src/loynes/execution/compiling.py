"""Kernels are compiled when first needed, once for an installation: who watches is told, and a deadline waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loynes.execution.deadline import Deadline
from loynes.execution.progress import Progress


@contextmanager
def compiling(progress: Progress, deadline: Deadline) -> Iterator[None]:
    """While this lasts, a progress that has a method `compiling` is told when kernels are compiled (True) and when they
    are ready (False); the seconds in between are no part of the time that a deadline allows."""
    told = getattr(progress, "compiling", None)
    if told is None and deadline.seconds is None:
        yield
        return
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # Numba carries no types
        """One kernel may need others, which are compiled meanwhile."""

        depth = 0
        began = 0.0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.began = deadline.now()
                if told is not None:
                    told(True)

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                deadline.spare(deadline.now() - self.began)
                if told is not None:
                    told(False)

    listener = Listener()
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
