"""Listings of schedulers: every format, what is left out and why, and accidents."""

from __future__ import annotations

import copy
import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from loynes.errors import LoynesError, TraceError, UsageError
from loynes.traces.snapshot import Snapshot
from loynes.traces.snapshots import arrays
from loynes.traces.snapshots.read import read_snapshot
from loynes.traces.snapshots.register import markdown_table

SERVERS = {"servers": 64}


def number(value: float | None) -> dict[str, object]:
    """As newer versions of Slurm write numbers."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def slurm(**changed: object) -> dict[str, object]:
    job: dict[str, object] = {
        "job_id": 1,
        "job_state": ["PENDING"],
        "cpus": number(4),
        "node_count": number(1),
        "time_limit": number(60),
        "submit_time": number(1_700_000_000),
        "start_time": number(0),
        "priority": number(100),
        "user_name": "ann",
        "partition": "main",
        "state_reason": "Priority",
    }
    return job | changed


JOBS = [
    slurm(job_id=7, job_state=["RUNNING"], start_time=number(1_700_000_000)),
    slurm(job_id=8, priority=number(5)),
    slurm(job_id=9, priority=number(50), cpus=number(16)),
    slurm(job_id=10, array_job_id=number(10), array_task_string="1-3,9%2"),
    slurm(job_id=20, het_job_id=number(20), cpus=number(2)),
    slurm(job_id=21, het_job_id=number(20), cpus=number(3)),
    slurm(job_id=30, state_reason="Dependency"),
    slurm(job_id=31, cpus=number(100)),
    slurm(job_id=32, job_state=["COMPLETED"]),
    slurm(job_id=33, job_state=["FLYING"]),
    slurm(job_id=34, time_limit=number(None), priority=number(1)),
    slurm(job_id=9),
    {"name": "no id"},
]
DOCUMENT = json.dumps({"jobs": JOBS, "last_update": number(1_700_001_800)}).encode()


def read(data: bytes, tmp_path: Path, units: dict[str, int] | None = None, **ways: object) -> Snapshot:
    path = tmp_path / "now"
    path.write_bytes(data)
    return read_snapshot(path, units or SERVERS, **ways)  # type: ignore[arg-type]


def notes(found: Snapshot) -> dict[str, str]:
    return {note.id: note.text for note in found.left_out}


def test_squeue_json(tmp_path: Path) -> None:
    found = read(DOCUMENT, tmp_path)
    assert found.format == "squeue-json"
    assert found.ids == ("7", "10_1", "10_2", "10_3", "10_9", "20", "9", "8", "34")
    assert found.running == 1
    assert found.elapsed[0] == 1800
    assert found.demand["servers"].tolist() == [4, 4, 4, 4, 4, 5, 16, 4, 4]
    assert set(found.limit) == {3600.0}
    left = notes(found)
    assert left["30"] == "not in line: Dependency"
    assert left["31"] == "needs 100 servers of 64"
    assert left["32"] == "has ended (completed)"
    assert left["33"] == "state 'FLYING': neither running nor waiting"
    assert left["9"] == "listed twice"
    assert left["entry 13"] == "is no job: it has no job_id"
    assert {note.id: note.text for note in found.assumed} == {
        "10_1": "its array may run only so many at once (1-3,9%2): not modelled",
        "34": "no limit: taken as 3600 s, the longest here",
    }


def test_older_slurm_has_plain_numbers(tmp_path: Path) -> None:
    plain = [
        {"job_id": 1, "job_state": "RUNNING", "cpus": 4, "time_limit": 60, "start_time": 1000, "submit_time": 900},
        {"job_id": 2, "job_state": "PENDING", "cpus": 2, "time_limit": 30, "start_time": 0, "submit_time": 950},
    ]
    found = read(json.dumps({"jobs": plain}).encode(), tmp_path, now=1600.0)
    assert found.ids == ("1", "2")
    assert found.elapsed.tolist() == [600.0, 0.0]


UNLIMITED, NOT_SET = 2**32 - 1, 2**32 - 2  # as Slurm 21.08 writes them


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"job_state": "PENDING", "state_reason": "Dependency"}, "not in line: Dependency"),
        ({"state_reason": "JobHeldUser", "priority": number(0)}, "not in line: JobHeldUser"),
        ({"hold": True, "state_reason": "Priority"}, "not in line: JobHeld"),
        ({"dependency": "afterok:7(unfulfilled)", "state_reason": "Priority"}, "not in line: Dependency"),
        ({"state_reason": "BeginTime"}, "not in line: BeginTime"),
        ({"state_reason": "PartitionDown"}, "not in line: PartitionDown"),
        ({"job_state": ["SUSPENDED"]}, "state 'SUSPENDED': neither running nor waiting"),
        ({"job_state": ["PENDING", "REQUEUED"]}, ""),
        ({"state_reason": "Licenses"}, "waits for Licenses, too: taken to wait for servers alone"),
        ({"time_limit": UNLIMITED}, "no limit: taken as 3600 s, the longest here"),
        ({"time_limit": NOT_SET}, "no limit: taken as 3600 s, the longest here"),
        ({"time_limit": {"set": False, "infinite": True, "number": 0}}, "no limit: taken as 3600 s, the longest here"),
        ({"job_state": ["RUNNING", "COMPLETING"], "start_time": 1_700_000_000}, "is completing: taken to end at once"),
    ],
)  # fmt: skip
def test_what_slurm_says_of_a_job(changed: dict[str, object], word: str, tmp_path: Path) -> None:
    """Versions from 21.08, with plain numbers, to 24.05, with wrapped ones."""
    jobs = [slurm(job_id=2, **changed), slurm(job_id=3)]
    found = read(json.dumps({"jobs": jobs, "last_update": number(1_700_001_800)}).encode(), tmp_path)
    said = {note.id: note.text for note in (*found.left_out, *found.assumed)}
    assert said == ({"2": word} if word else {})
    assert "3" in found.ids
    assert all(limit == 3600 for limit in found.limit)


def test_a_held_array_is_one_note(tmp_path: Path) -> None:
    jobs = [slurm(job_id=5, array_task_string="1-90000%5", state_reason="JobHeldUser"), slurm(job_id=6)]
    found = read(json.dumps({"jobs": jobs}).encode(), tmp_path)
    assert [note.id for note in found.left_out] == ["5_[1-90000]"]


def test_columns_to_the_right_and_columns_that_touch(tmp_path: Path) -> None:
    """What squeue prints by itself, with several words in names and reasons; and -O, whose full columns touch."""
    right = """\
             JOBID PARTITION     NAME     USER ST       TIME  TIME_LIMIT  NODES  CPUS NODELIST(REASON)
               123      main my job x    annie  R 1-00:00:10  2-00:00:00      2    64 n[01-02]
       124_[1-2%5]      main  sim run      bob PD       0:00     1:00:00      1     4 (ReqNodeNotAvail, UnavailableNodes:n[1-2])
             125+0      main  verylon   bobbyb PD       0:00   UNLIMITED      1     4 (Priority)
             125+1      main  verylon   bobbyb PD       0:00       30:00      1     2 (Priority)
