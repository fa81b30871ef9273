"""The page on starts prints what the program prints, and its files are what the script makes of the log it names."""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from typed import typed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "eta.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, flags=re.DOTALL)
FILES = ("history.swf.gz", "squeue.json", "then.csv")


def plain(text: str) -> list[str]:
    """Without what differs from run to run (seconds) and trailing blanks."""
    return [re.sub(r"[\d.]+ s, seed", "s, seed", line).rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_console(command: str, shown: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "loynes"
    done = typed(*arguments, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert plain(done.stdout) == plain(shown)


def test_there_are_examples() -> None:
    assert len(CONSOLE) == 2


def test_the_files_are_made_by_the_script(tmp_path: Path) -> None:
    examples = ROOT / "examples"
    steps = re.findall(r"^python examples/(.*)$", (examples / "make_snapshot.py").read_text(encoding="utf-8"), re.M)
    assert len(steps) == 2
    for step in steps:
        words = [str(tmp_path / word) if word == "log.swf" else word for word in shlex.split(step)]
        words = [str(tmp_path) if word == "examples/line" else word for word in words]
        subprocess.run([sys.executable, str(examples / words[0]), *words[1:]], check=True, cwd=ROOT)
    for name in FILES:
        made, shipped = ((folder / name).read_bytes() for folder in (tmp_path, examples / "line"))
        if name.endswith(".gz"):  # how well it is compressed depends on the library
            made, shipped = gzip.decompress(made), gzip.decompress(shipped)
        assert made == shipped, name
