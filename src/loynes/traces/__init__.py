"""Recorded workloads: readers of job logs, and the rules by which a line is skipped or repaired, and counted."""
