"""Readers of job logs: one file a format, which registers itself; `register` finds them by name and by contents."""
