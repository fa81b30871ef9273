"""A wheel built from the tree installs in an empty environment, and the command runs from it."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    command = [str(tmp_path / "empty" / "bin" / "loynes"), "evaluate", "five-class-exponential", "--rate", "1.3575"]
    options = ["--samples", "100000", "--json"]
    done = subprocess.run([*command, *options], check=True, capture_output=True, text=True, cwd=tmp_path)
    data = json.loads(done.stdout)
    assert 5 < data["overall"]["wait"]["mean"]["estimate"] < 13
    # The command's files come from the wheel, not from the tree.
    where = subprocess.run([str(python), "-c", "import loynes; print(loynes.__file__)"], capture_output=True, text=True)
    assert str(tmp_path) in where.stdout
