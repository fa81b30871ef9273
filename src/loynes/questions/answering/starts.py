"""States to begin a simulation with: how many jobs before job 0 to run, first come, first served, from an empty floor.

Where first come, first served has a long run, a perfect sample says how many jobs of the past make up its state. Where
it has none, so many jobs leave a line that is long, and the longer the more the rate is beyond what it can take.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from loynes.arrays import Ints
from loynes.estimate import Estimate
from loynes.execution.context import Context
from loynes.inputs.tables import job_table
from loynes.kernels.engine import whole_blocks
from loynes.model import Model
from loynes.questions.answering.independent_samples import DELTA
from loynes.stationary.backward import backward_samples
from loynes.stationary.certificate import Certificate, NoCertificate
from loynes.stationary.majorant import certify
from loynes.stationary.perfect import perfect_samples, within_reach

# Jobs that a floor is loaded with where no long run tells how many: at least so many, and so many for every server.
LEAST_LOADED, LOADED_PER_SERVER = 4096, 16
# Jobs that a certificate is looked for with where its blocks are not to be long, as a multiple of these.
BLOCKS = 4096


class History(NamedTuple):
    """Jobs before job 0, for every replica; `why`, where the state that they leave is only below the stationary one."""

    length: Ints
    why: str = ""


def stationary_history(
    model: Model,
    rate: float,
    threshold: Estimate,
    numbers: Ints,
    *,
    seed: int,
    context: Context,
    longest_block: float = math.inf,
) -> History:
    """For replicas of these numbers, one after the other: perfect samples under first come, first served, or, where
    nothing certifies them, or only blocks of more than `longest_block` jobs do, backward samples."""
    table = job_table(model, rate)
    most = None if math.isinf(longest_block) else BLOCKS * longest_block
    certificate = certify(model, rate, threshold, seed=seed, max_jobs=most, context=context)
    ways: dict[str, Any] = {"seed": seed, "first": int(numbers[0]), "engine": context.engine}
    certificate = within_reach(model, table, certificate, DELTA)
    if isinstance(certificate, Certificate) and certificate.block > longest_block:
        certificate = NoCertificate(f"it takes blocks of {certificate.block} jobs")
    if isinstance(certificate, Certificate):
        batches, why = perfect_samples(model, table, certificate, len(numbers), delta=DELTA, **ways), ""
    else:
        batches, why = backward_samples(table, len(numbers), **ways), certificate.why
    return History(np.concatenate([batch.length for batch in batches]), why)


def loaded_history(model: Model, replicas: int) -> History:
    """As many jobs for every replica, first come, first served."""
    return History(np.full(replicas, whole_blocks(max(LEAST_LOADED, LOADED_PER_SERVER * model.servers)), np.int64))
