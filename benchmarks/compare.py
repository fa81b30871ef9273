"""Two files of `make bench` beside each other: how many times as fast the second is. Prints Markdown.

python benchmarks/compare.py benchmarks/results/quick.json benchmarks/results/latest.json
python benchmarks/compare.py OLD NEW --wall        by wall time, where nothing else ran
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """Work a second in both files, and the ratio of the second to the first."""

    name: str
    unit: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        return self.new / self.old


def compared(old: dict[str, Any], new: dict[str, Any], clock: str = "processor") -> list[Row]:
    """What both files have, in the order of the second."""
    rows = []
    for script, notes in new["scripts"].items():
        before = old["scripts"].get(script, {})
        for name, note in notes.items():
            # What was too short for the clock tells nothing.
            if name in before and min(note[clock], before[name][clock]) > 0.0:
                rates = (one["work"] / one[clock] for one in (before[name], note))
                rows.append(Row(f"{script}: {name}", note["unit"], *rates))
    return rows


def only_in(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    return [
        f"{script}: {name}"
        for script, notes in one["scripts"].items()
        for name in notes
        if name not in other["scripts"].get(script, {})
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--wall", action="store_true", help="by wall time instead of processor time")
    chosen = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text()) for path in (chosen.old, chosen.new))
    rows = compared(old, new, "wall" if chosen.wall else "processor")
    if not rows:
        print("the files have nothing in common", file=sys.stderr)
        return 2
    other = {what: (old["machine"].get(what), value) for what, value in new["machine"].items()}
    for what, (before, now) in other.items():
        if before != now:
            print(f"- {what}: {before} before, {now} now")
    print(f"\n| measured | unit | before, a {'' if chosen.wall else 'processor '}second | now | ratio |")
    print("| --- | --- | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row.name} | {row.unit} | {row.old:.4g} | {row.new:.4g} | {row.ratio:.2f} |")
    mean = math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))
    print(f"\n{len(rows)} in common, geometric mean of ratios {mean:.2f}")
    for text, names in (("only before", only_in(old, new)), ("only now", only_in(new, old))):
        if names:
            print(f"{text}: {'; '.join(names)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
