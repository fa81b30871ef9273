"""Odd command lines and odd models for as long as one likes, other ones each time: python tests/fuzz/long.py 600

Counts what was tried and how it ended, and shows the first of every kind of failure; the exit code says whether there
was one. `make fuzz` takes ten minutes.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from odd_lines import TooLongError, cases, command_lines, holds, models, run, without_the_network, write_files

RECORDED = Path(__file__).parents[1] / "recorded"
ROUND = 200


class Tally:
    """What was tried, how it ended, and the first line of every kind of failure."""

    def __init__(self) -> None:
        self.lines, self.models = Counter[tuple[str, object]](), Counter[tuple[str, object]]()
        self.failed: dict[str, tuple[str, str]] = {}
        self.slowest: list[tuple[float, str]] = []

    def take(self, counts: Counter[tuple[str, object]], line: list[str], folder: Path, about: str = "") -> None:
        began = time.process_time()
        try:
            counts[line[0], holds(line, folder).code] += 1
        except (AssertionError, TooLongError, Exception) as error:
            counts[line[0], "failed"] += 1
            text = f"{type(error).__name__}: {error}"
            kind = re.sub(r"\d+", "0", text.splitlines()[-1] if "Traceback" in text else text)[-160:]
            if kind not in self.failed:
                self.failed[kind] = shlex.join(line), f"{about}\n{text}"
                print(f"\n--- {shlex.join(line)[:600]}\n{about[:1500]}\n{text[-1500:]}", flush=True)
        took = time.process_time() - began
        self.slowest = sorted([*self.slowest, (took, shlex.join(line)[:200] + about[:300])], reverse=True)[:5]


def go_on(folder: Path, seconds: float, first: int, tally: Tally) -> None:
    """Rounds of examples until the time is up."""
    known = cases()
    until = time.monotonic() + seconds
    free = settings(max_examples=ROUND, database=None, deadline=None, phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck))  # fmt: skip
    number = first
    while time.monotonic() < until:
        number += 1

        @seed(number)
        @settings(free)
        @given(line=command_lines(known))
        def lines(line: list[str]) -> None:
            if time.monotonic() < until:
                tally.take(tally.lines, line, folder)

        @seed(number)
        @settings(free)
        @given(document=models(), command=st.sampled_from(["check", "exact", "simulate"]))
        def documents(document: object, command: str) -> None:
            if time.monotonic() < until:
                (folder / "odd.json").write_text(json.dumps(document))
                quick = {"check": [], "exact": ["--max-states", "300"], "simulate": ["--jobs", "20", "--replicas", "2"]}
                end = [] if command == "check" else ["--quiet"]
                tally.take(tally.models, [command, "odd.json", *quick[command], *end], folder, json.dumps(document))

        lines()
        documents()


def main(seconds: float, first: int) -> int:
    tally = Tally()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name).resolve()
        write_files(folder, RECORDED)
        patch.chdir(folder)
        without_the_network(patch)
        run(["check", "model.json", "-o", "result.json"])
        run(["evaluate", "model.json", "--samples", "200", "-o", "run", "--quiet"])
        go_on(folder, seconds, first, tally)
    for what, counts in (("command lines", tally.lines), ("models", tally.models)):
        codes = Counter(code for _, code in counts.elements())
        names = Counter(name for name, _ in counts.elements())
        print(f"{counts.total()} {what}: " + ", ".join(f"{n} ended with {code}" for code, n in codes.most_common()))
        print("  " + ", ".join(f"{name} {n}" for name, n in sorted(names.items())))
    print(
        "slowest, in seconds of processor time:", *(f"  {took:.1f}  {line}" for took, line in tally.slowest), sep="\n"
    )
    print(f"{len(tally.failed)} kinds of failure")
    return int(bool(tally.failed))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
