"""The wheel in an empty environment, and the sdist in another: python packaging/try_wheel.py DIST

Works on every system: what is asked is asked with the environment's own programs. The sources are not on the path.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

EXTRAS = "plot,io,yaml,explore"


def environment(folder: Path) -> Path:
    """A new environment; the folder of its programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin")


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; its complaints are shown, and end all."""
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=plain, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}")
    return done.stdout


def try_it(package: Path, extras: str, folder: Path) -> None:
    """Install it there, and ask a little of everything that needs files of the package."""
    programs = environment(folder / "environment")
    python, loynes = programs / "python", programs / "loynes"
    run(python, "-m", "pip", "install", "--quiet", f"{package}{extras}", cwd=folder)
    place = run(python, "-c", "import loynes; print(loynes.__file__)", cwd=folder)
    assert str(folder.resolve()) in str(Path(place.strip()).resolve()), place
    assert "evaluate" in run(loynes, "--help", cwd=folder)
    model = "five-class-exponential"
    answer = json.loads(run(loynes, "evaluate", model, "--load", "0.5", "--precision", "0.2", "--json", cwd=folder))
    assert answer["threshold"]["low"] < 1.81 < answer["threshold"]["high"] + 0.2, answer["threshold"]
    assert json.loads(run(loynes, "schema", "result", "evaluate", cwd=folder))["properties"]
    if extras:
        run(loynes, "stability", model, "--precision", "0.05", "-o", "page.html", cwd=folder)
        run(loynes, "stability", model, "--precision", "0.05", "-o", "table.parquet", cwd=folder)
        assert (folder / "page.html").stat().st_size > 1000


def main(dist: Path) -> None:
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for package, extras, name in ((wheel, f"[{EXTRAS}]", "wheel"), (source, "", "sdist")):
            (Path(folder) / name).mkdir()
            try_it(package.resolve(), extras, Path(folder) / name)
            print(f"{package.name}: works in an empty environment")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
