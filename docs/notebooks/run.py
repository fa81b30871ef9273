"""Runs the notebooks and stores them with their outputs, and as pages for the site.

python docs/notebooks/run.py [NAME ...]; make docs runs all. A page is Markdown with pictures beside it, so that any
program that makes a site of Markdown can show it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbformat import NotebookNode

HERE = Path(__file__).parent
NAMES = ("operator", "student", "figure")


def stored(name: str) -> NotebookNode:
    return nbformat.read(HERE / f"{name}.ipynb", as_version=4)


def executed(notebook: NotebookNode) -> NotebookNode:
    """The notebook run from clean, in an empty folder, with its outputs and nothing about this run of it."""
    fresh = nbformat.v4.new_notebook(metadata={"language_info": {"name": "python"}})
    for cell in notebook.cells:
        make = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        fresh.cells.append(make(cell.source, id=cell.id))
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(fresh, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.record_timing = False
        client.execute()
    fresh.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = _tidied(cell.outputs)
    return fresh


def _tidied(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Without the empty place of a progress bar that is gone; text that came in several pieces as one."""
    tidy: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and tidy and tidy[-1].get("name") == output.name:
            tidy[-1].text += output.text
        elif output.get("data", {}).get("text/plain") != "":
            tidy.append(output)
    return tidy


def printed(notebook: NotebookNode) -> list[str]:
    """What every code cell printed."""
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def page(notebook: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """The notebook as Markdown, and its pictures by file name."""
    resources = {"unique_key": name, "output_files_dir": ""}
    text, more = MarkdownExporter().from_notebook_node(notebook, resources)
    title, _, rest = text.strip().partition("\n")
    source = f"This page is [a notebook]({name}.ipynb), run as it stands."
    return f"{title}\n\n{source}\n{rest}\n", dict(more["outputs"])


def main(names: list[str]) -> None:
    for name in names or NAMES:
        notebook = executed(stored(name))
        nbformat.write(notebook, HERE / f"{name}.ipynb")
        text, pictures = page(notebook, name)
        for old in HERE.glob(f"{name}_*.png"):
            old.unlink()
        for file, data in pictures.items():
            (HERE / file).write_bytes(data)
        (HERE / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
