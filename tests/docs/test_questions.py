"""The page of questions: every command on it runs, on a cluster and logs made here, only more coarsely."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from loynes.cli.app import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
GUIDES = [
    (ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8") for name in ("nodes", "rack", "size-limit")
]
COMMANDS = [line for page in (PAGE, *GUIDES) for line in re.findall(r"^    loynes (.*)$", page, flags=re.MULTILINE)]
SERVED = [command for command in COMMANDS if command.startswith("explore ")]
# What makes an answer quick, and changes nothing else of the question.
COARSE = {
    "evaluate": "--precision 0.2",
    "stability": "--precision 0.05",
    "plan": "--max-jobs 3e6",
    "plan --vary": "--max-jobs 1e5",
    "check": "",
    "compare": "--precision 0.2",
    "compare --policies": "--jobs 2000 --no-limits",
    "sensitivity": "--samples 2000",
    "simulate": "--jobs 2000 --replicas 4",
    "simulate --horizon": "--replicas 8",
    "log": "--resamples 8",
    "replay": "",
    "sweep": "--precision 0.3",
    "fit": "",
    "eta": "--draws 50",
}
START = datetime(2026, 1, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster, five weeks of a Slurm log without and with GPUs, and workloads of Kueue."""
    made = tmp_path_factory.mktemp("questions")
    shutil.copy(ROOT / "examples" / "gpu-nodes.toml", made / "cluster.toml")
    for name in ("nodes.toml", "shared-nodes.toml"):
        shutil.copy(ROOT / "examples" / "shared-nodes.toml", made / name)
    rng = np.random.default_rng(1)
    sacct, workloads = ["JobID|Submit|Start|End|AllocCPUS|State|User"], []
    typed = ["JobID|Submit|Start|End|AllocTRES|State|User"]
    for number, second in enumerate(np.sort(rng.uniform(0, 35 * 86400, 800))):
        submit = START + timedelta(seconds=int(second))
        start = submit + timedelta(minutes=5)
        end = start + timedelta(seconds=int(rng.exponential(15000)) + 1)
        need, user = int(rng.choice([1, 2, 8, 32])), str(rng.choice(["alice", "bob"]))
        sacct.append(f"{number}|{submit:%FT%T}|{start:%FT%T}|{end:%FT%T}|{need}|COMPLETED|{user}")
        tres = f"cpu={4 * need},gres/gpu={need // 2 or 1}"
        typed.append(f"{number}|{submit:%FT%T}|{start:%FT%T}|{end:%FT%T}|{tres}|COMPLETED|{user}")
        ended = [
            {"type": kind, "status": "True", "lastTransitionTime": f"{when:%FT%T}Z"}
            for kind, when in (("Admitted", start), ("Finished", end))
        ]
        pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [asks(need)]}}}
        named = {"name": f"job-{number}", "namespace": user, "creationTimestamp": f"{submit:%FT%T}Z"}
        workloads.append({"metadata": named, "spec": {"podSets": [pods]}, "status": {"conditions": ended}, **KIND})
    line = [f"{number},{'R' if number < 3 else 'PD'},{2**number},60,7200" for number in range(8)]
    (made / "now.csv").write_text("\n".join(["id,state,need,elapsed,limit", *line]) + "\n")
    (made / "jobs.txt").write_text("\n".join(sacct) + "\n")
    (made / "gpu-jobs.txt").write_text("\n".join(typed) + "\n")
    (made / "workloads.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": workloads}))
    return made


KIND = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}


def asks(cpus: int) -> dict[str, object]:
    return {"name": "main", "resources": {"requests": {"cpu": str(cpus)}}}


def coarsely(command: str) -> list[str]:
    """The command as it stands, and what makes it quick."""
    name, source, *_ = arguments = shlex.split(command)
    if name in ("replay", "eta", "fit"):
        kind = name
    elif source in ("jobs.txt", "gpu-jobs.txt"):
        kind = "log"
    else:
        option = next((option for option in ("--policies", "--horizon", "--vary") if option in arguments), "")
        kind = f"{name} {option}".strip()
    return [*arguments, *shlex.split(COARSE[kind]), "--quiet"]


def test_the_page_that_is_served(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to where the server would begin to wait for requests."""
    from loynes.explore import server

    monkeypatch.chdir(folder)
    monkeypatch.setattr(server, "serve", lambda service, listening, token, host, ready: (ready(), listening.close()))
    for command in SERVED:
        with pytest.raises(SystemExit) as left:
            main([*shlex.split(command), "--no-browser"])
        assert left.value.code in (0, None)
        assert "is at http://127.0.0.1:" in capsys.readouterr().out


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in SERVED])
def test_commands_run(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as left:
        main(coarsely(command))
    assert left.value.code in (0, None)
    assert len(capsys.readouterr().out.splitlines()) > 3
    if written := re.search(r"-o (\S+)", command):
        assert (folder / written[1]).stat().st_size > 1000


def test_every_question_has_a_command_and_a_guide() -> None:
    questions = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert len(questions) >= 12
    for question in questions:
        assert re.search(r"^    loynes ", question, flags=re.MULTILINE), question
        assert re.search(r"→ \[.*\]\([a-z]+\.md", question), question
