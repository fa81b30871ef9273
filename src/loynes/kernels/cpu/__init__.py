"""Numba kernels. Each releases the interpreter lock; `threads.py` spreads replicas over cores."""
