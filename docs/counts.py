"""Count the tests, and write the numbers into the page on how it is tested; a part of make docs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "testing.md"
ROW = re.compile(r"^\| `tests/(\w+)` \| (\d+) \| (\d+) \|", re.MULTILINE)


def functions(folder: Path) -> int:
    """How many test functions the files of a folder have."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("test_*.py"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(isinstance(node, kinds) and node.name.startswith("test_") for tree in trees for node in ast.walk(tree))


def cases() -> Counter[str]:
    """How many cases pytest makes of them, by folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    found = re.findall(r"^tests/(\w+)/.*: (\d+)$", listed, re.MULTILINE)
    return Counter({name: sum(int(n) for folder, n in found if folder == name) for name, _ in found})


def main() -> None:
    text, made = PAGE.read_text(encoding="utf-8"), cases()
    assert made, "pytest collects nothing"
    text = ROW.sub(lambda row: f"| `tests/{row[1]}` | {functions(ROOT / 'tests' / row[1])} | {made[row[1]]} |", text)
    text = re.sub(r"[\d,]+ cases in all", f"{made.total():,} cases in all", text)
    PAGE.write_text(text, encoding="utf-8")
    print(f"{made.total()} cases of {sum(int(row[2]) for row in ROW.finditer(text))} test functions")


if __name__ == "__main__":
    main()
