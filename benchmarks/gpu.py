"""Every CUDA kernel: checked against the CPU's numbers, then timed. Prints Markdown.

python benchmarks/gpu.py            checks, rates, ratios, answers (a few minutes)
python benchmarks/gpu.py --forms    only: which form of the state pays at which size
python benchmarks/gpu.py --check    only the checks
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import loynes
from answers import EXACT, WIDTH
from forms import build, mixes
from loynes.inputs.tables import job_table, needs_of
from loynes.kernels.backends import engine_of
from loynes.kernels.cuda import compiled
from loynes.kernels.cuda.device import Kernel, cupy
from loynes.kernels.cuda.engine import MOST_GROUPS, SLOT, looked_at
from loynes.kernels.cuda.random_shape import shape_of_random
from loynes.kernels.engine import Backward, Forward, ForwardState, PairState, Pile, PileState, SampleState, Sandwich
from loynes.kernels.reference import BLOCK
from loynes.kernels.tally import BINS, new_heap, new_tally
from loynes.model import Model, builtin_names, load
from loynes.threshold.controls import Mix
from rates import RATES, forward_run, two_kinds

SIZES = (8, 20, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096)
WANTED = {"five-class-exponential": 150e9, "one-or-all": 30e9, "borg-cell-b": 6e9}
SECONDS = 0.3


def timed(launch: Any, steps: float) -> float:
    """Job steps a second of launch(blocks), which makes `steps` of them a block: the median of three, by events."""
    cp = cupy()
    blocks, took, rates = 16, 0.0, []
    while len(rates) < 3:
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        launch(blocks)
        end.record()
        end.synchronize()
        took = cp.cuda.get_elapsed_time(begin, end) * 1e-3
        if took < SECONDS / 2:
            blocks = int(blocks * min(16.0, SECONDS / max(took, 1e-5))) + 1
        else:
            rates.append(steps * blocks / took)
    return sorted(rates)[1]


def forward(model: Model, rate: float, shape: compiled.Shape, observe: bool = True) -> tuple[float, Kernel]:
    cp = cupy()
    table, needs = job_table(model, rate), needs_of(model)
    kernel = Kernel("forward", shape, table, 1)
    rows, kinds = kernel.resident, len(needs.need)
    W = cp.zeros((rows, model.servers), shape.real)
    wait, square, loss = cp.zeros((kinds, rows)), cp.zeros((kinds, rows)), cp.zeros((rows, len(model.kinds)))
    none, bins = cp.zeros((kinds, rows), cp.uint32), cp.zeros((MOST_GROUPS, kinds, BINS), cp.uint32)
    number, group = cp.arange(rows, dtype=cp.uint32), cp.arange(rows, dtype=cp.int32) % MOST_GROUPS
    idled, position = cp.asarray(looked_at(shape, needs)), [0]

    def launch(blocks: int) -> None:
        first = position[0]
        position[0] += blocks * BLOCK
        kernel(
            rows, np.uint32(0), number, np.int64(first), np.int64(position[0]), np.int32(rows), np.int32(observe), W,
            idled, shape.real(1.0), group, wait, square, none, loss, bins,
        )  # fmt: skip

    launch(64)
    rate = timed(launch, rows * BLOCK)
    kernel.see_to_room()
    return rate, kernel


def pile(model: Model, shape_options: dict[str, Any], random: bool = False) -> tuple[float, Kernel]:
    cp = cupy()
    table, mix = job_table(model, None), Mix.of(model)
    shape = (shape_of_random if random else compiled.shape_of)(table, len(mix.blocking), **shape_options)
    kernel = Kernel("pile", shape, table, 1)
    rows = kernel.resident
    H = cp.zeros((rows, model.servers), shape.real)
    idled = cp.zeros(0) if random else cp.asarray(looked_at(shape, needs_of(model)))
    of_class, waits_for = cp.asarray(mix.blockers.of_class.astype(np.int32)), cp.asarray(mix.blockers.waits_for)
    heap = [
        cp.zeros(rows),
        cp.zeros((rows, len(model.kinds))),
        cp.zeros((rows, len(table.need)), cp.int64),
        cp.zeros((rows, len(table.need))),
    ]
    heap += [cp.zeros((rows, len(mix.blocking))) for _ in range(2)]

    def launch(blocks: int) -> None:
        kernel(
            rows, np.uint32(1), np.uint32(0), np.int64(0), np.int64(blocks * BLOCK), np.int32(rows), np.int32(0), H,
            idled, of_class, waits_for, *heap,
        )  # fmt: skip

    return timed(launch, rows * BLOCK), kernel


def sandwich(model: Model, rate: float, shape: compiled.Shape) -> float:
    """Pairs that never meet: the upper one starts so high that no launch brings it down."""
    cp = cupy()
    kernel = Kernel("sandwich", shape, job_table(model, rate), 1)
    rows = kernel.resident
    low, high = cp.zeros((rows, model.servers), shape.real), cp.zeros((rows, model.servers), shape.real)
    met = cp.zeros(rows, cp.int64)

    def launch(blocks: int) -> None:
        low.fill(0)
        high.fill(1e7)
        met.fill(-1)
        kernel(
            rows, np.uint32(0), np.uint32(0), np.int64(0), np.int64(blocks * BLOCK), np.int32(rows), low, high, met
        )  # fmt: skip

    return timed(launch, rows * BLOCK)


def backward(model: Model, rate: float, shape: compiled.Shape) -> float:
    """Samples that are never ready: n = 2^40."""
    cp = cupy()
    kernel = Kernel("backward", shape, job_table(model, rate), 1)
    rows = kernel.resident
    state = np.zeros(rows, SLOT)
    state["sample"] = -1
    slots, taken = cp.asarray(state.view(np.uint8)), cp.zeros(1, cp.uint32)
    unfinished, W = cp.zeros((rows, model.servers), shape.real), cp.zeros((rows, model.servers), shape.real)
    length, doublings = cp.zeros(rows, cp.int64), cp.zeros(rows, cp.int64)

    def launch(blocks: int) -> None:
        kernel(
            rows, np.uint32(0), np.uint32(0), np.int64(1 << 40), np.int32(1), np.int64(1 << 41), np.int64(rows),
            np.int32(rows), np.int32(blocks), taken, slots, unfinished, W, length, doublings,
        )  # fmt: skip

    return timed(launch, rows * BLOCK)


def check() -> None:
    """Chains, pairs and samples in double precision: the CPU's, bit for bit."""
    for name, rate in RATES.items():
        model = load(name)
        table, needs = job_table(model, 0.5 * rate), needs_of(model)
        found = []
        rows, samples = (table, 1, 0, np.arange(8)), 32
        for engine in (engine_of("cpu"), engine_of("cuda:64")):
            tally = new_tally(8, len(needs.need), 1.0)
            places, shape = np.zeros(8, np.int64), (8, model.servers)
            chains = ForwardState(np.zeros(shape), places, tally)
            engine.run(Forward(*rows, needs, np.arange(8), False), chains, 0, 1 << 14)
            pairs = PairState(np.zeros(shape), np.full(shape, 50.0), np.full(8, -1, np.int64), places)
            engine.run(Sandwich(*rows), pairs, 0, 1 << 14)
            taken = SampleState(np.empty((samples, model.servers)), *(np.empty(samples, np.int64) for _ in range(2)))
            task = Backward(table, 1, 0, np.arange(samples), initial=1 << 12, longest=1 << 24, confirmations=1)
            engine.run(task, taken, 0, samples)
            found.append((chains.workload, *pairs, *taken))
        same = all(np.array_equal(x, y) for x, y in zip(*found, strict=True))
        print(f"- {name}: {'the same bits as on the CPU' if same else 'DIFFERS from the CPU'}", flush=True)
        if not same:
            sys.exit(1)


