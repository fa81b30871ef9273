"""A wheel built from the tree installs in an empty environment; the command, and the tutorial, run from it."""

from __future__ import annotations

import json
import os
import re
import shutil
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
    # Modules are compiled when they are imported, and most never are.
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([python, "-m", "pip", "install", *options, f"{wheel}[plot,io]"], check=True, capture_output=True)
    return folder


def hand_over_kernels(installed: Path) -> None:
    """What the tree has compiled, all but the kernels that the first command needs, is laid beside the wheel's sources.

    These are the tree's, and get its times of change, by which Numba knows them; it compiles anew what another version
    of it has compiled.
    """
    tree = ROOT / "src" / "loynes"
    for source in tree.rglob("*.py"):
        twin = installed / source.relative_to(tree)
        assert twin.read_bytes() == source.read_bytes()
        times = source.stat()
        os.utime(twin, ns=(times.st_atime_ns, times.st_mtime_ns))
    for kernel in tree.rglob("*.nb[ic]"):
        if not kernel.name.startswith(("pile.", "sandwich.", "forward.")):
            target = installed / kernel.relative_to(tree)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(kernel, target)


def plain(text: str) -> list[str]:
    """Without what differs from run to run."""
    text = re.sub(r"[\d.]+ s, seed", "s, seed", text)
    return [re.sub(r"^(wrote [^,]*), .*$", r"\1", line).rstrip() for line in text.strip().splitlines()]


def wrote(text: str) -> str:
    """Of what goes to standard error, what was written; progress comes and goes."""
    return "".join(line for line in text.splitlines(keepends=True) if line.startswith("wrote "))


def test_the_tutorial_line_by_line(place: Path) -> None:
    """The model saved, every command typed as it stands, every output as it is shown, and the Python: the first of them
    compile their kernels anew, since these are not in the wheel's cache yet. Then a built-in model, as JSON."""
    python = str(place / "empty" / PROGRAMS / "python")
    where = subprocess.run([python, "-c", "import loynes; print(loynes.__file__)"], capture_output=True, text=True)
    assert str(place) in where.stdout  # the wheel, not the tree
    hand_over_kernels(Path(where.stdout.strip()).parent)
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
