"""One HTML file from a result: words and tables as HTML, charts as data that a small script draws.

Names come from files that anybody may have written. They are escaped in the HTML, the data has no `<`, the script puts
text only where text goes, and the page's own policy lets nothing but that script and style run.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import math
import os
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path

from loynes._version import __version__
from loynes.errors import UsageError
from loynes.model.cluster import Model
from loynes.readable import readable, readable_throughout, visible
from loynes.report.content import Cell, Content, Grid, Picture, Sure, content_of
from loynes.report.reproduce import again
from loynes.results.base import Result
from loynes.results.charts.chart import Chart
from loynes.results.charts.units import in_units
from loynes.results.files import check_writable, write_text

SCRIPTS = ("drawing.js", "controls.js", "rows.js", "timeline.js", "lines.js", "save.js", "page.js")
# Texts in tables that are longer may be broken into lines.
LONG = 28


def write(result: Result, path: str | Path) -> int:
    """Write the page of a result, whole or not at all; its size in bytes."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise UsageError(f"{path}: a report is written to an .html file")
    check_writable(target)
    text = page(result)
    write_text(target, text)
    return len(text.encode())


def page(result: Result) -> str:
    """The page of a result as HTML."""
    content = content_of(result)
    charts = [in_units(chart, result.time_unit) for chart in content.charts]
    return html_of(replace(content, charts=charts), again(result), result.warnings)


def html_of(content: Content, commands: list[str], warnings: tuple[str, ...] = ()) -> str:
    """A page as HTML: its contents, and the lines that give the same again."""
    style, script = _asset("page.css"), _script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_fingerprint(style)}'; script-src '{_fingerprint(script)}'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="loynes {__version__}">',
            f"<title>{_text(content.title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            *_body(content, commands, warnings),
            f'<script type="application/json" id="charts">{_data(content.charts)}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _asset(name: str) -> str:
    return files("loynes.report").joinpath("assets", name).read_text(encoding="utf-8")


def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(charts: list[Chart]) -> str:
    """JSON in which no HTML can begin or end."""
    text = json.dumps(
        [readable_throughout(chart).to_data() for chart in charts], allow_nan=False, separators=(",", ":")
    )
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(value: str) -> str:
    return escape(readable(value))


def _lines(value: str) -> str:
    """Of several lines that are copied from the page: all of them, whole."""
    return escape(visible(value, lines=True))


def _body(content: Content, commands: list[str], warnings: tuple[str, ...]) -> list[str]:
    facts = "".join(f"<li>{_text(fact)}</li>" for fact in content.facts)
    lines = [
        "<header>",
        f'<p class="kind">loynes <span>{_text(content.kind)}</span></p>',
        '<button type="button" id="theme" hidden>Dark</button>',
        f"<h1>{_text(content.title)}</h1>",
        f'<ul class="facts">{facts}<li>{_today()}</li></ul>',
        "</header>",
        "<main>",
        *_warnings([*warnings, *content.warnings]),
        '<section class="summary" aria-label="Summary">',
        *(f"<p>{_text(sentence)}</p>" for sentence in content.summary),
        "</section>",
    ]
    if content.tiles:
        lines.append('<dl class="tiles">')
        for tile in content.tiles:
            detail = f'<dd class="detail">{_text(tile.detail)}</dd>' if tile.detail else ""
            lines.append(f"<div><dt>{_text(tile.label)}</dt><dd>{_text(tile.value)}</dd>{detail}</div>")
        lines.append("</dl>")
    if content.charts:
        lines.append('<section aria-labelledby="charts-head"><h2 id="charts-head">Charts</h2>')
        lines.append("<noscript><p>Charts are drawn by a script; the tables have all numbers.</p></noscript>")
        lines += [_figure(number, chart) for number, chart in enumerate(content.charts)]
        lines.append("</section>")
    if content.pictures:
        lines.append('<section aria-labelledby="pictures-head"><h2 id="pictures-head">Figures</h2>')
        lines += [_picture(picture) for picture in content.pictures]
        lines.append("</section>")
    if content.grids:
        lines.append('<section aria-labelledby="tables-head"><h2 id="tables-head">Tables</h2>')
        lines += [_table(grid) for grid in content.grids]
        lines.append("</section>")
    return [*lines, *_sure(content.sure), *_models(content.models), *_again(content, commands), "</main>"]


def _today() -> str:
    """When the page was written; SOURCE_DATE_EPOCH stands for now where pages must come out the same."""
    now = os.environ.get("SOURCE_DATE_EPOCH", "")
    zone = datetime.UTC if now.isdecimal() else None
    day = datetime.datetime.fromtimestamp(int(now), zone).date() if now.isdecimal() else datetime.datetime.now().date()
    return f'<time datetime="{day.isoformat()}">{day.day} {day:%B %Y}</time>'


