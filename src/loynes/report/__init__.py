"""A result as one HTML file that needs nothing else: words, charts, tables, and what they rest on."""

from loynes.report.page import page, write

__all__ = ["page", "write"]
