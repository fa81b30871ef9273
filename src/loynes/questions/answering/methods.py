"""The four ways to evaluate: sandwich, perfect, forward, backward."""

from __future__ import annotations

from loynes.questions.answering.independent_samples import IndependentSamples
from loynes.questions.answering.long_chains import LongChains


class Methods(LongChains, IndependentSamples):
    """The methods to evaluate a model at a rate."""
