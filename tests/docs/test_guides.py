"""Guides: every command on them runs, on a log made here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from loynes.cli.app import main

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "size-limit.md"
COMMANDS = re.findall(r"^    loynes (.*)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks of jobs, an eighth of which needs more than the limit."""
    made = tmp_path_factory.mktemp("guides")
    rng = np.random.default_rng(2)
    lines = ["submit,need,service,requested_time,user"]
    for submit in np.sort(rng.uniform(0, 21 * 86400, 300)):
        service = int(rng.exponential(9000)) + 1
        need, user = rng.choice([1, 2, 8, 32], p=[0.4, 0.3, 0.175, 0.125]), rng.choice(["alice", "bob"])
        lines.append(f"{int(submit)},{need},{service},{3 * service},{user}")
    (made / "jobs.txt").write_text("\n".join(lines) + "\n")
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    coarse = ["--resamples", "4"] if command.startswith("compare") else []
    with pytest.raises(SystemExit) as left:
        main([*shlex.split(command), *coarse, "--quiet"])
    assert left.value.code in (0, None)
    assert len(capsys.readouterr().out.splitlines()) > 3
    if written := re.search(r"-o (\S+)", command):
        assert (folder / written[1]).stat().st_size > 1000


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 6
