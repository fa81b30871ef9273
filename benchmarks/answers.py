"""How long answers take, compilation aside: the questions of the README's kind, and the paper's table of nine loads.

python benchmarks/answers.py            everything (about ten minutes)
python benchmarks/answers.py --quick    without the nine loads
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import loynes
from recorder import Recorder, Took, options, timed

EXACT = (3.7523494, 8.5944007, 14.932306, 23.490975, 35.586642, 53.857604, 84.464384, 145.89301, 330.57994)
ONE_OR_ALL = 20.448071666  # threshold
# Half-widths as in the paper's table: 5% in the middle, 3% at load 0.9; the narrower for all.
WIDTH = 0.03


def row(record: Recorder, question: str, wanted: float, ask: Callable[[], Any], say: Callable[[Any], str]) -> None:
    took, found = timed(ask)
    record.note(question, took)
    print(f"| {question} | {took.wall:.1f} s | {wanted:g} s | {say(found)} |", flush=True)


def wait(found: Any) -> str:
    mean = found.overall.wait.mean
    return f"mean wait {mean.estimate:.4g} ±{mean.relative:.2%}, {found.jobs:.3g} jobs"


def threshold(found: Any) -> str:
    t = found.threshold
    return f"[{t.low:.5g}, {t.high:.5g}], {found.jobs:.3g} jobs, variance / {found.variance_reduction:.0f}"


def nine_loads(record: Recorder) -> None:
    print("\n| load | exact | ours, 99% | difference | burn-in | distance | jobs | time |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    total = Took(0.0, 0.0)
    for tenth, exact in enumerate(EXACT, start=1):
        ask = partial(loynes.evaluate, "one-or-all", rate=0.1 * tenth * ONE_OR_ALL, precision=WIDTH, max_jobs=1e10)
        took, found = timed(ask)
        record.note(f"one-or-all, load 0.{tenth}, to 3%", took)
        total = Took(*map(sum, zip(total, took, strict=True)))
        mean, certificate = found.overall.wait.mean, found.certificate
        held = "" if mean.low <= exact <= mean.high else " (not held)"
        print(f"| 0.{tenth} | {exact} | {mean.estimate:.5g} ±{mean.half_width:.2g}{held} | "
              f"{mean.estimate / exact - 1:+.2%} | {certificate.burn_in} | {certificate.distance.estimate:.2g} | "
              f"{found.jobs / 1e6:.0f} M | {took.wall:.0f} s |", flush=True)  # fmt: skip
    print(f"\nAll nine: {total.wall:.0f} s (wanted 900; the paper's backward runs: 108,563 s on an RTX 4080).")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="without the nine loads")
    chosen = parser.parse_args()
    record = Recorder("answers", chosen.record)
    warnings.simplefilter("ignore", loynes.LoynesWarning)
    five, rate = "five-class-exponential", 1.80086
    for name in (five, "borg-cell-b"):  # compile everything
        loynes.stability(name, precision=0.1)
    loynes.evaluate(five, rate=1.0, samples=1000)
    print("| question | took | wanted | answer |")
    print("| --- | ---: | ---: | --- |")
    row(record, f"{five}, load 0.75, to 1%", 5, lambda: loynes.evaluate(five, rate=0.75 * rate), wait)
    row(record, f"{five}, load 0.9, to 1%", 60, lambda: loynes.evaluate(five, rate=0.9 * rate), wait)
    row(record, f"threshold of {five} to 0.1%", 2, lambda: loynes.stability(five, precision=0.001), threshold)
    row(
        record, "threshold of borg-cell-b to 1%", 30, lambda: loynes.stability("borg-cell-b", precision=0.01), threshold
    )
    if not chosen.quick:
        nine_loads(record)
    record.save()


if __name__ == "__main__":
    main()
