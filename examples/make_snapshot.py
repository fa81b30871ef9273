"""A snapshot of a cluster and its history, out of a synthetic log, for trying `loynes eta` without a cluster.

python examples/make_swf.py log.swf --jobs 4000 --servers 64 --load 0.75 --seed 4
python examples/make_snapshot.py log.swf --policy easy --now 2024-01-20T18:00:00 --into examples/line

The log's jobs are run under a policy. What would have ended by then is `history.swf.gz`, with the waits of that policy;
what runs or waits is `squeue.json`, as `squeue --json` of Slurm 23.11 writes it. `then.csv` says when the waiting jobs
started, in seconds after the snapshot: the future, to hold a forecast against.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import loynes

SUBMIT, WAIT, RUN, NEED, LIMIT, USER = 1, 2, 3, 7, 8, 11


def number(value: int | None) -> dict[str, Any]:
    """As newer versions of Slurm write numbers."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


def waits_of(log: Path, policy: str) -> list[float]:
    """The wait of every job of the log, were it run under a policy."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "jobs.csv"
        loynes.replay(log, policy=policy).save(table)
        with table.open(encoding="utf-8") as rows:
            return [float(row["wait"]) for row in csv.DictReader(rows)]


def listed(line: list[int], begun: float, now: float, epoch: int) -> dict[str, Any]:
    """A job that runs or waits, as `squeue --json` lists it."""
    running = begun <= now
    return {
        "job_id": line[0],
        "job_state": ["RUNNING" if running else "PENDING"],
        "user_name": str(line[USER]),
        "partition": "main",
        "cpus": number(line[NEED]),
        "time_limit": number(line[LIMIT] // 60),
        "submit_time": number(epoch + line[SUBMIT]),
        "start_time": number(int(epoch + begun) if running else None),
        "state_reason": "None" if running else "Priority",
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, help="a log that make_swf.py drew, without blemishes")
    parser.add_argument("--policy", default="easy")
    parser.add_argument("--now", required=True, help="a date within the log, UTC")
    parser.add_argument("--into", type=Path, default=Path("line"), help="the folder to write to")
    options = parser.parse_args(arguments)
    text = options.log.read_text(encoding="ascii").splitlines()
    header = [line for line in text if line.startswith(";")]
    lines = [[int(word) for word in line.split()] for line in text if line and not line.startswith(";")]
    epoch = next(int(line.split(":")[1]) for line in header if line.startswith("; UnixStartTime"))
    now = datetime.fromisoformat(options.now).replace(tzinfo=UTC).timestamp() - epoch
    history, jobs, then = [], [], []
    for line, wait in zip(lines, waits_of(options.log, options.policy), strict=True):
        begun = line[SUBMIT] + wait
        if begun + line[RUN] <= now:
            line[WAIT] = round(wait)
            history.append(" ".join(map(str, line)))
        elif line[SUBMIT] <= now:
            jobs.append(listed(line, begun, now, epoch))
            if begun > now:
                then.append(f"{line[0]},{begun - now:.0f}")
    options.into.mkdir(parents=True, exist_ok=True)
    swf = "\n".join([*header, *history]) + "\n"
    # No time of day in the gzip header: the same log gives the same bytes.
    (options.into / "history.swf.gz").write_bytes(gzip.compress(swf.encode("ascii"), mtime=0))
    document = {"jobs": jobs, "last_update": number(int(epoch + now))}
    (options.into / "squeue.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (options.into / "then.csv").write_text("\n".join(["job,start", *then]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