"""  # noqa: E501
    found = read(right.encode(), tmp_path)
    assert found.ids == ("123", "124_1", "124_2", "125")
    assert found.elapsed[0] == 86410
    assert found.limit.tolist() == [172800, 3600, 3600, 1800]
    assert found.demand["servers"].tolist() == [64, 4, 4, 6]
    assert found.labels["user"].tolist() == ["annie", "bob", "bob", "bobbyb"]
    assert found.hosts == (("n01", "n02"),)
    widths = [
        ("JOBID", "77"), ("PARTITION", "a_very_long_partition"), ("STATE", "RUNNING"), ("CPUS", "16"),
        ("TIME", "10:00"), ("TIME_LIMIT", "1:00:00"), ("USER", "somebody_of_a_long_name"), ("REASON", "None"),
    ]  # fmt: skip
    touching = "\n".join("".join(pair[row][:20].ljust(20) for pair in widths) for row in (0, 1))
    found = read(touching.encode(), tmp_path)
    assert found.labels["queue"].tolist() == ["a_very_long_partitio"]
    assert found.labels["user"].tolist() == ["somebody_of_a_long_n"]
    assert (found.demand["servers"].tolist(), found.elapsed.tolist(), found.limit.tolist()) == ([16], [600], [3600])


def test_squeue_as_text(tmp_path: Path) -> None:
    """As -o prints it with |, and as -O does, below the names; arrays, components, words for nothing."""
    rows = """JOBID|STATE|CPUS|TIME|TIME_LIMIT|SUBMIT_TIME|PRIORITY|REASON
