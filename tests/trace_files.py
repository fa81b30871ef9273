"""Job logs for tests: small synthetic ones, the same jobs in every format, and ways to damage them."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

_PATH = Path(__file__).parents[1] / "examples" / "make_swf.py"
_spec = importlib.util.spec_from_file_location("make_swf", _PATH)
assert _spec is not None
assert _spec.loader is not None
make_swf = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_swf)


def drawn(jobs: int = 60, servers: int = 16, load: float = 0.8, blemishes: float = 0.2, seed: int = 3) -> np.ndarray:
    return make_swf.draw(jobs, servers, load, blemishes, seed)


def swf_text(lines: np.ndarray, header: str = "; MaxProcs: 16\n") -> bytes:
    return (header + "".join(" ".join(map(str, line)) + "\n" for line in lines.tolist())).encode()


def csv_text(lines: np.ndarray) -> bytes:
    rows = "".join(f"{line[1]},{line[7]},{line[3]},{line[2]},q{line[14]}\n" for line in lines.tolist())
    return b"submit,need,service,wait,queue\n" + rows.encode()


def sacct_text(lines: np.ndarray) -> bytes:
    """Every job, and a step of every third."""
    text = "JobID|Submit|Start|End|Elapsed|AllocCPUS|ReqCPUS|State|Partition\n"
    zero = datetime(2024, 1, 1, tzinfo=UTC)
    for line in lines.tolist():
        number, submit, wait, run, had, asked = *line[:5], line[7]
        begin = zero + timedelta(seconds=submit + wait)
        stamps = [(zero + timedelta(seconds=submit)), begin, begin + timedelta(seconds=max(run, 0))]
        shown = "|".join(stamp.strftime("%Y-%m-%dT%H:%M:%S") for stamp in stamps)
        days, rest = divmod(max(run, 0), 86400)
        clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        elapsed = f"{days}-{clock}" if days else clock
        state = "CANCELLED by 7" if line[10] == 5 else "COMPLETED"
        text += f"{number}|{shown}|{elapsed}|{max(had, 0)}|{asked}|{state}|p{line[14]}\n"
        if number % 3 == 0:
            text += f"{number}.batch|{shown}|{elapsed}|{max(had, 0)}||COMPLETED|\n"
    return text.encode()


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """The same file after some accidents."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["byte", "cut", "insert", "drop", "swap", "join", "repeat"])):
            case "byte":
                if data:
                    data[at] = draw(st.integers(0, 255))
            case "cut":
                data = data[: max(at, 1)]
            case "insert":
                data[at:at] = draw(st.binary(max_size=12) | st.sampled_from(ODD))
            case "drop":
                del data[at : at + draw(st.integers(1, 40))]
            case "swap":
                lines = data.split(b"\n")
                number = draw(st.integers(0, len(lines) - 1))
                fields = lines[number].replace(b"|", b" ").replace(b",", b" ").split(b" ")
                i, j = (draw(st.integers(0, len(fields) - 1)) for _ in range(2))
                fields[i], fields[j] = fields[j], fields[i]
                mark = next((m for m in (b"|", b",") if m in lines[number]), b" ")
                lines[number] = mark.join(fields)
                data = bytearray(b"\n".join(lines))
            case "join":
                data = bytearray(data.replace(b"\n", b"", 1))
            case _:
                data += data[at : at + 200]
    return bytes(data)


ODD = (
    *(b"nan", b"-inf", b"1e400", b"1_0", b"-", b"\0", b"\xff\xfe", b"\n\n", b"\r", b'"', b"9" * 30, b"1.5", b"-7"),
    *(b"|", b",", b";", b"\xe2\x80\xa8", b"\x1c", b"Unknown", b"2024-13-01T00:00:00", b"2024-03-01T00:00:00+0100"),
)
