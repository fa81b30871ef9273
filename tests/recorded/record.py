"""What the command line answers today, written down: python tests/recorded/record.py [CASE ...]

test_recorded.py holds every later answer to this file. Record again only when numbers are meant to change. Both ask a
child process that calculates alike on every processor: NumPy and BLAS choose their code for it when they are loaded.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from loynes.cli.app import main

HERE = Path(__file__).parent
RECORDING = HERE / "documents.json.gz"
CASES: dict[str, str]
COMMON: dict[str, str]
CASES, COMMON = (tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))[part] for part in ("cases", "common"))
# How long it took, and which version was asked, in which shape it answers, is no part of an answer.
LEFT_OUT = {"seconds", "read_seconds", "version", "schema"}
# The last digit of their sums may differ from one version to the next.
LIBRARIES = ("numpy", "scipy", "numba")


def ask(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns in the child process; after a case that killed it, the next one gets a new child."""
    try:
        return _child().submit(function, *arguments).result()
    except BrokenProcessPool:
        _child.cache_clear()
        raise


@cache
def _child() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with patch.dict(os.environ, _same_everywhere()):
        pool.submit(int).result()  # A pool starts its process when it is first asked.
    return pool


def end() -> None:
    """End the child process, if there is one: whoever asked may be ended without a chance to."""
    if _child.cache_info().currsize:
        _child().shutdown()
        _child.cache_clear()


def _same_everywhere() -> dict[str, str]:
    """The environment in which every x86-64 processor with AVX2, however many cores it has, gives the same bits."""
    simd = np.show_config("dicts")["SIMD Extensions"]
    known = [*simd.get("found", ()), *simd.get("not found", ())]
    return {
        "OPENBLAS_CORETYPE": "Haswell",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in known if name.startswith(("AVX512", "X86_V4"))),
        "NPY_ENABLE_CPU_FEATURES": "",  # NumPy takes only one of the two.
        "PYTHONHASHSEED": "0",
        "PYTHONFAULTHANDLER": "1",  # A child that dies says where.
    }


def answers(case: str, folder: Path) -> list[dict[str, Any]]:
    """What each of a case's command lines says, run in an empty folder."""
    shutil.copytree(HERE / "models", folder / "models")
    for log in ("log.swf", "month.csv", "now.csv"):
        shutil.copy(HERE / log, folder)
    return [_answer(shlex.split(line), folder) for line in CASES[case].split("&&")]


def _answer(line: list[str], folder: Path) -> dict[str, Any]:
    """The exit code, the document or the last line of standard error, and the files of text that were written."""
    before = set(folder.iterdir())
    out, err = io.StringIO(), io.StringIO()
    # Documents repeat paths as they were given: relative ones are the same in every checkout.
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*line, *shlex.split(COMMON[line[1] if line[1] in COMMON else line[0]])])
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
    written = sorted(path for path in set(folder.iterdir()) - before if path.is_file())
    return {
        "exit": code,
        "document": None if code else without(json.loads(out.getvalue()), LEFT_OUT),
        "error": err.getvalue().splitlines()[-1] if code else None,
        "files": {path.name: path.read_text(encoding="utf-8").splitlines() for path in written},
    }


def without(tree: Any, keys: set[str]) -> Any:
    """The tree without these keys, at any depth."""
    if isinstance(tree, dict):
        return {key: without(value, keys) for key, value in tree.items() if key not in keys}
    return [without(value, keys) for value in tree] if isinstance(tree, list) else tree


def canonical(tree: Any) -> bytes:
    return json.dumps(tree, sort_keys=True, allow_nan=False).encode()


def made_with() -> dict[str, str]:
    processor = np.show_config("dicts")["SIMD Extensions"]
    return {name: version(name) for name in LIBRARIES} | {"processor": " ".join(processor.get("found", ()))}


def recorded() -> dict[str, Any]:
    """The recording: the answers of all `cases`, and what they were `made_with`."""
    found: dict[str, Any] = json.loads(gzip.decompress(RECORDING.read_bytes()))
    return found


def record(cases: list[str]) -> None:
    """These cases anew, or all of them; those that are no longer there are dropped."""
    found = {name: answer for name, answer in recorded()["cases"].items() if name in CASES} if cases else {}
    for case in cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            found[case] = ask(answers, case, Path(folder))
    # No time of day in the gzip header: the same answers give the same bytes.
    RECORDING.write_bytes(gzip.compress(canonical({"made_with": ask(made_with), "cases": found}), mtime=0))


if __name__ == "__main__":
    record(sys.argv[1:])
