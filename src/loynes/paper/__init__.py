"""The tables and figures of the founding paper, computed again (arXiv 2601.20653)."""
