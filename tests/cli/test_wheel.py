"""A wheel built from the tree installs in an empty environment; the command, and the tutorial, run from it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Where an environment has its programs.
PROGRAMS = "Scripts" if os.name == "nt" else "bin"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing in it but an environment, and in that nothing but loynes and what it needs."""
    folder = tmp_path_factory.mktemp("stranger")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "empty", with_pip=True)
    python = folder / "empty" / PROGRAMS / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[plot,io]"]
    subprocess.run(install, check=True, capture_output=True)
    return folder


def plain(text: str) -> list[str]:
    """Without what differs from run to run."""
    text = re.sub(r"[\d.]+ s, seed", "s, seed", text)
    return [re.sub(r"^(wrote [^,]*), .*$", r"\1", line).rstrip() for line in text.strip().splitlines()]


def wrote(text: str) -> str:
    """Of what goes to standard error, what was written; progress comes and goes."""
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("wrote "))


def test_the_tutorial_line_by_line(place: Path) -> None:
    """The model saved, every command typed as it stands, every output as it is shown, and the Python: the first of them
    compile every kernel anew, since nothing is in the wheel's cache yet. Then a built-in model, as JSON."""
    python = str(place / "empty" / PROGRAMS / "python")
    where = subprocess.run([python, "-c", "import loynes; print(loynes.__file__)"], capture_output=True, text=True)
    assert str(place) in where.stdout  # the wheel, not the tree
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    (model,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    (place / "team.toml").write_text(model)
    path = os.pathsep.join([str(place / "empty" / PROGRAMS), os.environ["PATH"]])
    steps = re.findall(r"```console\n\$ (.*?)\n(.*?)```", page, flags=re.DOTALL)
    assert len(steps) == 8
    for command, shown in steps:
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, cwd=place, env=os.environ | {"PATH": path}
        )
        assert done.returncode == 0, done.stderr
        assert plain(done.stdout + wrote(done.stderr)) == plain(shown)
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=place)
    assert done.returncode == 0, done.stderr
    for name in ("sweep.csv", "plan/result.json", "plan.html"):
        assert (place / name).stat().st_size > 1000
    command = [str(place / "empty" / PROGRAMS / "loynes"), "evaluate", "five-class-exponential", "--rate", "1.3575"]
    done = subprocess.run(
        [*command, "--samples", "100000", "--json"], check=True, capture_output=True, text=True, cwd=place
    )
    assert 5 < json.loads(done.stdout)["overall"]["wait"]["mean"]["estimate"] < 13
