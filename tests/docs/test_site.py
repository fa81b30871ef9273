"""The documentation site: it builds without a warning, its Python runs, and its command lines are ones we have."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from loynes.cli.app import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built from a copy: a build leaves a cache beside the pages' sources."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_it_builds(site: Path) -> None:
    """Every page has a place in the navigation, every link leads somewhere."""
    assert "<svg" in (site / "reproduced" / "one-or-all.svg").read_text()
    assert not (site / "figures.py").exists()
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert listed == {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert all((site / name.replace(".md", ".html")).exists() for name in listed)


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    """To a page, and to a place in a page: what else would a build without complaint be worth?"""
    for broken in ("[a](nowhere.md)", "[a](other.md#nowhere)"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "mkdocs.yml").write_text("site_name: a\n")
        (tmp_path / "docs" / "other.md").write_text("# Other\n\n## Here\n")
        (tmp_path / "docs" / "index.md").write_text("# A\n\n[b](other.md#here)\n")
        assert build(tmp_path).returncode == 0
        (tmp_path / "docs" / "index.md").write_text(f"# A\n\n{broken}\n")
        assert build(tmp_path).returncode != 0


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    """No font, script or style of another host, so that pages can be read behind a firewall."""
    for page in site.rglob("*.html"):
        asked = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="?(https?://[^">]*)', page.read_text())
        assert asked == [], page.name


@pytest.mark.parametrize(
    "word", ["backfilling", "Slurm", "sacct", "Kubernetes", "Kueue", "GPU", "p99", "quota", "nodes", "percentile"]
)
def test_words_that_people_search_for(word: str, site: Path) -> None:
    """The index that the search box reads has them, and one of the places is the page of questions or a guide."""
    items = json.loads((site / "search.json").read_text())["items"]
    found = {item["location"].split("#")[0] for item in items if word.lower() in json.dumps(item).lower()}
    assert "questions.html" in found
    assert found - {"questions.html", "comparison.html", "index.html"}, "a guide, too"


# The tutorial's needs its model, and is run with it; the reference's examples are one program (test_reference.py).
BLOCKS = [
    (page.name, code)
    for page in PAGES
    if page.name not in ("tutorial.md", "reference.md") and page.parent == DOCS
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
]


@pytest.mark.parametrize(("page", "code"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_python_runs(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr


def command_lines() -> list[str]:
    """Indented lines, and lines after a prompt, that call us."""
    found = []
    for page in (*PAGES, ROOT / "README.md"):
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
