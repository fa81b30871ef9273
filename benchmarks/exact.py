"""Time and memory of exact answers, each in a process of its own. Prints Markdown.

python benchmarks/exact.py            a minute
"""

from __future__ import annotations

import json
import subprocess
import sys

from recorder import Recorder, Took, options

# Model, changes to it, load; sizes from the smallest built-in chain to the largest that is not refused.
ASKED = (
    ("five-class-exponential", (), None),
    ("five-class-exponential", (), 0.75),
    ("five-class-exponential", (), 0.999),
    ("five-class-hyperexponential", (), None),
    ("five-class-hyperexponential", ("servers=27",), None),  # the size wanted: 100,000 states
    ("five-class-erlang", (), None),
    ("one-or-all", (), None),
    ("one-or-all", (), 0.9),
)

CODE = """
import json, resource, sys, time
sys.path.insert(0, "benchmarks")
import loynes
from loynes.model import load
name, changes, at = json.loads(sys.argv[1])
began, used = time.perf_counter(), time.process_time()
found = loynes.exact(load(name, changes=changes), load=at)
took = time.perf_counter() - began, time.process_time() - used
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(json.dumps([found.states, found.threshold, found.mean_wait, *took, peak]))
"""


def main() -> None:
    record = Recorder("exact", options(__doc__).parse_args().record)
    print("| model | load | states | took | peak memory | threshold | mean wait |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, changes, at in ASKED:
        line = [sys.executable, "-c", CODE, json.dumps([name, changes, at])]
        states, threshold, wait, took, used, peak = json.loads(
            subprocess.run(line, capture_output=True, text=True, check=True).stdout
        )
        title = " ".join([name, *changes])
        record.note(title if at is None else f"{title}, load {at:g}", Took(took, used))
        cells = (
            title,
            "" if at is None else f"{at:g}",
            f"{states:,}" if states else "formula",
            f"{took:.1f} s",
            f"{peak:.0f} MiB",
            f"{threshold:.12g}",
            "" if wait is None else f"{wait:.12g}",
        )
        print("| " + " | ".join(cells) + " |", flush=True)
    record.save()


if __name__ == "__main__":
    main()
