"""The README's examples are what the program prints and runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from typed import typed

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, flags=re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def plain(text: str) -> list[str]:
    """Without what differs from run to run (seconds) and trailing blanks."""
    return [re.sub(r"[\d.]+ s, seed", "s, seed", line).rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_console(command: str, shown: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "loynes"
    done = typed(*arguments)
    assert done.returncode == 0, done.stderr
    assert plain(done.stdout) == plain(shown)


@pytest.mark.parametrize("code", PYTHON)
def test_python(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "result.json").exists()


def test_there_are_examples() -> None:
    assert len(CONSOLE) == 4
    assert len(PYTHON) == 1
    assert "make run" in README
    assert "make test" in README


def test_links_lead_somewhere() -> None:
    root = Path(__file__).parents[2]
    for page in (
        root / "README.md",
        root / "CONTRIBUTING.md",
        *(root / "docs").rglob("*.md"),
        root / "benchmarks/README.md",
    ):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def page_of(name: str) -> str:
    return (Path(__file__).parents[2] / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_every_law_of_the_models_page_is_read() -> None:
    import tomllib

    from loynes.model import load

    page = page_of("models")
    example, scenario = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert load(tomllib.loads(example)).rate == 1.35
    (longer,) = re.findall(r"```toml\n(.*?)```", page_of("policies"), flags=re.DOTALL)
    for text, changes in ((scenario, 1), (longer, 3)):
        assert len(load(tomllib.loads(example + text)).scenario or ()) == changes
    laws = re.findall(r"^\| `(\{ law = .*? \})` \|", page, flags=re.MULTILINE)
    assert len(laws) == 19
    for law in laws:
        service = tomllib.loads(f"service = {law}")
        load({"servers": 1, "classes": [service | {"need": 1, "probability": 1}]})
