"""Notebooks: whether we are in one, and what results and models look like there.

Colours are those of the page around, so that light and dark themes both suit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape

from loynes.readable import readable

# A text with more blanks is a sentence: set from the left, and broken into lines.
MOST_BLANKS = 5

STYLE = (
    ".loynes{font-size:.9em;line-height:1.4;overflow-x:auto}"
    ".loynes table{border-collapse:collapse;margin:.3em 0 .8em;border:0;color:inherit;display:table;width:auto}"
    ".loynes caption{caption-side:top;text-align:left;font-weight:600;padding:.2em 0;color:inherit}"
    ".loynes table th,.loynes table td{padding:.15em .7em;text-align:right;border:0;background:none;color:inherit;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".loynes table th{border-bottom:1px solid rgba(128,128,128,.6);font-weight:600;vertical-align:bottom}"
    ".loynes table tr,.loynes table tr:hover{background:none}"
    ".loynes table tr+tr td{border-top:1px solid rgba(128,128,128,.18)}"
    ".loynes table th:first-child,.loynes table td:first-child{text-align:left}"
    ".loynes table td.sentence{text-align:left;white-space:normal;max-width:36em}"
    ".loynes p{margin:.2em 0}.loynes .aside{opacity:.75}"
    ".loynes .warning{border-left:3px solid #d98200;padding-left:.6em}"
)


def in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter: its shell has one. A script, and IPython in a terminal, have none."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


def framed(*parts: str) -> str:
    """Parts of HTML as one piece with its style."""
    return f'<div class="loynes"><style>{STYLE}</style>{"".join(parts)}</div>'


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts, as HTML; it has a class, so that sites leave its looks alone."""
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f"<caption>{_text(caption)}</caption>" if caption else ""
    return f'<table class="numbers">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def paragraph(text: str, kind: str = "", lead: str = "") -> str:
    """A paragraph, with a few words in bold before it; line breaks stay."""
    words = "<br>".join(_text(line) for line in text.split("\n"))
    bold = f"<b>{_text(lead)}</b> " if lead else ""
    opening = f'<p class="{kind}">' if kind else "<p>"
    return f"{opening}{bold}{words}</p>"


def _cell(text: str) -> str:
    kind = ' class="sentence"' if text.count(" ") > MOST_BLANKS else ""
    return f"<td{kind}>{_text(text)}</td>"


def _text(value: str) -> str:
    return escape(readable(value))
