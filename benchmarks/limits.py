"""How often the empirical limit of a policy holds the truth: first come, first served on random models, whose threshold
is known exactly.

    python benchmarks/limits.py [MODELS [SEED]]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import loynes
from loynes.execution.context import Context
from loynes.questions.answering.limits import carried
from loynes.questions.answering.orders import order_of
from loynes.questions.answering.thresholds import cheap_threshold

SEED = 2027
CONFIDENCE = 0.95
# Of a limit that is the ideal rate itself, computed in two ways.
ROUNDING = 1e-9


def random_model(rng: np.random.Generator) -> tuple[loynes.Model, float]:
    """2 to 64 servers, 1 to 5 classes of exponential, Erlang or hyperexponential services, means up to 20 times apart;
    and its threshold, which a formula or a small chain gives: models without one are drawn anew."""
    while True:
        servers, count = int(rng.integers(2, 65)), int(rng.integers(1, 6))
        needs = rng.choice(np.arange(1, servers + 1), size=min(count, servers), replace=False)
        shares = rng.dirichlet(np.ones(len(needs)))
        classes = []
        for need, share in zip(needs.tolist(), shares.tolist(), strict=True):
            mean = float(np.exp(rng.uniform(-1.5, 1.5)))
            law = [
                {"law": "exponential", "mean": mean},
                {"law": "erlang", "phases": 3, "mean": mean},
                {"law": "hyperexponential", "probabilities": [0.8, 0.2], "means": [0.5 * mean, 3.0 * mean]},
            ][int(rng.integers(0, 3))]
            classes.append({"name": f"n{need}", "need": need, "probability": share, "service": law})
        model = loynes.load({"servers": servers, "classes": classes})
        if (known := cheap_threshold(model)) is not None:
            return model, known[0]


def main(models: int = 30, seed: int = SEED) -> None:
    rng, held = np.random.default_rng(seed), 0
    fcfs, began = order_of("fcfs", {}), time.process_time()
    print("servers  classes  threshold   limit, estimated                 holds  off/half-width")
    for number in range(models):
        model, truth = random_model(rng)
        found = carried(
            model, fcfs, precision=0.02, confidence=CONFIDENCE, seed=number + 1, context=Context("cpu")
        ).rate
        holds = found.low <= truth * (1 + ROUNDING) and truth * (1 - ROUNDING) <= found.high
        held += holds
        print(f"{model.servers:7d}  {len(model.classes):7d}  {truth:9.6f}  {found.estimate:9.6f} "
              f"[{found.low:9.6f}, {found.high:9.6f}]  {'yes' if holds else 'NO ':3s}  "
              f"{(found.estimate - truth) / found.half_width:+.2f}", flush=True)  # fmt: skip
    took = time.process_time() - began
    print(f"{held} of {models} intervals of confidence {CONFIDENCE:g} hold the threshold, {took:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
