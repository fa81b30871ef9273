"""The reference: it is what the code says, every function has an example, and the examples run."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import loynes
from loynes.questions.asking.ask import Ask

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_code_says(reference: ModuleType) -> None:
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == reference.text(), "run python docs/reference.py"


def test_every_public_name_is_there(reference: ModuleType) -> None:
    page = reference.text()
    for name in loynes.__all__:
        if name != "__version__":
            assert f"### {name}\n" in page or f"| `{name}` |" in page
            assert reference.doc_of(getattr(loynes, name)), f"{name} has no docstring"


def test_every_function_has_an_example_which_uses_it(reference: ModuleType) -> None:
    functions = {name for name in loynes.__all__ if isinstance(getattr(loynes, name), Ask | FunctionType)} | {"report"}
    code = reference.examples()
    assert functions <= code.keys()
    assert all(f"loynes.{name}(" in example for name, example in code.items() if name != "(first)")


def test_the_examples_run(tmp_path: Path) -> None:
    """As one program, from top to bottom, in an empty folder."""
    done = subprocess.run(
        [sys.executable, str(DOCS / "reference_examples.py")],
        cwd=tmp_path, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"jobs.csv", "samples.csv", "now.json", "run", "waits.json", "waits.html"}
