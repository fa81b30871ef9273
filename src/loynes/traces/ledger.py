"""The account of a reading: every line that is skipped or repaired is counted under its reason."""

from __future__ import annotations

from loynes.errors import TraceError

MALFORMED = "malformed line"
EXAMPLES = 5
SHOWN = 60


class Ledger:
    """Counts by reason. What is damaged (and not merely a job that never ran) is an error if `strict`."""

    def __init__(self, source: str, strict: bool, word: str = "line") -> None:
        self.source, self.strict, self.word = source, strict, word
        self.skipped: dict[str, int] = {}
        self.repaired: dict[str, int] = {}
        self.examples: list[str] = []

    def skip(self, reason: str, count: int = 1) -> None:
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + int(count)

    def repair(self, what: str, count: int = 1) -> None:
        if count:
            self.repaired[what] = self.repaired.get(what, 0) + int(count)

    def damage(self, place: int, problem: str, expected: str, reason: str = MALFORMED, count: int = 1) -> None:
        """Skip damaged lines, the first of them at `place`; the first few are remembered for people to look at."""
        text = f"{self.word} {place}: {problem}; expected {expected}"
        if self.strict:
            raise TraceError(f"{self.source}: {text}")
        self.skip(reason, count)
        if len(self.examples) < EXAMPLES:
            self.examples.append(text)

    def error(self, text: str) -> TraceError:
        return TraceError(f"{self.source}: {text}")


def quoted(value: str | bytes) -> str:
    """A piece of a file that is safe to print on one line."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
