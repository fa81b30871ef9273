"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

# Called with the share of the work that is done (0 to 1) and what is known so far. One that also has a method
# `simulated` is told, every second or so, how many jobs were simulated since it last was; one that has `notice` is told
# what a reader should know before the work is done, such as that there will be no certificate.
Progress = Callable[[float, str], None]


def silent(share: float, text: str) -> None:
    """The default: nobody watches."""


def duration(seconds: float) -> str:
    """For people: 12 s, 6 min, 1.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 or not seconds else f"{seconds:.1g} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86400:.0f} days"


class PartProgress:
    """The progress of a part of a whole: from `first`, of the given size, with a name before every text."""

    def __init__(self, whole: Progress, first: float, size: float, name: str = "") -> None:
        self._whole, self._first, self._size, self._name = whole, first, size, name
        self.simulated, self.notice = (getattr(whole, name, None) for name in ("simulated", "notice"))

    def __call__(self, share: float, text: str) -> None:
        self._whole(self._first + share * self._size, "; ".join(filter(None, (self._name, text))))
