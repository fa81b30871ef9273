"""How long a command takes from the prompt and back: with an empty cache, with compiled kernels, and for help.

python benchmarks/startup.py                  about a minute on two idle cores
python benchmarks/startup.py --times 5        the middle of five runs each
python benchmarks/startup.py --source DIR     of another source tree (its src/), for a comparison in turn

Python's own compiled files are made first, as an installation does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

from eta import SERVERS, listing
from recorder import Recorder, Took, clock, options, since, timed

MODEL, LISTING = "five-class-exponential", "now.csv"
# What is asked, and the seconds wanted with an empty cache and with a full one, two idle cores.
LINES = (
    (("evaluate", MODEL, "--load", "0.75"), 10.0, 1.2),
    (("stability", MODEL), 6.0, 0.7),
    (("simulate", MODEL, "--load", "0.75", "--policy", "easy"), 8.0, None),
    (("eta", LISTING, "--servers", str(SERVERS)), None, None),
    (("eta", LISTING, "--servers", str(SERVERS), "--policy", "easy", "--draws", "4"), None, None),
)
HELP = (("--help",), 0.15), (("evaluate", "--help"), None)


def run(line: tuple[str, ...], cached: str, source: Path | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"NUMBA_CACHE_DIR": cached} | ({"PYTHONPATH": str(source)} if source else {})
    line = tuple(str(Path(listed().name) / LISTING) if word == LISTING else word for word in line)
    command = [sys.executable, "-m", "loynes", *line, *(() if "--help" in line else ("--quiet",))]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)


@cache
def listed() -> tempfile.TemporaryDirectory[str]:
    """A folder with the listing, for as long as the program runs."""
    folder = tempfile.TemporaryDirectory()
    listing(Path(folder.name) / LISTING)
    return folder


def first(line: tuple[str, ...], source: Path | None) -> Took:
    """One run with an empty cache."""
    with tempfile.TemporaryDirectory() as cached:
        began = clock()
        run(line, cached, source)
        return since(began)


def show(record: Recorder, line: tuple[str, ...], how: str, took: Took, wanted: float | None) -> None:
    text = f"`loynes {' '.join(line)}`"
    record.note(f"{text}, {how}" if how else text, took)
    print(f"| {text} | {how} | {took.wall:.2f} | {took.processor:.2f} | {wanted or ''} |", flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--times", type=int, default=3, help="runs of each, of which the middle one is shown")
    parser.add_argument("--source", type=Path, help="a source tree's src folder")
    chosen = parser.parse_args()
    record = Recorder("startup", chosen.record)
    listed()
    print("| command | cache | wall, s | processor, s | wanted, wall |")
    print("| --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as cached:
        for line, wanted in HELP:
            run(line, cached, chosen.source)
            took, _ = timed(partial(run, line, cached, chosen.source), 2 * chosen.times + 1)
            show(record, line, "", took, wanted)
        for line, wanted_first, wanted_again in LINES:
            run(line, cached, chosen.source)
            took, _ = timed(partial(run, line, cached, chosen.source), 2 * chosen.times + 1)
            show(record, line, "full", took, wanted_again)
            found = sorted((first(line, chosen.source) for _ in range(chosen.times)), key=lambda took: took.processor)
            show(record, line, "empty", found[len(found) // 2], wanted_first)
    record.save()


if __name__ == "__main__":
    main()
