"""Every reader on records as its format's documentation has them, and on the same records after accidents."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import log_records as logs
import loynes
from loynes.errors import LoynesError, TraceError, UsageError
from loynes.traces import cells, jobs, trace
from loynes.traces.ledger import MALFORMED
from loynes.traces.readers import alibaba, lsf, pbs, philly, sacct, sge, slurm_events, swf
from loynes.traces.readers.register import readers
from loynes.traces.trace import NOT_SELECTED, Trace

ACCIDENTS = 5_000


def read(tmp_path: Path, data: bytes, name: str = "log", **options: Any) -> Trace:
    path = tmp_path / name
    path.write_bytes(data)
    found = loynes.read_trace(path, **options)
    assert found.jobs + sum(found.skipped.values()) == found.records
    for column in (found.need, found.service, found.wait, *found.labels.values(), *found.demand.values()):
        assert len(column) == found.jobs
    return found


def same(found: Trace, **columns: list[float]) -> None:
    for name, expected in columns.items():
        values = found.demand[name.removeprefix("of_")] if name.startswith("of_") else getattr(found, name)
        np.testing.assert_array_equal(values, expected, err_msg=name)


def test_every_reader_has_records() -> None:
    assert set(logs.RECORDS) == set(readers()) - {"parquet"}


@pytest.mark.parametrize("form", logs.RECORDS)
def test_contents_tell_the_format(form: str, tmp_path: Path) -> None:
    data, options = logs.RECORDS[form]
    plain = read(tmp_path, data, **options)
    assert plain.format == form
    for name, content in (("log.gz", gzip.compress(data)), ("log.txt", data.replace(b"\n", b"\r\n"))):
        other = read(tmp_path, content, name, **options)
        assert (other.format, other.hash, other.skipped) == (form, plain.hash, plain.skipped)
        for label, words in plain.labels.items():
            np.testing.assert_array_equal(other.labels[label], words)
    assert read(tmp_path, data, format=form, **options).hash == plain.hash


def test_sacct_resources_requeues_and_components(tmp_path: Path) -> None:
    found = read(tmp_path, logs.SACCT, unit="cpus")
    same(found, submit=[0, 20, 30, 60, 300, 600], need=[4, 1, 66, 8, 8, 32], service=[3600, 10, 150, 60, 120, 60])
    same(found, wait=[60, 10, 120, 60, 60, 60], of_gpu=[8, 0, 1, 0, 0, 0], of_node=[1, 1, 3, 1, 1, 2])
    same(found, of_mem=[16384, 1536, 12288, 1024, 1024, 500], requested=[7200, np.nan, 3600, 3600, 3600, 60])
    assert found.skipped == {sacct.STEP: 1, jobs.TOLD_TWICE: 1, sacct.COMPONENT: 1}
    assert found.repaired == {jobs.ELIGIBLE: 2, trace.OUT_OF_ORDER: 4}
    assert list(found.labels["queue"]) == list(found.labels["partition"])
    assert found.unit == "cpus"
    last = read(tmp_path, logs.SACCT, unit="cpus", duplicates="last")
    assert last.skipped == found.skipped | {jobs.EARLIER_RUN: 1}
    gpus = read(tmp_path, logs.SACCT, unit="gpus")
    same(gpus, need=[8, 1], service=[3600, 150])
    assert gpus.skipped[jobs.NEEDS_NONE] == 4
    with pytest.raises(UsageError, match=r"tells of cpus, nodes, gpus, mem; say which .* --unit cpus"):
        read(tmp_path, logs.SACCT)
    with pytest.raises(UsageError, match=r"unit 'fpgas': .* does not tell of it; it tells of: cpus, nodes, gpus, mem"):
        read(tmp_path, logs.SACCT, unit="fpgas")


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("billing=4,cpu=4,gres/gpu:h200=8,gres/gpu=8,mem=16G,node=1", {"cpu": 4, "gpu": 8, "mem": 16384, "node": 1}),
        ("cpu=4,gres/gpu:a100=2,gres/gpu:v100=1", {"cpu": 4, "gpu": 3}),
        ("cpu=2,mem=1024K,license/x=3,energy=7", {"cpu": 2, "mem": 1, "license/x": 3}),
        ("cpu=1.2K", {"cpu": 1200}),
        ("", {}),
    ],
)
def test_trackable_resources(text: str, units: dict[str, float]) -> None:
    assert sacct.tres_of(text) == units


@pytest.mark.parametrize("text", ["cpu", "cpu=", "cpu=-1", "cpu=1_0", "mem=lots", "cpu=nan", "cpu=1e300", "=4,cpu"])
def test_resources_that_are_none(text: str, tmp_path: Path) -> None:
    line = f"JobID|Submit|Elapsed|AllocTRES\n1|5|10|cpu=1\n2|6|10|{text}\n"
    found = read(tmp_path, line.encode())
    assert (found.jobs, found.skipped) == (1, {MALFORMED: 1})


def test_memory_of_old_sacct_is_of_a_node_or_a_processor(tmp_path: Path) -> None:
    lines = b"JobID|Submit|Elapsed|NCPUS|NNodes|ReqMem\n1|5|9|8|2|4Gn\n2|6|9|8|2|500Mc\n3|7|9|8|2|16G\n4|8|9|8|2|?\n"
    same(read(tmp_path, lines), of_mem=[8192, 4000, 16384, 0], of_cpu=[8] * 4, of_node=[2] * 4, need=[8] * 4)


def test_open_xdmod_exports_without_a_header(tmp_path: Path) -> None:
    found = read(tmp_path, logs.XDMOD)
    same(found, submit=[0, 60], need=[32, 8], service=[600, 60], wait=[300, 60], of_mem=[374000, 8192])
    assert (found.format, found.records, list(found.labels["account"])) == ("sacct", 2, ["cse", "cse"])


def test_parsable_lines_end_with_a_bar(tmp_path: Path) -> None:
    lines = b"JobID|Submit|Elapsed|NCPUS|\n1|5|10|1|\n2|6|10|1\n3|7|10|1|x\n4|8|\n\xc3\xb6|9|10|2|\n"
    found = read(tmp_path, lines)
    same(found, submit=[0, 1, 4], need=[1, 1, 2])
    assert found.skipped == {MALFORMED: 2}
    assert [example.split(":")[0] for example in found.examples] == ["line 4", "line 5"]


def test_swf_memory_more_columns_and_semicolons(tmp_path: Path) -> None:
    found = read(tmp_path, logs.SWF)
    same(found, need=[4, 8, 16], of_cpu=[4, 8, 16], of_mem=[4096, 0, 32])
    assert (found.unit, found.servers, found.repaired) == ("cpus", 64, {})
    assert read(tmp_path, logs.SWF, resources=["cpu", "mem"]).repaired == {swf.MEMORY_UNKNOWN: 1}
    wide = logs.SWF.replace(b" -1 -1\n", b" -1 -1 7 8.5 x\n")
    more = read(tmp_path, wide + b"4 9 -1 30 1\n", "log.swf")
    assert (more.hash, more.repaired, more.skipped) == (found.hash, {swf.MORE_FIELDS: 3}, {MALFORMED: 1})
    assert more.examples == ("line 7: 5 fields; expected 21 numbers",)
    lines = logs.SWF.split(b"\n")
    marked = b"\n".join(lines[:3] + [line.replace(b" ", b";") for line in lines[3:]])
    other = read(tmp_path, marked, "log.swf")
    assert (other.hash, other.repaired, other.servers) == (found.hash, {swf.SEMICOLONS: 1}, 64)


def test_pbs(tmp_path: Path) -> None:
    found = read(tmp_path, logs.PBS, unit="cpus")
    same(found, submit=[0, 277, 552], need=[1, 16, 12], service=[5, 100, 14], wait=[24, 13, 6])
    same(found, of_node=[1, 2, 2], of_gpu=[0, 4, 0], of_mem=[10240, 20480, 0], requested=[3600, 3600, 60])
    assert found.skipped == {pbs.NO_END: 2, pbs.WHOLE_ARRAY: 1, jobs.NEVER_STARTED: 1}
    assert found.origin == 1770865912
    assert list(found.labels["account"]) == ["SCSG 0001", "A", ""]
    with pytest.raises(UsageError, match="tells of cpus, nodes, gpus, mem"):
        read(tmp_path, logs.PBS)
    without = logs.PBS.replace(b"ngpus=4", b"ngpus=0").replace(b"ngpus=2", b"ngpus=0")
    assert read(tmp_path, without).unit == "cpus"
    again = logs.PBS + logs.PBS.split(b"\n")[2] + b"\n" + logs.PBS.split(b"\n")[2].replace(b";E;", b";R;") + b"\n"
    assert read(tmp_path, again, unit="cpus").skipped[jobs.TOLD_TWICE] == 2


def test_lsf(tmp_path: Path) -> None:
    found = read(tmp_path, logs.LSF, unit="cpus")
    same(found, submit=[0, 5], need=[1, 32], service=[3, 300], wait=[1, 99], of_node=[1, 2], of_gpu=[0, 4])
    assert found.skipped == {lsf.NOT_FINISHED_JOB: 1, jobs.NEVER_STARTED: 1}
    assert list(found.labels["project"]) == ["default", "physics"]


def test_sge(tmp_path: Path) -> None:
    found = read(tmp_path, logs.SGE)
    same(found, submit=[0, 41], need=[1, 16], service=[100, 300], wait=[42826, 42800], requested=[3600, np.nan])
    assert found.skipped == {sge.TASK: 1, jobs.NEVER_STARTED: 1}
    assert found.demand == {}
    thousandths = logs.SGE
    for time in (b"1254769859", b"1254812685", b"1254812785", b"1254769900", b"1254812700", b"1254813000"):
        thousandths = thousandths.replace(time, time + b"000")
    assert read(tmp_path, thousandths).hash == found.hash


def test_slurm_events(tmp_path: Path) -> None:
    found = read(tmp_path, logs.EVENTS, unit="nodes")
    same(found, submit=[0, 860.5, 889.5], need=[1, 2, 1], service=[84805, 60, 30], of_cpu=[32, 24, 8])
    same(found, of_gpu=[0, 4, 0], of_mem=[512000, 1000000, 0], requested=[259200, 1800, 1800])
    assert found.skipped == {slurm_events.NO_JOB: 1}
    assert list(found.labels["user"]) == ["user001", "user4", "user5"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("30:15", 1815), ("1:00:00", 3600), ("2-12", 216000), ("2-12:30", 217800), ("1-00:00:05", 86405)],
)
def test_limits_as_sbatch_takes_them(text: str, seconds: float, tmp_path: Path) -> None:
    line = f"-dt 1 -e submit_batch_job | -sim-walltime 5 -n 1 -t {text} pseudo.job\n"
    same(read(tmp_path, line.encode(), unit="cpus"), requested=[seconds])


def test_htcondor(tmp_path: Path) -> None:
    found = read(tmp_path, logs.HTCONDOR, unit="cpus")
    same(found, submit=[0, 100], need=[1, 8], service=[40, 130], wait=[10, 60], of_gpu=[0, 2], of_mem=[2048, 0])
    assert found.skipped == {jobs.UNFINISHED: 1, jobs.CANCELLED: 1}
    listed = b"[\n" + b",\n".join(logs.HTCONDOR.strip().split(b"\n")) + b"\n]\n"
    assert read(tmp_path, listed, unit="cpus").hash == found.hash
    with pytest.raises(TraceError, match="not a whole JSON document"):
        read(tmp_path, listed[:-20], unit="cpus")


def test_philly(tmp_path: Path) -> None:
    found = read(tmp_path, logs.PHILLY)
    same(found, submit=[0, 501], need=[8, 3], service=[74 + 20382, 30], wait=[30, 10])
    assert (found.unit, found.skipped, found.repaired) == (
        "gpus", {jobs.NEVER_STARTED: 1}, {philly.SEVERAL_ATTEMPTS: 1}
    )  # fmt: skip


def test_kueue(tmp_path: Path) -> None:
    found = read(tmp_path, logs.KUEUE, unit="pods")
    same(found, need=[2, 3], service=[600, 60], wait=[120, 30], of_cpu_milli=[1000, 7500], of_gpu=[2, 0])
    same(found, of_mem=[2048, 1536])
    assert found.skipped == {jobs.NEVER_STARTED: 1, jobs.UNFINISHED: 1}
    whole = logs.KUEUE.replace(b"2500m", b"2").replace(b"500m", b"1")
    same(read(tmp_path, whole, unit="cpus"), need=[1, 6])


def test_files_of_gpu_clusters(tmp_path: Path) -> None:
    found = read(tmp_path, logs.HELIOS, unit="cpus")
    same(found, need=[64, 4], service=[3600, 30], wait=[60, 0], of_gpu=[8, 0], of_node=[1, 1])
    assert list(found.labels["queue"]) == ["vcA", "vcB"]
    same(read(tmp_path, logs.ACME, unit="gpus"), need=[16], service=[3600], wait=[120])
    found = read(tmp_path, logs.OPENB, unit="gpu_milli")
    same(found, submit=[0, 427061, 9437497], need=[1000, 460, 8000], wait=[0, 0, 3], of_gpu=[1, 1, 8])
    assert found.repaired == {alibaba.STILL_RUNNING: 1}
    typed = read(tmp_path, logs.OPENB, resources=["cpu_milli", "gpu_milli", "mem"])
    same(typed, of_cpu_milli=[12000, 6000, 20000, 88000], of_gpu_milli=[1000, 460, 0, 8000])
    found = read(tmp_path, logs.PAI, unit="cpu_percent")
    same(found, need=[1200, 300], service=[300, 60], of_gpu_percent=[100, 0], of_mem=[60000, 30720])
    assert found.repaired == {alibaba.START_INSTEAD: 2}


def test_names_of_columns_are_known(tmp_path: Path) -> None:
    nodes = read(tmp_path, logs.EAGLE, "eagle.csv", unit="nodes")
    same(nodes, submit=[0, 2662], need=[10, 1], service=[99825, 6], wait=[1, 0], requested=[172800, 259200])
    same(read(tmp_path, logs.EAGLE, "eagle.csv", unit="cpus"), need=[360, 1])
    with pytest.raises(UsageError, match="tells of nodes, cpus, gpus, mem"):
        read(tmp_path, logs.EAGLE, "eagle.csv")
    same(read(tmp_path, logs.EAGLE, "eagle.csv", columns={"need": "gpus_req"}), need=[2])
    cost = read(tmp_path, logs.COST, "jobs.csv", unit="cpus")
    same(cost, need=[20], service=[13], wait=[20], of_mem=[1505], of_node=[20])


def test_start_and_end_give_run_times_and_waits(tmp_path: Path) -> None:
    lines = b"submit,start,end,cores\n2024-03-01 00:00:00,2024-03-01T00:00:30,2024-03-01 00:01:30,2\n5,9,20,1\n"
    found = read(tmp_path, lines, "log.csv")
    same(found, service=[11, 60], wait=[4, 30], need=[1, 2])
    assert found.unit == "cpus"
    same(loynes.read_trace({"submit": [1.0], "start": [2.0], "end": [5.0], "gpus": [4]}), service=[3], need=[4])


def test_selecting_keeps_jobs_together(tmp_path: Path) -> None:
    found = read(tmp_path, logs.SACCT, unit="cpus")
    kept = found.select(found.labels["user"] == "bob", "of others")
    same(kept, submit=[0, 580], need=[1, 32], of_gpu=[0, 0], of_node=[1, 2])
    assert list(kept.labels["state"]) == ["FAILED", "TIMEOUT"]
    assert kept.origin == found.origin + 20
    assert kept.jobs + sum(kept.skipped.values()) == kept.records == found.records
    assert kept.skipped["of others"] == 4
    assert found.select(np.ones(found.jobs, dtype=bool)) is found
    assert found.select(found.need > 4).skipped[NOT_SELECTED] == 2


@pytest.mark.parametrize("form", ["sacct", "pbs", "lsf", "sge", "csv", "helios", "openb", "pai"])
def test_lines_one_by_one_are_read_as_all_at_once(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, options = logs.RECORDS[form]
    plain = read(tmp_path, data, **options)
    # Lines with other letters than ASCII are taken apart one by one: none, some, and all of them.
    word = {"csv": b",a\n", "helios": b",u1,", "openb": b",LS,", "pai": b",ps,"}.get(form, b"ann")
    other = data.replace(word, word[:1] + b"\xc3\xb6" + word[-1:])
    assert other != data
    some = read(tmp_path, other, **options, format=form)
    monkeypatch.setattr(cells, "PIECE", 150)
    pieces = read(tmp_path, other, **options, format=form)
    monkeypatch.setattr(cells, "_LETTERS", 0)
    every = read(tmp_path, other, **options, format=form)
    for found in (some, pieces, every):
        assert (found.hash, found.skipped, found.examples) == (plain.hash, plain.skipped, plain.examples)
        np.testing.assert_array_equal(found.wait, plain.wait)
        for name, units in plain.demand.items():
            np.testing.assert_array_equal(found.demand[name], units)
        for name in some.labels:
            np.testing.assert_array_equal(found.labels[name], some.labels[name])


def test_wrong_wishes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="duplicates 'all': must be one of runs, last"):
        read(tmp_path, logs.SWF, duplicates="all")
    with pytest.raises(UsageError, match=r"resource 'gpu': .* does not tell of it; it tells of: cpu, mem"):
        read(tmp_path, logs.SWF, resources=["gpu"])
    with pytest.raises(UsageError, match="format pbs has no column names"):
        read(tmp_path, logs.PBS, columns={"need": "x"})


@pytest.mark.parametrize("form", logs.RECORDS)
def test_no_accident_is_a_traceback_or_goes_unreported(form: str, tmp_path: Path) -> None:
    whole, options = logs.RECORDS[form]
    rng = random.Random(f"accidents of {form}")
    done = kept = 0
    while done < ACCIDENTS:
        count = rng.choice((1, 2, 5, 20, 60))
        data = whole
        for _ in range(count):
            data = accident(rng, data)
        done += count
        kept += one_line_or_all_lines(form, data, tmp_path, options | {"strict": rng.random() < 0.2})
    assert kept > 20  # many files are still read, and so the accounts are looked at


def one_line_or_all_lines(form: str, data: bytes, folder: Path, options: Mapping[str, Any]) -> bool:
    """Whether there is a trace; if so it accounts for every line, and if not a line says why."""
    path = folder / "log"
    path.write_bytes(data)
    complaint, found = "", None
    try:
        found = loynes.read_trace(path, format=form, **options)
    except LoynesError as error:
        complaint = str(error)
    assert "\n" not in complaint
    if found is None:
        return False
    assert found.jobs + sum(found.skipped.values()) == found.records
    assert not any("\n" in example for example in found.examples)
    assert not (options["strict"] and found.examples)
    assert np.all(np.diff(found.submit) >= 0)
    assert found.submit[0] == 0
    assert np.all((found.service > 0) & (found.need > 0))
    lines = data_lines(form, data)
    assert lines is None or found.records == lines
    return True


def data_lines(form: str, data: bytes) -> int | None:
    """Lines that hold something, but for headers and comments; None where jobs are not lines."""
    if form in ("philly", "kueue", "htcondor"):
        return None
    if form == "swf":
        return sum(bool(one.strip()) and not one.strip().startswith(b";") for one in data.split(b"\n"))
    lines = [one for one in data.decode("utf-8", "replace").split("\n") if one.strip()]
    if form == "sge":
        return sum(not one.startswith("#") for one in lines)
    if form == "slurm-events":
        return sum(not one.lstrip().startswith("#") for one in lines)
    return len(lines) - (form in ("csv", "sacct", "helios", "openb"))


ODD = (
    b"nan", b"-inf", b"1e400", b"1_0", b"-", b"\0", b"\xff\xfe", b"\xc3", b"\n\n", b"\r", b'"', b"'", b"9" * 40, b"1.5",
    b"-7", b"|", b",", b";", b":", b"=", b" ", b"{", b"}", b"]", b"null", b"\xe2\x80\xa8", b"\x1c", b"\x85", b"Unknown",
    b"2024-13-01T00:00:00", b"0001-01-01T00:00:00+1400", b"9999-12-31 23:59:59", b"#", b"+", b"1e308", b"\xd9\xa3",
)  # fmt: skip


def accident(rng: random.Random, data: bytes) -> bytes:
    """What happens to files: bytes are swapped, lines cut, fields lost, numbers grow, things are said twice."""
    at = rng.randrange(len(data) + 1)
    lines = data.split(b"\n")
    line = rng.randrange(len(lines))
    match rng.randrange(10):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + rng.choice(ODD) + data[at:]
        case 2:
            return data[:at] + data[at + rng.randrange(1, 30) :]
        case 3:
            lines[line] = lines[line][: rng.randrange(len(lines[line]) + 1)]
        case 4:
            mark = rng.choice(b"|,:; ").to_bytes()
            fields = lines[line].split(mark)
            del fields[rng.randrange(len(fields))]
            lines[line] = mark.join(fields)
        case 5:
            other = rng.randrange(len(data) + 1)
            low, high = min(at, other), max(at, other)
            return data[:low] + data[high : high + 1] + data[low + 1 : high] + data[low : low + 1] + data[high + 1 :]
        case 6:
            lines.insert(rng.randrange(len(lines) + 1), lines[line])
        case 7:
            lines.insert(line, rng.choice((b"", b" \t", b"\r", "\u2003".encode())))
        case 8:
            places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
            if places:
                place = rng.choice(places)
                return data[:place] + rng.choice((b"9" * 30, b"-", b"0", b"e9", b".")) + data[place:]
        case _:
            return data[:at] if rng.random() < 0.1 else data.replace(b"\n", b"", 1)
    return b"\n".join(lines)