def core_rate(model: Model, rate: float) -> float:
    """Jobs a second of one core."""
    jobs, took = forward_run(model, rate, 1, seconds=1.0)
    return jobs / took.wall


def giga(rate: float) -> str:
    return f"{rate / 1e9:.3g} G"


def kernels(with_cpu: bool) -> None:
    print(
        "\n| model | bits | form | registers | forward | wanted | sandwich | of it | pile | backward | core | ratio |"
        " issue | min/max | shared |"
    )
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, rate in RATES.items():
        model = load(name)
        core = core_rate(model, rate) if with_cpu else float("nan")
        for bits in (32, 64):
            shape = compiled.shape_of(job_table(model, rate), bits=bits)
            pair = compiled.shape_of(job_table(model, rate), bits=bits, chains=2)
            single, kernel = forward(model, rate, shape)
            both = sandwich(model, rate, pair)
            reached = zip(counted(shape), limits(), strict=True)
            known = bits == 32 and shape.form in (compiled.THREAD, compiled.WARP)
            parts = [f"{single * n / most:.0%}" if known else "" for n, most in reached]
            cells = (
                name, str(bits), compiled.FORMS[shape.form], f"{kernel.registers}, {kernel.spilled} spilled",
                giga(single),
                giga(WANTED[name]) if bits == 32 else "", f"{giga(both)} ({compiled.FORMS[pair.form]})",
                f"{both / single:.0%}", giga(pile(model, {"bits": bits})[0]), giga(backward(model, rate, shape)),
                f"{core / 1e6:.1f} M", f"{single / core:.0f}", *parts,
            )  # fmt: skip
            print("| " + " | ".join(cells) + " |", flush=True)