5|RUNNING|8|1-00:00:10|2-00:00:00|2024-03-01T12:00:00|10|None
6_[1-2]|PENDING|1|0:00|30:00|2024-03-01T12:00:00|10|Priority
7+0|PENDING|2|0:00|1:00:00|2024-03-01T12:00:00|11|Priority
7+1|PENDING|2|0:00|1:00:00|2024-03-01T12:00:00|11|Priority
8|PENDING|many|0:00|1:00:00|2024-03-01T12:00:00|11|Priority
9|PENDING|1|0:00
"""
    found = read(rows.encode(), tmp_path)
    assert found.ids == ("5", "7", "6_1", "6_2")
    assert found.elapsed[0] == 86410
    assert found.limit.tolist() == [172800, 3600, 1800, 1800]
    assert found.demand["servers"].tolist() == [8, 4, 1, 1]
    assert notes(found) == {"8": "cpu 'many': cannot be read", "line 7": "has 4 fields, the header 8"}
    aligned = "JOBID   STATE     CPUS  TIME_LIMIT  NAME\n12      PENDING   4     1:00:00     my long name\n"
    assert read(aligned.encode(), tmp_path).limit.tolist() == [3600]


def test_tables(tmp_path: Path) -> None:
    """CSV, JSON and Parquet; without a state, a start says that a job runs."""
    rows = [("a", 2, 100.0, 600, 50.0), ("b", 3, None, 60, 70.0), ("c", 1, None, 60, 60.0)]
    names = ("id", "need", "start", "limit", "submit")
    text = "\n".join([",".join(names), *(",".join("" if x is None else str(x) for x in row) for row in rows)])
    objects = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "p")
    for data in (text.encode(), objects.encode(), (tmp_path / "p").read_bytes()):
        found = read(data, tmp_path, now=150.0)
        assert found.ids == ("a", "c", "b")
        assert found.elapsed.tolist() == [50, 0, 0]


def workload(name: str, *conditions: str, **spec: object) -> dict[str, object]:
    """As Kueue lists it."""
    pods = {"count": 2, "template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1500m"}}}]}}}
    when = [{"type": one, "status": "True", "lastTransitionTime": "2024-03-01T12:00:00Z"} for one in conditions]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "metadata": {"name": name, "namespace": "team", "creationTimestamp": "2024-03-01T11:00:00Z"},
        "spec": {"podSets": [pods], "maximumExecutionTimeSeconds": 3600} | spec,
        "status": {"conditions": when},
    }


def test_kueue(tmp_path: Path) -> None:
    items = [
        workload("runs", "QuotaReserved", "Admitted"),
        workload("waits"),
        workload("first", priority=9),
        workload("done", "Admitted", "Finished"),
        workload("off", active=False),
        {"metadata": {}},
    ]
    found = read(json.dumps({"items": items}).encode(), tmp_path, {"cpu": 16}, now=1709294400.0 + 60)
    assert found.ids == ("team/runs", "team/first", "team/waits")
    assert found.demand["cpu"].tolist() == [3, 3, 3]
    assert found.elapsed[0] == 60
    assert notes(found)["team/done"] == "has ended (finished)"
    assert notes(found)["team/off"] == "not in line: inactive"


def test_clocks_and_limits_that_cannot_be(tmp_path: Path) -> None:
    rows = "id,state,need,elapsed,limit\n1,R,1,-5,100\n2,R,1,200,100\n3,R,1,,100\n4,PD,1,,-3\n5,PD,1,,1e300\n"
    found = read(rows.encode(), tmp_path)
    said = {note.id: note.text for note in found.assumed}
    assert said == {
        "1": "elapsed -5 s, its clock is ahead: taken as 0",
        "2": "has run 200 s of 100: taken to end at once",
        "3": "elapsed time not known: taken as 0",
        "4": "limit -3: taken as 100 s, the longest here",
        "5": "limit 1e+300: taken as 100 s, the longest here",
    }
    assert found.elapsed.tolist() == [0, 99, 0, 0, 0]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (DOCUMENT[:-40], TraceError, "not a whole JSON document"),
        (b'{"jobs": 5}', TraceError, "no list of jobs"),
        (b"hello\n", TraceError, "not a listing of jobs"),
        (b"", TraceError, "is empty"),
        (b"id,state\n1,R\n", TraceError, "no column for what a job needs"),
        (b"state,need\nR,1\n", TraceError, "no column for the job's id"),
        (b"id,need,state\n1,2,PD\n", TraceError, "no job has a time limit"),
        (b"id,need,state,limit\n1,40,R,9\n2,40,R,9\n", UsageError, "running jobs hold 80 servers"),
        (b",,\n,,\n", TraceError, "fields are all empty"),
        (b'{"kind": "Pod", "metadata": {}}', TraceError, "an object in JSON, but neither what squeue --json nor"),
    ],
)
def test_damaged(data: bytes, error: type[LoynesError], words: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=words):
        read(data, tmp_path)


@pytest.mark.parametrize("data", [b"[]", b'{"jobs": []}', b'{"apiVersion": "v1", "items": []}', b"id,need,limit\n"])
def test_nobody_is_there(data: bytes, tmp_path: Path) -> None:
    """An empty cluster is one, too: it can be asked about one more job."""
    assert read(data, tmp_path, default_limit=60.0).ids == ()


LONG = "9" * 5000  # more digits than Python reads as one number


def test_endless_numbers_and_lists(tmp_path: Path) -> None:
    """Of tasks, and of nodes, of which a short text can name more than memory holds."""
    jobs = [
        slurm(job_id=1, array_task_string=f"1-{LONG}"),
        slurm(job_id=2, job_state=["RUNNING"], nodes=f"n[1-{LONG}]"),
        slurm(job_id=3, job_state=["RUNNING"], nodes=f"n[{'0' * 90_000}1-90000]"),
        slurm(job_id=4, job_state=["RUNNING"], nodes=f"n[{'1-99999,' * 3000}1]"),
    ]
    found = read(json.dumps({"jobs": jobs}).encode(), tmp_path, now=1_700_001_800.0)
    assert found.ids == ("2", "3", "4", "1")
    assert found.hosts == ((), (), ())
    assert "taken as one task" in found.assumed[0].text


@pytest.mark.parametrize(
    "data",
    [
        b"id,need,state,limit\n" + b"1_[1-90],1,PD,9\n" * 12,
        json.dumps({"jobs": [slurm(array_task_string="1-90")] * 12}).encode(),
    ],
)
def test_more_jobs_than_memory_holds(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_JOBS", 1000)
    with pytest.raises(TraceError, match="more than 1000 jobs, each task of an array counted"):
        read(data, tmp_path)


BYTES = [b"-1", b"nan", b"inf", b"1e308", b'"', b"[", b"{}", b"null", b"\xff", b"\0", b",", b"9" * 30, b"\n", b"|"]
VALUES = [None, True, -1, 0, 1e308, float("nan"), float("-inf"), 10**400, "", "x", LONG, f"1-{LONG}", f"n[1-{LONG}]",
          [], {}, [[]], [None], number(-5), {"set": "yes", "number": []}, "1:2:3:4", "2024-13-45T99:99:99", "cpu=1e400",
          "0001-01-01T00:00:00", "1e30Gi", "RUNNING", ["RUNNING", "PENDING"], 10**30, "\u202e"]  # fmt: skip


def places_in(value: object) -> list[tuple[object, object]]:
    """Containers and keys of all values within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in inner for place in [(value, key), *places_in(one)]]


