"""The cluster as a live page: a server on this machine, worker processes that compute, and what the browser shows."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from loynes.errors import UsageError

if TYPE_CHECKING:
    from loynes.explore.widget import Explorer

__all__ = ["explore"]


def explore(subject: Any) -> Explorer:
    """A live page about a model, or a log, as a widget of a notebook: every number follows what is changed on it.

    The same page as `loynes explore MODEL` opens in a browser. Needs anywidget: pip install 'loynes[explore]'.
    """
    from loynes.explore.subject import service_of

    try:
        from loynes.explore.widget import Explorer
    except ImportError:
        raise UsageError("explore needs anywidget: pip install 'loynes[explore]'") from None
    return Explorer(service_of(subject))


class _Room(ModuleType):
    """This package, which is also what its name says: loynes.explore(model) is the page of a model."""

    def __call__(self, subject: Any) -> Explorer:
        return explore(subject)


sys.modules[__name__].__class__ = _Room