def kinds() -> None:
    """Several kinds of servers, and specific ones, at half the ideal rate."""
    print("\n| model | bits | form | registers | forward | sandwich | pile | backward | core | ratio |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, model in (
        ("64 and 8 units", two_kinds()),
        ("the same, reserving", two_kinds().with_discipline("reserving")),
        ("64 and 8 units, two classes with specific GPUs", two_kinds(specific=True)),
        ("the same, reserving", two_kinds(specific=True).with_discipline("reserving")),
        ("five-class-exponential, random", load("five-class-exponential").with_discipline("random")),
        ("borg-cell-b, random", load("borg-cell-b").with_discipline("random")),
        ("cpu-gpu-mix", load("cpu-gpu-mix")),
        ("cpu-memory-mix", load("cpu-memory-mix")),
    ):
        rate = 0.5 * model.ideal
        core = core_rate(model, rate)
        for bits in (32, 64):
            table = job_table(model, rate)
            shape, pair = compiled.shape_of(table, bits=bits), compiled.shape_of(table, bits=bits, chains=2)
            single, kernel = forward(model, rate, shape)
            both = giga(sandwich(model, rate, pair)) if pair.shared <= compiled.MOST_SHARED else "does not fit"
            cells = (
                name, str(bits), compiled.FORMS[shape.form], str(kernel.registers), giga(single), both,
                giga(pile(model, {"bits": bits})[0]), giga(backward(model, rate, shape)), f"{core / 1e6:.1f} M",
                f"{single / core:.0f}",
            )  # fmt: skip
            print("| " + " | ".join(cells) + " |", flush=True)


