"""Readers of job logs: what they read, and that every line they do not keep is counted under its reason."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loynes
from loynes.errors import LoynesError, TraceError, UsageError
from loynes.traces import gather, text
from loynes.traces.ledger import MALFORMED
from loynes.traces.readers import sacct, swf
from loynes.traces.trace import OUT_OF_ORDER, TOO_LARGE, Trace
from trace_files import csv_text, damaged, drawn, sacct_text, swf_text


def read(tmp_path: Path, data: bytes | str, name: str = "log.swf", **options: Any) -> Trace:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    trace = loynes.read_trace(path, **options)
    assert trace.jobs + sum(trace.skipped.values()) == trace.records
    assert np.all(np.diff(trace.submit) >= 0)
    assert trace.submit[0] == 0
    assert np.all(trace.service > 0)
    assert np.all(trace.need >= 1)
    return trace


def line(**fields: object) -> str:
    """An SWF line: a job of 2 processors for 10 seconds, submitted at 5, but for the fields given."""
    names = (
        "job",
        "submit",
        "wait",
        "run",
        "allocated",
        "cpu",
        "memory",
        "requested",
        "time",
        "asked_memory",
        "status",
    )
    values: dict[str, object] = dict.fromkeys(names, -1) | {"job": 1, "submit": 5, "wait": 3, "run": 10, "allocated": 2}
    return " ".join(str(value) for value in (values | fields).values()) + " -1" * 7 + "\n"


SWF_RULES = {
    "part of a job": ({"status": 2}, swf.PART, None),
    "last part": ({"status": 4}, swf.PART, None),
    "cancelled": ({"status": 5, "run": 0}, swf.CANCELLED, None),
    "cancelled, nothing known": ({"status": 5, "run": -1, "allocated": -1}, swf.CANCELLED, None),
    "no run time": ({"run": -1}, gather.SERVICE_MISSING, None),
    "zero run time": ({"run": 0}, gather.SERVICE_ZERO, None),
    "negative run time": ({"run": -20}, gather.SERVICE_NEGATIVE, None),
    "endless run time": ({"run": "1e13"}, gather.OUT_OF_RANGE, None),
    "no submission": ({"submit": -1}, gather.SUBMIT_MISSING, None),
    "negative submission": ({"submit": -60}, gather.SUBMIT_NEGATIVE, None),
    "no processors": ({"allocated": -1}, gather.NEED_MISSING, None),
    "no processors, none requested": ({"allocated": 0, "requested": 0}, gather.NEED_MISSING, None),
    "negative processors": ({"allocated": -4}, gather.NEED_BELOW_1, None),
    "half a processor": ({"allocated": "1.5"}, gather.NEED_FRACTION, None),
    "too many processors": ({"allocated": 2**40}, gather.OUT_OF_RANGE, None),
    "a word": ({"run": "ten"}, MALFORMED, None),
    "an infinity": ({"run": "inf"}, MALFORMED, None),
    "not a number": ({"submit": "nan"}, MALFORMED, None),
    "requested instead": ({"allocated": -1, "requested": 4}, None, swf.REQUESTED_INSTEAD),
    "negative wait": ({"wait": -3}, None, gather.WAIT_IMPOSSIBLE),
    "cancelled while it ran": ({"status": 5}, None, None),
    "no wait": ({"wait": -1}, None, None),
    "fractions of seconds": ({"submit": "5.25", "run": "1.5e1"}, None, None),
}


@pytest.mark.parametrize("rule", SWF_RULES)
def test_every_rule_of_swf(rule: str, tmp_path: Path) -> None:
    fields, skipped, repaired = SWF_RULES[rule]
    trace = read(tmp_path, line() + line(**fields) + line(submit=9))
    assert trace.skipped == ({skipped: 1} if skipped else {})
    assert trace.repaired == ({repaired: 1} if repaired else {})
    assert trace.jobs == (2 if skipped else 3)


DAMAGE = (MALFORMED, gather.SERVICE_NEGATIVE, gather.SUBMIT_NEGATIVE, gather.NEED_BELOW_1, gather.NEED_FRACTION,
          gather.OUT_OF_RANGE)  # fmt: skip


@pytest.mark.parametrize("rule", SWF_RULES)
def test_strict_refuses_what_is_damaged_and_nothing_else(rule: str, tmp_path: Path) -> None:
    fields, skipped, _ = SWF_RULES[rule]
    data = line() + line(**fields) + line(submit=9)
    if skipped not in DAMAGE:
        read(tmp_path, data, strict=True)
        return
    with pytest.raises(TraceError, match=r"log\.swf: line 2: .*; expected ") as caught:
        read(tmp_path, data, strict=True)
    assert "\n" not in str(caught.value)


def test_swf_values_header_and_labels(tmp_path: Path) -> None:
    head = "; Version: 2.2\n;MaxNodes: 4\n;  MaxProcs:   64\n; UnixStartTime: 1000\n; Note: MaxProcs: 7\n\n"
    trace = read(tmp_path, head + line(run="7", status=1) + "\t" + line(submit=12, allocated=8).strip() + "\r\n; end\n")
    assert (trace.servers, trace.origin, trace.format) == (64, 1005.0, "swf")
    np.testing.assert_array_equal(trace.submit, [0, 7])
    np.testing.assert_array_equal(trace.need, [2, 8])
    np.testing.assert_array_equal(trace.service, [7, 10])
    np.testing.assert_array_equal(trace.wait, [3, 3])
    assert set(trace.labels) == {"requested_time", "user", "group", "queue", "partition"}
    assert read(tmp_path, "; MaxProcs: many\n; MaxNodes: -1\n" + line()).repaired == {swf.HEADER_UNREAD: 1}


def test_lines_of_the_wrong_length_are_named(tmp_path: Path) -> None:
    trace = read(tmp_path, line() + "1 2 3\n" + line().strip() + " " + line() + "; a comment\n" + line()[:20])
    assert trace.skipped == {MALFORMED: 3}
    assert trace.examples[0] == "line 2: 3 fields; expected 18 numbers"
    assert trace.examples[1].startswith("line 3: 36 fields")
    assert trace.examples[2].startswith("line 5: ")


def test_unsorted_submissions_are_sorted_and_counted(tmp_path: Path) -> None:
    trace = read(tmp_path, line(submit=50) + line(submit=9, run=1) + line(submit=50, run=2) + line(submit=10, run=3))
    assert trace.repaired == {OUT_OF_ORDER: 2}
    np.testing.assert_array_equal(trace.service, [1, 3, 10, 2])  # equal submissions stay in the log's order


def test_pieces_of_a_long_file_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = swf_text(drawn(200), "; MaxProcs: 16\n") + b"damaged\n" + line().encode()
    whole = read(tmp_path, data)
    monkeypatch.setattr(swf, "PIECE", 100)
    parts = read(tmp_path, data)
    assert (parts.skipped, parts.repaired, parts.examples) == (whole.skipped, whole.repaired, whole.examples)
    assert parts.hash == whole.hash


def test_the_same_jobs_in_every_format(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    lines = drawn(100, blemishes=0.0)
    names = {"submit": 1, "need": 4, "service": 3, "wait": 2}
    table = {name: lines[:, place] for name, place in names.items()}
    pq.write_table(pa.table(table | {"queue": [f"q{q}" for q in lines[:, 14]]}), tmp_path / "log.parquet")
    traces = [
        read(tmp_path, swf_text(lines)),
        read(tmp_path, gzip.compress(swf_text(lines)), "log.swf.gz"),
        read(tmp_path, swf_text(lines), "log"),
        read(tmp_path, sacct_text(lines), "log.txt"),
        read(tmp_path, csv_text(lines), "log.csv"),
        loynes.read_trace(tmp_path / "log.parquet"),
        loynes.read_trace(table),
        loynes.read_trace(pa.table(table)),
        loynes.read_trace(np.rec.fromarrays(list(table.values()), names=list(table))),
    ]
    for trace in traces:
        for name in ("submit", "need", "service", "wait"):
            np.testing.assert_array_equal(getattr(trace, name), getattr(traces[0], name), err_msg=trace.format)
        assert trace.hash == traces[0].hash
    assert set(traces[3].skipped) == {sacct.STEP}
    assert set(traces[4].labels) == set(traces[5].labels) == {"queue"}


def test_sacct_rules(tmp_path: Path) -> None:
    head = "JobID|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS|State|Partition|User\n"
    at = "2024-03-01T00:00:"
    rows = (
        f"1|{at}00|{at}10|{at}40|00:00:30|4|4|COMPLETED|batch|ann",
        f"1.batch|{at}10|{at}10|{at}40|00:00:30|4||COMPLETED||",
        f"1.extern|{at}10|{at}10|{at}40|00:00:30|4||COMPLETED||",
        f"2_1|{at}01|{at}10|{at}40|1-02:03:04|4|4|FAILED|batch|ann",
        f"2_[2-9%3]|{at}01|Unknown|Unknown|00:00:00|0|4|PENDING|batch|ann",
        f"3|{at}02|{at}10|Unknown|00:10:00|4|4|RUNNING|batch|bob",
        f"4|{at}03|Unknown|{at}10|00:00:00|0|4|CANCELLED by 1000|batch|bob",
        f"5|{at}04|{at}10|{at}40|00:00:30|0|2|CANCELLED by 1000|batch|bob",
        f"6|{at}05|{at}10|{at}10|00:00:00|4|4|COMPLETED|batch|bob",
        f"7|{at}06|None|{at}10|00:00:00|0|4|NODE_FAIL|batch|bob",
        f"8|yesterday|{at}10|{at}40|00:00:30|4|4|COMPLETED|batch|bob",
        f"9|{at}07|{at}10|{at}40|00:00:30|4|4|COMPLETED",
        f"10|{at}08|{at}10|{at}40|00:00:30|1K|4|COMPLETED|batch|bob",
    )
    trace = read(tmp_path, head + "\n".join(rows) + "\n", "jobs")
    assert trace.format == "sacct"
    assert trace.skipped == {
        sacct.STEP: 2, sacct.UNFINISHED: 2, sacct.CANCELLED: 1, sacct.NEVER_STARTED: 1, MALFORMED: 3,
        gather.SERVICE_ZERO: 1,
    }  # fmt: skip
    assert trace.repaired == {sacct.REQUESTED_INSTEAD: 1}
    np.testing.assert_array_equal(trace.service, [30, 93784, 30])
    np.testing.assert_array_equal(trace.wait, [10, 9, 6])
    np.testing.assert_array_equal(trace.need, [4, 4, 2])
    assert list(trace.labels["state"]) == ["COMPLETED", "FAILED", "CANCELLED"]
    assert list(trace.labels["user"]) == ["ann", "ann", "bob"]
    assert any("'yesterday'" in example for example in trace.examples)


def test_sacct_stamps_with_and_without_offsets(tmp_path: Path) -> None:
    head = "JobID|Submit|Elapsed|NCPUS|\n"  # --parsable: a separator at the end
    rows = ("1|2024-03-01T12:00:00+0100|10|1|", "2|2024-03-01T06:00:30-05:00|10|1|", "3|2024-03-01T11:01:00Z|10|1|")
    trace = read(tmp_path, head + "\n".join(rows), "jobs")
    np.testing.assert_array_equal(trace.submit, [0, 30, 60])
    assert trace.repaired == {}
    trace = read(tmp_path, head + "\n".join(rows) + "\n4|2024-03-01T11:01:30|10|1|\n5|1709290920|10|1|", "jobs")
    np.testing.assert_array_equal(trace.submit, [0, 30, 60, 90, 120])
    assert trace.repaired == {sacct.MIXED: 1}


def test_sacct_columns(tmp_path: Path) -> None:
    data = "JobID|Submit|Start|End|NNodes|NCPUS|Comment\n1|100|110|130|2|64|x\n"
    assert read(tmp_path, data, "jobs").need[0] == 64
    trace = read(tmp_path, data, "jobs", columns={"need": "NNodes", "remark": "comment"})
    assert (trace.need[0], trace.service[0], trace.wait[0]) == (2, 20, 10)
    assert list(trace.labels["remark"]) == ["x"]
    for header in ("JobID|Start|End|NCPUS", "JobID|Submit|Start|NCPUS", "JobID|Submit|Elapsed"):
        with pytest.raises(TraceError, match="line 1: no column"):
            read(tmp_path, header + "\n1|2|3|4\n", "jobs")


def test_csv_columns_quotes_and_words(tmp_path: Path) -> None:
    data = 'when;how_many;"took";user\n2024-03-01T00:00:05;2;00:01:00;"a;b"\n2024-03-01 00:00:00;1;30;c\n;1;3;d\n'
    data += "9;1;NA;e\n9;1;x;f\n9;1;2\n"
    names = {"submit": "when", "need": "how_many", "service": "took"}
    trace = read(tmp_path, data, "log.csv", columns=names)
    np.testing.assert_array_equal(trace.service, [30, 60])
    assert list(trace.labels["user"]) == ["c", "a;b"]
    assert trace.skipped == {MALFORMED: 2, gather.SUBMIT_MISSING: 1, gather.SERVICE_MISSING: 1}
    with pytest.raises(TraceError, match="no column 'submit'; there are: 'when'"):
        read(tmp_path, data, "log.csv")
    with pytest.raises(TraceError, match="no column 'then' for submit"):
        read(tmp_path, data, "log.csv", columns=names | {"submit": "then"})


def test_columns_in_memory() -> None:
    days = np.array(["2024-03-02", "2024-03-01", "NaT"], dtype="datetime64[D]")
    held = np.array([60, 90, 1], dtype="timedelta64[s]")
    trace = loynes.read_trace({"submit": days, "need": [1, 2, 3], "service": held, "team": ["a", None, "b"]})
    np.testing.assert_array_equal(trace.submit, [0, 86400])
    np.testing.assert_array_equal(trace.service, [90, 60])
    assert trace.skipped == {gather.SUBMIT_MISSING: 1}
    with pytest.raises(TraceError, match=r"row 1: need 0\.5; expected a whole number"):
        loynes.read_trace({"submit": [1], "need": [0.5], "service": [1]}, strict=True)
    with pytest.raises(TraceError, match="same length"):
        loynes.read_trace({"submit": [1, 2], "need": [1], "service": [1, 2]})
    with pytest.raises(UsageError, match="not int"):
        loynes.read_trace(7)
    assert loynes.read_trace(trace) is trace


def test_anything_like_a_data_frame() -> None:
    class Frame:
        """Columns by name, as pandas and polars have them; pandas writes <NA> and NaT for nothing."""

        columns = ("submit", "need", "service")

        def __getitem__(self, name: str) -> list[object]:
            return {"submit": ["2024-03-01 00:00:00+00:00", "NaT"], "need": [2, 2], "service": [9, "<NA>"]}[name]

    trace = loynes.read_trace(Frame())
    assert (trace.jobs, trace.skipped) == (1, {gather.SUBMIT_MISSING: 1})


def test_jobs_larger_than_the_machine(tmp_path: Path) -> None:
    trace = read(tmp_path, line(allocated=99) + line(submit=8) + line(submit=9), servers=64)
    assert trace.skipped == {TOO_LARGE: 1}
    np.testing.assert_array_equal(trace.submit, [0, 1])
    with pytest.raises(TraceError, match="every one of its 2 jobs needs more than 1"):
        loynes.read_trace(trace, servers=1)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("log.swf", b"", "is empty"),
        ("log.swf", b" \n\t\r\n", "is empty"),
        ("log.swf", b"\xef\xbb\xbf", "is empty"),
        ("log.csv", "\u2003\n".encode(), "is empty"),
        ("log.swf", b"; only: comments\n", "not one data line"),
        ("log.csv", b"submit,need,service\n", "not one data line"),
        ("log.swf.gz", b"not gzip", "not those of a gzip file"),
        ("log.swf.gz", gzip.compress(swf_text(drawn()))[:-20], "not a whole gzip file"),
        ("log.swf", b"\x1f\x8b\x08garbage", "not a whole gzip file"),
        ("log.csv", "submit,need".encode("utf-16"), "UTF-16"),
        ("log.parquet", b"PAR1 and nothing else PAR1", "not a whole Parquet file"),
        ("log", b"\x00\x01\x02 garbage", "format not recognised"),
        ("log.swf", bytes(range(256)) * 4, "holds no job that ran"),
        ("log.swf", line(run=-1).encode(), "run time missing 1"),
        ("log.csv", bytes(range(256)) * 4, "no column 'submit'"),
    ],
)
def test_hopeless_files_are_one_line(name: str, data: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=says) as caught:
        read(tmp_path, data, name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_missing_file_and_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        loynes.read_trace(tmp_path / "none.swf")
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        loynes.read_trace(tmp_path)
    with pytest.raises(UsageError, match="format 'xls'"):
        read(tmp_path, line(), format="xls")
    with pytest.raises(UsageError, match="no column names"):
        read(tmp_path, line(), columns={"need": "x"})
    with pytest.raises(UsageError, match="servers 0"):
        read(tmp_path, line(), servers=0)


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    data = b"submit,need,service,user\n1,1,1,J\xf6rg\n2,1,\xb2,x\n3,1,1,y\n"
    trace = read(tmp_path, data, "log.csv")
    assert trace.repaired == {text.NOT_UTF_8: 2}
    assert trace.skipped == {MALFORMED: 1}
    assert list(trace.labels["user"]) == ["J\N{REPLACEMENT CHARACTER}rg", "y"]


LINES = drawn(12)
WHOLE = {"swf": swf_text(LINES), "sacct": sacct_text(LINES), "csv": csv_text(LINES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("form", WHOLE)
@settings(max_examples=150)
@given(data=st.data())
def test_no_accident_is_a_traceback_or_goes_unreported(form: str, data: st.DataObject, folder: Path) -> None:
    content = data.draw(damaged(WHOLE[form]) | st.binary(max_size=300))
    path = folder / f"log.{form}"
    path.write_bytes(content)
    trace = read_or_refuse(path, form, strict=data.draw(st.booleans()))
    if trace is not None:
        assert trace.records == data_lines(form, content)


def read_or_refuse(path: Path, form: str, strict: bool = False) -> Trace | None:
    """A trace that accounts for all its lines, or one line that says why there is none."""
    complaint, trace = "", None
    try:
        trace = loynes.read_trace(path, format=form, strict=strict)
    except LoynesError as error:
        complaint = str(error)
    assert "\n" not in complaint
    if trace is not None:
        assert trace.jobs + sum(trace.skipped.values()) == trace.records
        assert all("\n" not in example for example in trace.examples)
        assert not (strict and trace.examples)
    return trace


def data_lines(form: str, content: bytes) -> int:
    content = content.removeprefix(b"\xef\xbb\xbf")
    if form == "swf":
        return sum(bool(one.strip()) and not one.strip().startswith(b";") for one in content.split(b"\n"))
    return sum(bool(one.strip()) for one in content.decode("utf-8", "replace").split("\n")) - 1


@settings(max_examples=40)
@given(data=st.data())
def test_damaged_parquet(data: st.DataObject, folder: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    path = folder / "log.parquet"
    pq.write_table(pa.table({"submit": LINES[:, 1], "need": LINES[:, 7], "service": LINES[:, 3]}), path)
    whole = path.read_bytes()
    path.write_bytes(data.draw(damaged(whole) | st.binary(max_size=300)))
    read_or_refuse(path, "parquet")


def test_a_trace_tells_of_itself(tmp_path: Path) -> None:
    trace = read(tmp_path, line() + "x\n" + line(submit=9))
    assert "skipped: malformed line" in str(trace)
    assert "2 jobs of 3 lines" in repr(trace)
    assert trace.rate == 0.25
    assert trace.work == 40
