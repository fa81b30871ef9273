"""Command lines typed in this process: the output, the errors and the exit code that a shell would get, without a new
Python that imports everything and loads every compiled kernel, which takes two seconds."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from subprocess import CompletedProcess

from loynes.cli.app import main


def typed(*line: object, cwd: Path | None = None) -> CompletedProcess[str]:
    """`loynes` with these arguments, in that folder; what it returns is what `subprocess.run` would."""
    arguments, code = [str(one) for one in line], None
    out, err = io.StringIO(), io.StringIO()
    folder = contextlib.nullcontext() if cwd is None else contextlib.chdir(cwd)
    with folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    assert code is None or isinstance(code, int), code
    return CompletedProcess(arguments, code or 0, out.getvalue(), err.getvalue())
