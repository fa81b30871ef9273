"""Progress in a notebook: a bar below the cell that is gone when the work is done. It needs nothing but IPython."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from loynes.execution.progress import Progress, silent
from loynes.notebook import in_notebook

# Seconds until a bar is shown at all, and between two of its states.
FIRST_AFTER = 1.0
EVERY = 0.25


def default_progress() -> Progress:
    """Who is told of progress when nobody is named: a bar in a notebook, else nobody."""
    return NotebookBar() if in_notebook() else silent


class NotebookBar:
    """How far the work is, as a bar with a line beside it; a context, after which it is gone."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._place: Any = None  # where in the notebook it is shown

    def __call__(self, share: float, text: str) -> None:
        now = time.monotonic()
        if now - self._began < FIRST_AFTER or now - self._last < EVERY:
            return
        self._last = now
        line = f"{share:.0%}, {text}, {now - self._began:.0f} s"
        bar = f'<progress value="{min(max(share, 0.0), 1.0):.4f}" max="1" style="width:16em"></progress>'
        self._show({"text/html": f"{bar} {escape(line)}", "text/plain": line})

    def close(self) -> None:
        """Take the bar away."""
        if self._place is not None:
            self._show({"text/html": "", "text/plain": ""})
            self._place = None

    def _show(self, data: dict[str, str]) -> None:
        from IPython.display import display

        if self._place is None:
            self._place = display(data, raw=True, display_id=True)
        else:
            self._place.update(data, raw=True)
