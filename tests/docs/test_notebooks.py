"""The notebooks of the docs run from clean, and print what is stored; and what loynes does in a notebook."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

from loynes.execution.notebook_bar import default_progress
from loynes.execution.progress import silent
from loynes.notebook import in_notebook

HERE = Path(__file__).parents[2] / "docs" / "notebooks"
LARGEST_PICTURE = 100_000


def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_notebooks", HERE / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run = runner()


@pytest.mark.parametrize("name", run.NAMES)
def test_it_prints_what_is_stored(name: str) -> None:
    then = run.stored(name)
    now = run.executed(then)
    assert run.printed(now) == run.printed(then)
    assert any(run.printed(now))
    kinds = [[output.output_type for output in cell.get("outputs", ())] for cell in now.cells]
    assert kinds == [[output.output_type for output in cell.get("outputs", ())] for cell in then.cells]


def test_pages_are_those_of_the_notebooks() -> None:
    assert {path.stem for path in HERE.glob("*.ipynb")} == set(run.NAMES) == {path.stem for path in HERE.glob("*.md")}
    for name in run.NAMES:
        notebook, text = run.stored(name), (HERE / f"{name}.md").read_text(encoding="utf-8")
        _, pictures = run.page(notebook, name)
        assert {path.name for path in HERE.glob(f"{name}_*.png")} == set(pictures)
        for file, data in pictures.items():
            assert (HERE / file).read_bytes() == data
            assert len(data) < LARGEST_PICTURE
            assert file in text
        for cell in notebook.cells:
            for line in cell.source.splitlines():
                assert line in text
        for shown in run.printed(notebook):
            assert all(line.strip() in text for line in shown.splitlines())


CELLS = (
    "import loynes\nmodel = loynes.load('five-class-exponential')\nmodel",
    "result = loynes.stability(model, precision=0.1)\nresult.plot();",
    "result.save('picture.png')\nresult.plot();",
    "result.plot();",
    "text = str(result.summary)",  # returns a text, and shows nothing
    "print(text.splitlines()[0])",
    "result",
    "loynes.report(result, 'page.html')",
    "from loynes.execution import notebook_bar\nnotebook_bar.FIRST_AFTER = notebook_bar.EVERY = 0.0\n"
    "loynes.stability(model, precision=0.05).headline",
    "loynes.stability(model, precision=0.05, progress=None).headline",
)


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models and results as HTML, a picture for every plot, text as text, a bar that goes, pages in frames."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    monkeypatch.setattr(run, "_tidied", lambda outputs: outputs)  # the bar's place, too
    kept = [cell.outputs for cell in run.executed(notebook).cells]
    model, first, second, third, text, line, result, page, bar, silent = kept
    assert "<td>T15</td>" in model[0].data["text/html"]
    for shown in (first, second, third):
        assert sum("image/png" in one.data for one in shown) == 1
    assert text == []
    assert [one.text for one in line] == ["five-class-exponential: stability\n"]
    assert "<table" in result[0].data["text/html"]
    assert result[0].data["text/plain"].startswith("<Threshold five-class-exponential")
    assert "<iframe" in page[0].data["text/html"]
    assert len(page[0].data["text/plain"]) < 40
    assert [one.output_type for one in bar] == ["display_data", "execute_result"]
    assert bar[0].data == {"text/html": "", "text/plain": ""}
    assert [one.output_type for one in silent] == ["execute_result"]


def test_no_bar_elsewhere() -> None:
    """A script has none, nor has one that has loaded IPython."""
    from IPython import get_ipython

    assert get_ipython() is None
    assert not in_notebook()
    assert default_progress() is silent