def random() -> None:
    """Piles under random assignment, checked against the CPU's and timed."""
    print("\n| model | bits | form | registers | pile | core | ratio |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for name in RATES:
        model = load(name).with_discipline("random")
        table, mix, rows = job_table(model, None), Mix.of(model), 16
        task, found = Pile(table, 1, 1, np.arange(rows), needs_of(model), mix.blockers, random=True), []
        for engine in (engine_of("cpu", 1), engine_of("cuda:64")):
            heap = new_heap(rows, len(table.need), len(mix.blocking))
            piles = PileState(np.zeros((rows, model.servers)), np.zeros(rows, np.int64), heap)
            engine.run(task, piles, 0, BLOCK)
            began = time.perf_counter()
            engine.run(task, piles, BLOCK, 1 << 14)
            found.append((rows * (1 << 14) / (time.perf_counter() - began), piles))
        (core, ours), (_, theirs) = found
        if not np.array_equal(ours.heights, theirs.heights):
            print(f"- {name}: DIFFERS from the CPU", flush=True)
            sys.exit(1)
        for bits in (32, 64):
            rate, kernel = pile(model, {"bits": bits}, random=True)
            cells = (
                name, str(bits), compiled.FORMS[kernel.shape.form], f"{kernel.registers}, {kernel.spilled} spilled",
                giga(rate), f"{core / 1e6:.2f} M", f"{rate / core:.0f}",
            )  # fmt: skip
            print("| " + " | ".join(cells) + " |", flush=True)


def counted(shape: compiled.Shape) -> tuple[float, float, float]:
    """Of one step of the thread or warp form, by lane: instructions, those of the min/max unit, words (docs/gpu.md)."""
    s, entries = shape.servers, shape.segments * shape.entries
    if shape.form == compiled.THREAD:
        return 4.0 * s + 112.0, 2.0 * s + 47.0, 2.0 * s
    return 32.0 * (2.0 * entries + 14.0), 32.0 * (2.0 * entries + 6.0), 8.0


def limits() -> tuple[float, float, float]:
    """The same a second: 4 warps a clock and multiprocessor, 64 lanes of the min/max unit, 32 words."""
    device = cupy().cuda.Device()
    clock = 1e3 * device.attributes.get("ClockRate", 1_980_000) * device.attributes["MultiProcessorCount"]
    return 128.0 * clock, 64.0 * clock, 32.0 * clock


def forms() -> None:
    """Rates of all forms that can hold a model, by size: what shape_of decides by."""
    kinds = ("five classes", "one or all")
    print("\n| servers | " + " | ".join(f"{kind}: thread / warp / front / runs | chosen" for kind in kinds) + " |")
    print("| ---: |" + " ---: | --- |" * len(kinds))
    for s in SIZES:
        cells = []
        for kind in kinds:
            model = build(s, mixes(s)[kind])
            rate = 0.5 * model.ideal
            found = []
            for form in (compiled.THREAD, compiled.WARP, compiled.FRONT, compiled.RUNS):
                shape = compiled.shape_of(job_table(model, rate), form=form)
                if (form == compiled.THREAD and s > 128) or (form == compiled.WARP and s > 4096):
                    found.append("-")
                else:
                    found.append(giga(forward(model, rate, shape)[0]))
            cells += [" / ".join(found), compiled.FORMS[compiled.shape_of(job_table(model, rate)).form]]
        print(f"| {s} | " + " | ".join(cells) + " |", flush=True)


# What was compared to settle how a shape is compiled.
VARIANTS: tuple[tuple[str, int | None, dict[str, int]], ...] = (
    ("five-class-exponential", None, {}),
    ("five-class-exponential", None, {"group": 1}),
    ("five-class-exponential", None, {"group": 3}),
    ("five-class-exponential", None, {"threads": 256}),
    ("one-or-all", compiled.WARP, {}),
    ("one-or-all", compiled.FRONT, {"group": 8}),
    ("one-or-all", compiled.FRONT, {"group": 16}),
    ("one-or-all", compiled.FRONT, {"group": 16, "threads": 128}),
    ("one-or-all", compiled.RUNS, {}),
    ("borg-cell-b", compiled.WARP, {}),
    ("borg-cell-b", compiled.FRONT, {}),
    ("borg-cell-b", compiled.RUNS, {}),
    ("borg-cell-b", compiled.RUNS, {"least_blocks": 20}),
    ("borg-cell-b", compiled.RUNS, {"threads": 128}),
)


def variants() -> None:
    print("\n| model | variant | registers | forward |")
    print("| --- | --- | ---: | ---: |")
    for name, form, changes in VARIANTS:
        model = load(name)
        shape = replace(compiled.shape_of(job_table(model, 1.0), form=form), **changes)
        rate, kernel = forward(model, RATES.get(name, 0.5 * model.ideal), shape)
        said = ", ".join([compiled.FORMS[shape.form], *(f"{key} {value}" for key, value in changes.items())])
        print(f"| {name} | {said} | {kernel.registers}, {kernel.spilled} spilled | {giga(rate)} |", flush=True)


def answers() -> None:
    """From the command line, start-up included; the second run, as compiled kernels are kept."""
    print("\n| command | took | mean wait |\n| --- | ---: | --- |")
    five = ["five-class-exponential", "--load", "0.75"]
    for line in (
        ["evaluate", *five, "--method", "backward", "--samples", "500000"],
        ["evaluate", *five],
        ["evaluate", "borg-cell-b", "--load", "0.75", "--precision", "0.02"],
    ):
        asked(line, 2)
    print("\n| load | exact | ours, 99% | difference | jobs | took |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    total = 0.0
    for tenth, exact in enumerate(EXACT, start=1):
        line = ["evaluate", "one-or-all", "--load", f"0.{tenth}", "--precision", str(WIDTH)]
        found, took = asked(line, 1, say=False)
        total += took
        mean = found["overall"]["wait"]["mean"]
        held = "" if mean["low"] <= exact <= mean["high"] else " (not held)"
        print(f"| 0.{tenth} | {exact} | {mean['estimate']:.5g} ±{(mean['high'] - mean['low']) / 2:.2g}{held} | "
              f"{mean['estimate'] / exact - 1:+.2%} | {found['jobs'] / 1e9:.1f} G | {took:.2f} s |")  # fmt: skip
    print(f"\nAll nine: {total:.1f} s (wanted 30; the paper's backward runs: 108,563 s on an RTX 4080).")


def asked(line: list[str], times: int, say: bool = True) -> tuple[dict[str, Any], float]:
    line = [*line, "--backend", "cuda"]
    for _ in range(times):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "loynes", *line, "--json"], check=True, capture_output=True)
        took = time.perf_counter() - began
    found: dict[str, Any] = json.loads(done.stdout)
    if say:
        mean = found["overall"]["wait"]["mean"]
        print(f"| `loynes {' '.join(line)}` | {took:.2f} s | {mean['estimate']:.5g}, "
              f"{mean['low']:.5g} to {mean['high']:.5g} |", flush=True)  # fmt: skip
    return found, took


