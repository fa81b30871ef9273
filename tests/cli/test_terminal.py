"""Tables on a real terminal: they take its width, and go without columns by name."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = str(Path(__file__).parents[1] / "recorded" / "models" / "small.toml")


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """What the command prints on a terminal so wide, line by line, without colours."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "loynes", *arguments],
        stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment | {"TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(theirs)
        pieces = []
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            pieces.append(piece)
    os.close(ours)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(pieces).decode()).splitlines()


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_tables_take_the_width_there_is(columns: int) -> None:
    lines = on_terminal(columns, "check", MODEL)
    assert max(map(len, lines)) <= columns
    text = "\n".join(lines)
    assert all(number in text for number in ("0.46875", "0.375", "0.15625", "2.430925753", "0eb37723a05ac4d6"))
    assert ("not shown for lack of width: moments" in text) == (columns < 80)
    assert ("mean service: 0.89" in text) == (columns == 40)  # a block