def _warnings(warnings: list[str]) -> list[str]:
    if not warnings:
        return []
    items = "".join(f"<li>{_text(text)}</li>" for text in warnings)
    head = "Warning" if len(warnings) == 1 else "Warnings"
    return [f'<section class="warnings" role="alert"><h2>{head}</h2><ul>{items}</ul></section>']


def _figure(number: int, chart: Chart) -> str:
    text = str(chart.to_data()["note"])
    note = f"<p>{_text(text)}</p>" if text else ""
    return f'<figure data-chart="{number}"><figcaption><h3>{_text(chart.title)}</h3>{note}</figcaption></figure>'


def _picture(picture: Picture) -> str:
    """A drawing as an image, which can run nothing and ask for nothing."""
    data = base64.b64encode(picture.svg.encode()).decode()
    image = f'<img alt="{_text(picture.title)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure><figcaption><h3>{_text(picture.title)}</h3></figcaption>{image}</figure>"


def _table(grid: Grid) -> str:
    numeric = [any(row[i].value is not None for row in grid.rows) for i in range(len(grid.columns))]
    head = "".join(
        f'<th scope="col"{_class("number" if wide else "")}><button type="button">{_text(name)}</button></th>'
        for name, wide in zip(grid.columns, numeric, strict=True)
    )
    groups = [grid.rows[: grid.pinned], grid.rows[grid.pinned :]]
    bodies = "".join(
        f"<tbody{' class=pinned' if place == 0 else ''}>{''.join(_row(row, numeric) for row in rows)}</tbody>"
        for place, rows in enumerate(groups)
        if rows
    )
    title = _text(grid.title)
    note = f'<p class="note">{_text(grid.note)}</p>' if grid.note else ""
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {title}">'
    table = f"{scroll}<table><thead><tr>{head}</tr></thead>{bodies}</table></div>"
    frame = f'<div class="frame"><div class="edge"></div>{table}</div>'
    return f'<h3>{title}</h3>{note}<div class="table" data-title="{title}">{frame}</div>'


def _number(end: float) -> str:
    """The end of an interval; nothing where it is open."""
    return repr(end) if math.isfinite(end) else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _row(row: list[Cell], numeric: list[bool]) -> str:
    cells = []
    for place, (one, wide) in enumerate(zip(row, numeric, strict=True)):
        value = "" if one.value is None else f' data-value="{one.value!r}"'
        if one.ends is not None:
            value += f' data-low="{_number(one.ends[0])}" data-high="{_number(one.ends[1])}"'
        tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
        kind = "number" if wide else "long" if len(one.text) > LONG else ""
        cells.append(f"<{tag}{scope}{_class(kind)}{value}>{_text(one.text)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _sure(sure: Sure) -> list[str]:
    lines = ['<section class="sure" aria-labelledby="sure-head"><h2 id="sure-head">How sure is this?</h2>']
    lines += [f"<p>{_text(sentence)}</p>" for sentence in sure.sentences]
    if sure.terms:
        lines.append('<dl class="terms">')
        for term, value, meaning in sure.terms:
            lines.append(f"<div><dt>{_text(term)} <b>{_text(value)}</b></dt><dd>{_text(meaning)}</dd></div>")
        lines.append("</dl>")
    return [*lines, "</section>"]


def _models(models: list[tuple[str, Model]]) -> list[str]:
    details = [
        f"<details><summary>The model: {_text(name)}</summary><pre>{_lines(model.to_toml().strip())}</pre></details>"
        for name, model in models
    ]
    return ['<section aria-label="Model">', *details, "</section>"] if details else []


def _again(content: Content, commands: list[str]) -> list[str]:
    pair = any("b.toml" in line for line in commands)
    names = "the models above as a.toml and b.toml" if pair else "the (first) model above as model.toml"
    first = f"<p>Save {names}, then:</p>" if any(".toml" in line for line in commands) else ""
    lines = [first, f'<pre class="command">{_lines(chr(10).join(commands))}</pre>'] if commands else []
    how = "".join(f"<div><dt>{_text(term)}</dt><dd>{_text(value)}</dd></div>" for term, value in content.how)
    return [
        '<section aria-labelledby="again-head"><h2 id="again-head">The same again</h2>',
        *lines,
        "<p>The same version gives the same numbers, whatever the number of cores.</p>",
        f'<dl class="how">{how}</dl>',
        "</section>",
    ]
