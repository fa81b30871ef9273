"""The page on how it is tested: what it names is there, every folder of tests is on it, and its counts are true."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
spec = importlib.util.spec_from_file_location("counts", ROOT / "docs" / "counts.py")
assert spec is not None
assert spec.loader is not None
counts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(counts)


def test_what_it_names_is_there() -> None:
    named = set(re.findall(r"`((?:tests|src|docs|benchmarks)/[\w./-]+)`", TEXT))
    assert len(named) > 60
    assert not [name for name in sorted(named) if not (ROOT / name).exists()]


def test_its_counts_are_true() -> None:
    """The page says at least how many there are; each folder of tests has its row."""
    rows = {name: (int(functions), int(cases)) for name, functions, cases in counts.ROW.findall(TEXT)}
    assert set(rows) == {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    for name, (functions, cases) in rows.items():
        there = counts.functions(ROOT / "tests" / name)
        assert functions <= there, f"tests/{name} has {there} test functions: python docs/counts.py"
        assert functions >= 0.5 * there or there < 50, f"tests/{name} has {there} by now: python docs/counts.py"
        assert cases >= functions
    total = re.search(r"([\d,]+) cases in all", TEXT)
    assert total
    assert int(total[1].replace(",", "")) == sum(cases for _, cases in rows.values())


def test_the_fuzz_test_tries_what_the_page_says() -> None:
    source = (ROOT / "tests" / "fuzz" / "test_fuzz.py").read_text(encoding="utf-8")
    made = re.search(r"^LINES, MODELS = (\d+), (\d+)$", source, re.MULTILINE)
    assert made
    assert f"{made[1]} command lines of every question and every other command, and {made[2]} models" in TEXT
