"""Values that are right one by one and do not fit together: all of them are said, not the first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Misfits(ValueError):  # noqa: N818  (not one error, but all of them)
    """What does not fit in a model: texts, each with the paths of other values that it rests on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    @contextmanager
    def collected(self, *rests_on: str) -> Iterator[None]:
        """Go on after a ValueError; what it says is kept."""
        try:
            yield
        except Misfits as several:
            self.found += [(text, (*paths, *rests_on)) for text, paths in several.found]
        except ValueError as error:
            self.found.append((str(error), rests_on))

    def __str__(self) -> str:
        return "; ".join(text for text, _ in self.found)
