"""Randomness: counter-based words, the jobs made of them, and the arrays that carry a model's laws to the kernels."""