def with_other_values(document: object, chance: random.Random) -> bytes:
    """A document in which values are gone, others, or there twice."""
    changed = copy.deepcopy(document)
    for _ in range(chance.randint(1, 4)):
        within, key = chance.choice(places_in(changed) or [({0: 0}, 0)])
        what = chance.random()
        if what < 0.1:
            del within[key]  # type: ignore[attr-defined]
        elif what < 0.2 and isinstance(within, list):
            within.append(within[key])  # type: ignore[call-overload]
        else:
            within[key] = copy.deepcopy(chance.choice(VALUES))  # type: ignore[index]
    return json.dumps(changed).encode()


def with_other_bytes(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found))
        found[at : at + chance.choice((0, 1, 1, 5, 40))] = chance.choice(BYTES)
    return bytes(found)


def test_accidents(tmp_path: Path) -> None:
    """Whatever happens to a listing, it is read, or refused in words: bytes in the first half, values in the second."""
    chance = random.Random(5)
    texts = [DOCUMENT, b"JOBID STATE CPUS TIME TIME_LIMIT\n1 R 4 0:10 1:00\n2_[1-3] PD 2 0:00 UNLIMITED\n",
             b"id,state,need,elapsed,limit,submit\n1,R,1,5,100,3\n2,PD,1,,100,4\n3,PD,2,,1e400,nan\n"]  # fmt: skip
    placed = slurm(job_id=3, job_state=["RUNNING"], nodes="n[01-03,7]", tres_alloc_str="cpu=4,mem=2G,gres/gpu=1")
    documents = [
        {"jobs": [*JOBS, placed], "last_update": number(1_700_001_800)},
        {"items": [workload("runs", "Admitted"), workload("waits"), workload("first", priority=9)]},
        [
            {"id": "a", "need": 2, "start": 100, "limit": 60},
            {"id": "b_[1-3%2]", "need": 3, "limit": "1:00", "st": "PD"},
        ],
    ]
    taken = 0
    for i in range(2000):
        if i < 1000:
            data = with_other_bytes(chance.choice(texts), chance)
        else:
            data = with_other_values(chance.choice(documents), chance)
            data = {0: gzip.compress(data), 1: b"\xef\xbb\xbf" + data.replace(b", ", b",\r\n")}.get(i % 10, data)
        try:
            found = read(
                data, tmp_path, chance.choice([SERVERS, {"cpu": 64}, {"cpu": 64, "gpu": 8}]), now=1_700_001_800.0
            )
        except LoynesError:
            continue
        taken += 1
        assert np.all(found.limit > 0)
        assert np.all((found.elapsed >= 0) & (found.elapsed < found.limit))
        assert all(units.min(initial=0) >= 0 for units in found.demand.values())
    assert taken > 1000


def test_the_docs_list_every_format() -> None:
    page = (Path(__file__).parents[2] / "docs" / "eta.md").read_text(encoding="utf-8")
    assert "\n".join(markdown_table()) in page
