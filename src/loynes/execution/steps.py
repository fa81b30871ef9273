"""Work in steps, one after the other, whose number and size are learned on the way."""

from __future__ import annotations

from loynes.execution.context import Context


class Steps:
    """Shares out the progress and the time of a whole among steps, by how much work each is expected to be.

    Every step says what it weighs and what is expected to come after it, and has its share of what is left: of the work
    that is not done, and of the time that has not passed. So where expectations turn out to be wrong, only what comes
    later is measured otherwise, and progress never goes back.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._done = context, 0.0

    def next(self, weight: float, then: float, name: str = "") -> Context:
        """For a step of this weight, before others that weigh `then` in all."""
        share = weight / (weight + then)
        size = (1.0 - self._done) * share
        part = self._context.part(self._done, size, name).within(share)
        self._done += size
        return part
