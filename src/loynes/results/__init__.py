"""Frozen records of what was computed, how, and how sure it is; tables, JSON and files derive from them."""
