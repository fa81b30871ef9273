"""The page on recorded workloads: its example is what the program prints, its table has every rule."""

from __future__ import annotations

import pkgutil
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from loynes.traces import gather, jobs, ledger, readers, text, trace
from loynes.traces.readers.register import markdown_table
from loynes.traces.readers.tables import markdown_names
from typed import typed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")


def plain(shown: str) -> list[str]:
    """Without what differs from run to run."""
    return [re.sub(r"in [\d.]+ s", "in s", line).rstrip() for line in shown.strip().splitlines()]


def test_the_example(tmp_path: Path) -> None:
    ((make, command, shown),) = re.findall(r"```console\n\$ (.*?)\n\$ (.*?)\n(.*?)```", PAGE, flags=re.DOTALL)
    _, maker, *options = shlex.split(make)
    subprocess.run([sys.executable, str(ROOT / maker), *options], cwd=tmp_path, check=True)
    program, *arguments = shlex.split(command)
    assert program == "loynes"
    done = typed(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert plain(done.stdout) == plain(shown)


def test_every_reason_is_explained() -> None:
    found = pkgutil.iter_modules(readers.__path__)
    modules = (
        gather,
        jobs,
        ledger,
        text,
        trace,
        *(import_module(f"loynes.traces.readers.{one.name}") for one in found),
    )
    reasons = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.isupper() and name[0] != "_" and isinstance(value, str) and " " in value
    }
    assert len(reasons) > 15
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()


def test_tables_are_those_of_the_registers() -> None:
    for table in (markdown_table(), markdown_names()):
        assert "\n".join(table) in PAGE
