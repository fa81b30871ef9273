"""Exact answers from Markov chains and formulas; shares nothing with the samplers but the model."""
