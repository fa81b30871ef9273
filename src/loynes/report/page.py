"""One HTML file from a result: words and tables as HTML, charts as data that a small script draws.

Names come from files that anybody may have written. They are escaped in the HTML, the data has no `<`, the script puts
text only where text goes, and the page's own policy lets nothing but that script and style run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from loynes.errors import UsageError
from loynes.report import comparison, evaluation, plan, policies, replay, simulation, sweep, threshold
from loynes.report.content import Cell, Content, Grid, Sure
from loynes.report.leaves import Data
from loynes.results.files import check_writable, write_text

SCRIPTS = ("drawing.js", "controls.js", "rows.js", "lines.js", "page.js")
# Texts in tables that are longer may be broken into lines.
LONG = 28
Make = Callable[[Data, Data | None], Content]


def page(result: Any, asked: Data | None = None) -> str:
    """The page of a result; `asked` is what its run folder says was asked."""
    return page_of(result.to_dict(), asked)


def write(result: Any, path: str | Path, asked: Data | None = None) -> int:
    """Write the page, whole or not at all; its size in bytes."""
    target = Path(path)
    if target.suffix.lower() != ".html":
        raise UsageError(f"{path}: a report is written to an .html file")
    check_writable(target)
    text = page(result, asked)
    write_text(target, text)
    return len(text.encode())


def page_of(data: Data, asked: Data | None = None) -> str:
    """The page of a result's plain data."""
    told = _maker(data)(data, asked)
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
            f'<meta name="generator" content="loynes {_text(data.get("version") or "")}">',
            f"<title>{_text(told.title)}</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            *_body(told),
            f'<script type="application/json" id="charts">{_data(told.charts)}</script>',
            f"<script>{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _maker(data: Data) -> Make:
    """What makes the page of this kind of result."""
    named: dict[Any, Make] = {
        "sweep": sweep.content,
        "plan": plan.content,
        "compare": comparison.content,
        "simulate": simulation.content,
        "policies": policies.content,
    }
    if data.get("command") in named:
        return named[data["command"]]
    if data.get("method") == "replay":
        return replay.content
    if "longest" in data:
        return threshold.samples
    if "overall" in data and "system" in data:
        return evaluation.content
    if "threshold" in data and "hol_loss_saturated" in data and "ideal" in data:
        return threshold.content
    raise UsageError("there is no report of this kind of result")


def _asset(name: str) -> str:
    return files("loynes.report").joinpath("assets", name).read_text(encoding="utf-8")


def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(value: Any) -> str:
    """JSON in which no HTML can begin or end."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _text(value: Any) -> str:
    # A half of a surrogate pair can stand in JSON but not in UTF-8.
    return escape(str(value).encode("utf-8", "replace").decode())


def _body(told: Content) -> list[str]:
    facts = "".join(f"<li>{_text(fact)}</li>" for fact in told.facts)
    lines = [
        "<header>",
        f'<p class="kind">loynes <span>{_text(told.kind)}</span></p>',
        '<button type="button" id="theme" hidden>Dark</button>',
        f"<h1>{_text(told.title)}</h1>",
        f'<ul class="facts">{facts}</ul>',
        "</header>",
        "<main>",
        *_warnings(told.warnings),
        '<section class="summary" aria-label="Summary">',
        *(f"<p>{_text(sentence)}</p>" for sentence in told.summary),
        "</section>",
    ]
    if told.tiles:
        lines.append('<dl class="tiles">')
        for tile in told.tiles:
            detail = f'<dd class="detail">{_text(tile.detail)}</dd>' if tile.detail else ""
            lines.append(f"<div><dt>{_text(tile.label)}</dt><dd>{_text(tile.value)}</dd>{detail}</div>")
        lines.append("</dl>")
    if told.charts:
        lines.append('<section aria-labelledby="charts-head"><h2 id="charts-head">Charts</h2>')
        lines.append("<noscript><p>Charts are drawn by a script; the tables have all numbers.</p></noscript>")
        lines += [_figure(number, chart) for number, chart in enumerate(told.charts)]
        lines.append("</section>")
    lines.append('<section aria-labelledby="tables-head"><h2 id="tables-head">Tables</h2>')
    lines += [_table(grid) for grid in told.grids]
    lines.append("</section>")
    return [*lines, *_sure(told.sure), *_models(told.models), *_again(told), "</main>"]


def _warnings(warnings: list[str]) -> list[str]:
    if not warnings:
        return []
    items = "".join(f"<li>{_text(text)}</li>" for text in warnings)
    head = "Warning" if len(warnings) == 1 else "Warnings"
    return [f'<section class="warnings" role="alert"><h2>{head}</h2><ul>{items}</ul></section>']


def _figure(number: int, chart: dict[str, Any]) -> str:
    note = f"<p>{_text(chart['note'])}</p>" if chart.get("note") else ""
    return f'<figure data-chart="{number}"><figcaption><h3>{_text(chart["title"])}</h3>{note}</figcaption></figure>'


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
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {title}">'
    return f"<h3>{title}</h3>{scroll}<table><thead><tr>{head}</tr></thead>{bodies}</table></div>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _row(row: list[Cell], numeric: list[bool]) -> str:
    cells = []
    for place, (one, wide) in enumerate(zip(row, numeric, strict=True)):
        value = "" if one.value is None else f' data-value="{one.value!r}"'
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


def _models(models: list[tuple[str, Any]]) -> list[str]:
    lines = []
    for name, definition in models:
        if definition is not None:
            lines.append(
                f"<details><summary>The model: {_text(name)}</summary><pre>{_text(_toml(definition))}</pre></details>"
            )
    return ['<section aria-label="Model">', *lines, "</section>"] if lines else []


def _toml(definition: Any) -> str:
    """As a model file; data that TOML cannot hold as JSON."""
    import tomli_w

    try:
        return tomli_w.dumps(definition).strip()
    except (TypeError, AttributeError, ValueError):
        return json.dumps(definition, indent=2)


def _again(told: Content) -> list[str]:
    names = "the models above as a.toml and b.toml" if len(told.models) > 1 else "the model above as model.toml"
    first = f"<p>Save {names}, then:</p>" if told.models else ""
    how = "".join(f"<div><dt>{_text(term)}</dt><dd>{_text(value)}</dd></div>" for term, value in told.how)
    return [
        '<section aria-labelledby="again-head"><h2 id="again-head">The same again</h2>',
        first,
        f'<pre class="command">{_text(chr(10).join(told.command))}</pre>',
        "<p>The same version gives the same numbers, whatever the number of cores.</p>",
        f'<dl class="how">{how}</dl>',
        "</section>",
    ]
