"""The documentation site: it builds without a warning, its Python runs, and its command lines are ones we have."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from loynes.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def test_it_builds(tmp_path: Path) -> None:
    """Every page has a place in the navigation, every link leads somewhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "site" / "reproduced" / "one-or-all.svg").read_text()
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {page.relative_to(DOCS).as_posix() for page in PAGES}


# The tutorial's needs its model, and is run with it; notebooks are run as such.
BLOCKS = [
    (page.name, code)
    for page in PAGES
    if page.name != "tutorial.md" and page.parent == DOCS
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
]


@pytest.mark.parametrize(("page", "code"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_python_runs(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py"], capture_output=True, text=True, cwd=tmp_path, env={"MPLBACKEND": "Agg"}
    )
    assert done.returncode == 0, done.stderr


def command_lines() -> list[str]:
    """Indented lines, and lines after a prompt, that call us."""
    found = []
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"(?:    |\$ )(loynes .*)", line)
            if match:
                found.append(match[1])
    return found


@pytest.mark.parametrize("line", command_lines())
def test_command_lines_parse(line: str) -> None:
    """Every option is one that the command takes."""
    _, name, *arguments = shlex.split(line, comments=True)
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    one = command.get_command(typer.Context(command), name)
    assert one is not None
    one.make_context(name, arguments)
