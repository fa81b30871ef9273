"""Reading and replaying a million recorded jobs on one core, and replaying ten million. Prints Markdown.

python benchmarks/traces.py
python benchmarks/traces.py --jobs 100000
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from loynes.errors import LoynesWarning
from loynes.kernels.cpu.stretches import run_replay
from loynes.questions.replay import replay
from loynes.traces.read import read_trace
from loynes.traces.trace import Trace
from recorder import Recorder, Took, options, timed

MAKER = Path(__file__).parents[1] / "examples" / "make_swf.py"
SERVERS = 4096


def maker():
    spec = importlib.util.spec_from_file_location("make_swf", MAKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reading(path: Path) -> Took:
    return timed(lambda: read_trace(path, unit="cpus" if path.suffix == ".events" else None), 3)[0]


def sacct(lines: np.ndarray, path: Path) -> None:
    def stamp(seconds: np.ndarray) -> list[str]:
        return np.datetime_as_string((1704067200 + seconds).astype("datetime64[s]")).tolist()

    submit, start = lines[:, 1], lines[:, 1] + lines[:, 2]
    numbers = (lines[:, 0], lines[:, 3], lines[:, 4])
    rows = zip(*(column.tolist() for column in numbers), stamp(submit), stamp(start), strict=True)
    with path.open("w") as file:
        file.write("JobID|Submit|Start|Elapsed|AllocCPUS|State\n")
        for job, run, need, came, began in rows:
            days = f"{run // 86400}-" if run >= 86400 else ""
            clock = f"{days}{run // 3600 % 24:02}:{run // 60 % 60:02}:{run % 60:02}"
            file.write(f"{job}|{came}|{began}|{clock}|{need}|COMPLETED\n")


def table(lines: np.ndarray, path: Path) -> None:
    columns = {"submit": lines[:, 1], "need": lines[:, 4], "service": lines[:, 3], "wait": lines[:, 2]}
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), path)
        return
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text(",".join(columns) + "\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows))


def accounting(lines: np.ndarray, path: Path) -> None:
    """Records as PBS, LSF, Grid Engine, HTCondor and the Slurm simulator write them, one line a job."""
    write = {
        ".pbs": '02/11/2026 20:12:21;E;{job}.pbs;user=u{user} group=g account="A1" project=p jobname=job queue=main '
        "ctime={submit} qtime={submit} etime={submit} start={start} exec_host=n{host}/0*{need} "
        "exec_vnode=(n{host}:ncpus={need}) Resource_List.mem=10gb Resource_List.ncpus={need} Resource_List.ngpus=0 "
        "Resource_List.nodect=1 Resource_List.place=scatter Resource_List.select=1:ncpus={need}:mem=10GB "
        "Resource_List.walltime=24:00:00 session=0 end={end} Exit_status=0 resources_used.cput=00:00:00 "
        "resources_used.mem=3792kb resources_used.ncpus={need} resources_used.walltime=00:00:01 run_count=1",
        ".lsf": '"JOB_FINISH" "10.108" {end} {job} 1501 33554434 {need} {submit} 0 0 {start} "u{user}" "normal" '
        '"select[type==any]" "" "" "login1" "/home/u" "" "out" "" "{submit}.{job}" 0 1 "{need}*n{host}" 64 100.0 "job" '
        '"/bin/sleep 3" 0.004997 0.006155 3748 0 -1 0 0 436 4 0 928 0 -1 0 0 0 19 2 -1 "" "default" 0 {need} "" "" 0 '
        '2048 0 "" "" "" "" 0 "" 0 "" -1 "" "" "" "" -1 "" "" 5136 "" {start} "" "" 0 -1 4194304 1024',
        ".sge": "all.q:n{host}:users:u{user}:job:{job}:sge:0:{submit}:{start}:{end}:0:0:{run}:0.1:0.2:0.0:0:0:0:0:"
        "14232:0:0:0.0:0:0:0:0:135:95:NONE:defaultdepartment:mpi:{need}:0:0.1:0.2:0.3:-l h_rt=86400:0.0:NONE:0.0:0:0",
        ".jsonl": '{{"ClusterId": {job}, "ProcId": 0, "QDate": {submit}, "JobStartDate": {start}, '
        '"JobCurrentStartDate": {start}, "CompletionDate": {end}, "RemoteWallClockTime": {run}.0, '
        '"JobStatus": 4, "RequestCpus": {need}, "RequestMemory": 2048, "Owner": "u{user}", '
        '"AcctGroup": "g", "ExitCode": 0, "CpusProvisioned": {need}}}',
        ".events": "-dt {submit}.00 -e submit_batch_job | -sim-walltime {run}.00 --uid=user{user} -J jobid_{job} -N 1 "
        "-n {need} -t 3-00:00:00 -q general -p general --mem=500G pseudo.job",
    }[path.suffix] + "\n"
    columns = (lines[:, place].tolist() for place in (0, 1, 2, 3, 4))
    with path.open("w") as file:
        for job, came, wait, run, need in zip(*columns, strict=True):
            submit, start = 1704067200 + came, 1704067200 + came + wait
            file.write(write.format(job=job, submit=submit, start=start, end=start + run, run=run, need=need,
                                    user=job % 97, host=job % 300))  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=10, help="so many times as many jobs in the long log")
    parser.add_argument("--quick", action="store_true", help="of the formats only SWF, CSV and Parquet")
    chosen = parser.parse_args()
    record = Recorder("traces", chosen.record)
    warnings.simplefilter("ignore", LoynesWarning)
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    make = maker()
    lines = make.draw(chosen.jobs, SERVERS, 0.6, 0.0, 1)
    print(f"## Traces: {chosen.jobs} jobs, {SERVERS} servers, one core, Python {sys.version.split()[0]}\n")
    print("| what | seconds | of processor time | wanted | M jobs a processor second |")
    print("| --- | ---: | ---: | ---: | ---: |")

    def row(what: str, took: Took, wanted: str = "", jobs: int = chosen.jobs) -> None:
        record.note(f"{jobs} jobs: {what}", took, jobs, "jobs")
        rate = jobs / took.processor / 1e6
        print(f"| {what} | {took.wall:.2f} | {took.processor:.2f} | {wanted} | {rate:.2f} |", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name, write in (
            ("log.swf", lambda lines, path: make.write(path, lines, SERVERS, 1)),
            ("log.swf.gz", lambda lines, path: make.write(path, lines, SERVERS, 1)),
            ("log.sacct", sacct),
            ("log.csv", table),
            ("log.parquet", table),
            *(
                (f"log{ending}", accounting)
                for ending in (".pbs", ".lsf", ".sge", ".jsonl", ".events")
                if not chosen.quick
            ),
        ):
            path = Path(folder) / name
            write(lines, path)
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            row(
                f"read {name.removeprefix('log')} ({size})",
                reading(path),
                "" if name.endswith((".gz", ".parquet")) else "5",
            )
            if name == "log.swf":
                damaged = path.read_bytes().split(b"\n")
                damaged[20::100] = [text[: len(text) // 2] for text in damaged[20::100]]
                path.write_bytes(b"\n".join(damaged))
                row("read .swf, every 100th line cut in half", reading(path))
                make.write(path, lines, SERVERS, 1)
                trace = read_trace(path)
    replay(trace)  # compile
    row("`replay`, figures and series included", timed(lambda: replay(trace), 3)[0], "2")
    for form, as_runs in (("run list", True), ("dense vector", False)):
        part = slice(0, None if as_runs else chosen.jobs // 10)
        arrays = (trace.need[part], trace.service[part], trace.submit[part])
        run_replay(SERVERS, *(array[:100] for array in arrays), as_runs)
        took, _ = timed(partial(run_replay, SERVERS, *arrays, as_runs), 3)
        row(f"the kernel alone, {form}", took, jobs=len(arrays[0]))
    # The log many times over, one after another.
    count = chosen.times
    later = np.repeat(np.arange(count) * trace.span, trace.jobs)
    columns = {name: np.tile(getattr(trace, name), count) for name in ("submit", "need", "service", "wait")}
    columns["submit"] += later
    del later, lines
    long = Trace(**columns, servers=SERVERS, records=count * trace.jobs)
    row(f"`replay` of {long.jobs} jobs", timed(lambda: replay(long), 3)[0], "3", long.jobs)
    arrays = (long.need, long.service, long.submit)
    for threads in (1, 2):
        if cores and threads == 2:
            os.sched_setaffinity(0, cores)
        took, found = timed(partial(run_replay, SERVERS, *arrays, threads=threads), 3)
        row(f"the kernel alone, {threads} threads", took, jobs=long.jobs)
    print(f"\nRun again where a guess was wrong: {found.again} stretches")
    record.save()


if __name__ == "__main__":
    main()
