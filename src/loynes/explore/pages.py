"""What the browser runs: the page's files, and the same put together as one module for a notebook."""

from __future__ import annotations

import json
import re
from importlib.resources import files

# The modules of the page, each after those that it takes from.
MODULES = (
    "readable.js", "digits.js", "charts.js", "line.js", "state.js", "editing.js", "answers.js", "explorer.js",
)  # fmt: skip
# The same in a notebook.
WIDGET = "widget.js"
# What the browser may ask for: whose it is, and what. Styles of reports are those of the page, too.
ASSETS = {
    "index.html": ("explore", "text/html"),
    "page.css": ("explore", "text/css"),
    "report.css": ("report", "text/css"),
    **dict.fromkeys((*MODULES, "link.js", "page.js"), ("explore", "text/javascript")),
}


def asset_of(name: str) -> str:
    """The text of a file of the page."""
    room = ASSETS[name][0]
    return _read(room, "page.css" if name == "report.css" else name)


def _read(room: str, name: str) -> str:
    return (files(f"loynes.{room}") / "assets" / name).read_text(encoding="utf-8")


def bundled() -> str:
    """All modules as one, with the page's markup and styles; it exports `render`, as widgets of notebooks do.

    A notebook takes one module and no files beside it. Every module becomes a function that gives its exports.
    """
    parts = [f"const markup = {_quoted(_body())};", f"const styles = {_quoted(_styles())};"]
    parts += [_wrapped(name) for name in (*MODULES, WIDGET)]
    return "\n".join([*parts, f"export default {{ render: {_variable(WIDGET)}.render }};\n"])


_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def _wrapped(name: str) -> str:
    text = _read("explore", name)
    given = [found[1] for found in _EXPORT.findall(text)]
    text = _IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_variable(found[2])};", text)
    text = _EXPORT.sub(r"\1", text)
    return f"const {_variable(name)} = (() => {{\n{text}\nreturn {{ {', '.join(given)} }};\n}})();"


def _variable(name: str) -> str:
    return f"of_{name.removesuffix('.js')}"


def _body() -> str:
    found = re.search(r"<body>(.*)</body>", asset_of("index.html"), re.DOTALL)
    assert found is not None
    return found[1]


def _styles() -> str:
    """The page's styles for a part of another page: what is said of its root and body holds for the part alone."""
    text = asset_of("report.css") + asset_of("page.css")
    text = re.sub(r":root:not\((\[[^\]]*\])\)", r":host(:not(\1))", text)
    text = re.sub(r":root(\[[^\]]*\])", r":host(\1)", text)
    text = text.replace(":root", ":host")
    return re.sub(r"(?m)^(\s*)(body|html)(?=[\s.{])", r"\1.page", text)


def _quoted(text: str) -> str:
    return json.dumps(text).replace("</", "<\\/")
