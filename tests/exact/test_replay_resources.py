"""Replays on several resources: a few jobs worked out by hand, and one resource, which is as servers are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loynes.errors import UsageError
from loynes.questions.replay import replay
from loynes.traces.jobs import NEEDS_NONE
from loynes.traces.read import read_trace
from loynes.traces.trace import TOO_LARGE
from trace_files import drawn, swf_text

pytestmark = pytest.mark.filterwarnings("ignore::loynes.errors.LoynesWarning")  # so few jobs are always too many


def typed(tmp_path: Path) -> Path:
    """Three jobs on 4 processors and 2 GPUs: the second waits for GPUs, the third behind it, though it would fit."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit,service,cpus,gpus\n0,10,1,2\n1,5,2,1\n2,4,2,0\n3,1,8,0\n4,1,0,0\n")
    return path


def test_several_resources_worked_out_by_hand(tmp_path: Path) -> None:
    found = replay(typed(tmp_path), resources={"cpu": 4, "gpu": 2})
    assert found.warnings[0].startswith("1 jobs need more than 4 cpus, 2 gpus and were left out")
    # First come, first served: the second job starts at 10 and with it the third, which ends at 14; the second at 15.
    np.testing.assert_array_equal(found.each["wait"], [0, 9, 8])
    assert found.span == 15
    cpu, gpu = (found.system.resources[name] for name in ("cpu", "gpu"))
    assert (cpu.busy.estimate, gpu.busy.estimate) == ((10 + 10 + 8) / 15, 25 / 15)
    assert (cpu.utilization.estimate, gpu.idle.estimate) == (28 / 60, 2 - 25 / 15)
    # From 1 to 10 somebody waits while three processors idle, and no GPU does.
    assert (cpu.hol_loss.estimate, gpu.hol_loss.estimate) == (27 / 15, 0)
    assert found.system.busy_servers == gpu.busy  # the one that is used most
    assert found.title == "jobs.csv: waits on 4 cpus, 2 gpus"
    assert set(found.classes) == {"cpu 1, gpu 2", "cpu 2, gpu 1", "cpu 2"}
    assert found.skipped == {NEEDS_NONE: 1, TOO_LARGE: 1}
    assert found.tidy.columns[-2:] == ("cpu", "gpu")
    easy = replay(typed(tmp_path), resources=["cpu=4,gpu=2"], policy="easy")
    np.testing.assert_array_equal(easy.each["wait"], [0, 9, 0])


def test_one_resource_is_as_servers_are(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(swf_text(drawn(300, blemishes=0.0)))
    for policy in ("fcfs", "easy"):
        alone = replay(path, servers=16, policy=policy)
        named = replay(path, resources={"cpu": 16}, policy=policy)
        np.testing.assert_allclose(named.each["wait"], alone.each["wait"], atol=1e-6)
        np.testing.assert_allclose(named.system.hol_loss.estimate, alone.system.hol_loss.estimate, rtol=1e-9)
        np.testing.assert_allclose(named.series.utilization, alone.series.utilization, rtol=1e-9)


def test_wrong_resources(tmp_path: Path) -> None:
    path = typed(tmp_path)
    for options, says in (
        ({"resources": {"fpga": 1}}, "resource 'fpga': .* it tells of: cpu, gpu"),
        ({"resources": {"cpu": 4}, "servers": 4}, "resources: say how many there are of each"),
        ({"resources": ["cpu"]}, "resources: 'cpu': must be written like NAME=COUNT"),
        ({"resources": ["cpu=0"]}, "cpu=0: must be a whole number of at least 1"),
        ({"resources": {"cpu": 4, "gpu": 2}, "policy": "server-filling"}, "is for identical servers"),
    ):
        with pytest.raises(UsageError, match=says):
            replay(path, **options)


def test_jobs_that_were_written_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(swf_text(drawn(100, blemishes=0.0)))
    written = replay(path, servers=16)
    several = replay(typed(tmp_path), resources={"cpu": 4, "gpu": 2})
    for ending in ("csv", "parquet"):
        written.save(tmp_path / f"one.{ending}")
        assert read_trace(tmp_path / f"one.{ending}").hash == written.model.hash
        several.save(tmp_path / f"several.{ending}")
        again = read_trace(tmp_path / f"several.{ending}", resources=("cpu", "gpu"))
        for name in ("cpu", "gpu"):
            np.testing.assert_array_equal(again.demand[name], several.each[name])
