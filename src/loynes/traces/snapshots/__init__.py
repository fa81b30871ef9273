"""Readers of snapshots: one file a format."""