# Model, load, exact mean wait.
KNOWN = (
    ("five-class-exponential", 0.75),
    ("five-class-exponential", 0.9),
    ("five-class-exponential", 0.97),
    ("two-class-200", 0.7),
    ("one-or-all", 0.5),
)


def bias() -> None:
    """Mean waits in float and in double against the exact ones."""
    print("\n| model | load | exact | float, 99% | off by | double, 99% | off by |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, at in KNOWN:
        known = loynes.exact(name, load=at).mean_wait
        cells = [name, f"{at:g}", f"{known:.8g}"]
        for bits in ("cuda", "cuda:64"):
            mean = loynes.evaluate(name, load=at, precision=0.0005, max_jobs=1.2e11, backend=bits).overall.wait.mean
            cells += [f"{mean.estimate:.6g} ±{mean.relative:.2%}", f"{mean.estimate / known - 1:+.3%}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def agreement() -> None:
    """Both backends on every built-in model: intervals of 99% that must overlap."""
    print("\n| model | load | CPU | GPU | CPU took | GPU took |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in builtin_names():
        at = 0.5 if name in ("borg-cell-b", "five-class-pareto") else 0.7
        rate = at * loynes.stability(name, precision=0.01).threshold.estimate
        found = [loynes.evaluate(name, rate=rate, precision=0.03, backend=backend) for backend in ("cpu", "cuda")]
        means = [one.overall.wait.mean for one in found]
        apart = means[0].low > means[1].high or means[1].low > means[0].high
        cells = [f"{mean.estimate:.5g} ±{mean.relative:.1%}" for mean in means] + [
            f"{one.seconds:.1f} s" for one in found
        ]
        print(f"| {name} | {at} | {' | '.join(cells)} |{' APART' if apart else ''}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("check", "forms", "variants", "kernels", "kinds", "random", "answers", "bias", "agreement"):
        parser.add_argument(f"--{name}", action="store_true", help=f"only: {name}")
    parser.add_argument("--no-cpu", action="store_true", help="leave out the CPU's rates")
    options = parser.parse_args()
    parts = {"check": check, "kernels": lambda: kernels(not options.no_cpu), "kinds": kinds,
             "random": random, "forms": forms, "variants": variants, "answers": answers, "bias": bias,
             "agreement": agreement}  # fmt: skip
    chosen = [part for name, part in parts.items() if getattr(options, name)]
    cp = cupy()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    driver = cp.cuda.runtime.driverGetVersion()
    print(f"{properties['name'].decode()}, {properties['multiProcessorCount']} multiprocessors, CUDA driver {driver}, "
          f"CuPy {cp.__version__}\n")  # fmt: skip
    warnings.simplefilter("ignore", loynes.LoynesWarning)
    for part in chosen or parts.values():
        part()


if __name__ == "__main__":
    main()
