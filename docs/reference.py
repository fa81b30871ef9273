"""Writes reference.md: every public name of loynes, from the code: python docs/reference.py

What is public is in `loynes/__init__.pyi`; what a name means, in its docstring; options are the fields of the
questions. The examples are in reference_examples.py, which a test runs; another asks whether the page is up to date.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import loynes
from loynes.model.laws import LAWS
from loynes.questions.asking.ask import Ask
from loynes.questions.asking.question import option_of

HERE = Path(__file__).parent
PAGE = HERE / "reference.md"
EXAMPLES = HERE / "reference_examples.py"
INTRODUCTION = """\
# Python, name by name

Every public name, written from the code by `docs/reference.py`; [Python](python.md) is the page to begin with.
What is not here may change ([what is promised](versioning.md)).
The examples go together: each may use what those before it made, and all begin with

```python
{first}
```

Options of functions are those of the [commands](commands.md), with the same names and defaults.
All of them also take `folder=` (record the run there), `executor=` (who computes) and `progress=`.
"""
QUESTIONS, READING = "Questions", "Reading and writing"
MODELS, LAW, ARRIVAL, RESULTS, ERRORS = "Models", "Laws of service", "Arrivals", "Results", "Errors and warnings"


def examples() -> dict[str, str]:
    """The code of every name's example."""
    parts = re.split(r"^# %% (.*)$", EXAMPLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: code.strip() for name, code in zip(parts[1::2], parts[2::2], strict=True)}


def part_of(name: str) -> str:
    """Under which heading a name is."""
    value = getattr(loynes, name)
    if isinstance(value, Ask):
        return QUESTIONS
    if isinstance(value, type) and issubclass(value, Exception):
        return ERRORS
    if value in LAWS.values():
        return LAW
    if "process" in getattr(value, "model_fields", {}):
        return ARRIVAL
    if isinstance(value, FunctionType) or name == "report":
        return READING
    return MODELS if name in ("Model", "JobClass", "Nodes", "Quota", "Trace", "policies") else RESULTS


def doc_of(value: object) -> str:
    """The docstring's first paragraph in a line; none where a record has only the one that Python makes."""
    doc = inspect.getdoc(value) or ""
    first = " ".join(doc.partition("\n\n")[0].split())
    return "" if first.startswith(f"{getattr(value, '__name__', '?')}(") else first


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def options_table(question: Any) -> list[str]:
    """A row for every option: name, default, meaning."""
    rows = ["| option | default | |", "| --- | --- | --- |"]
    for name, field in question.model_fields.items():
        if name == "model":
            continue
        default = "needed" if field.is_required() else f"`{field.get_default(call_default_factory=True)!r}`"
        rows.append(f"| `{name}` | {cell(default)} | {cell(option_of(question, name).help)} |")
    return rows


def signature_of(name: str, value: Any) -> str:
    """A call with the names of the arguments."""
    parameters = inspect.signature(value).parameters.values()
    shown = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
    return f"`{name}({', '.join(shown)})`"


def entry(name: str, code: dict[str, str]) -> list[str]:
    """Heading, meaning, options and example of a name."""
    value = getattr(loynes, name)
    lines = [f"### {name}", ""]
    if isinstance(value, FunctionType):
        lines += [signature_of(name, value), ""]
    lines += [doc_of(value), ""]
    if isinstance(value, Ask):
        returned = inspect.signature(value).return_annotation.__name__
        lines[-1:] = ["", f"Gives `{returned}`.", "", *options_table(value.question), ""]
    if name in code:
        lines += ["```python", code[name], "```", ""]
    return lines


def fields_of(record: Any) -> str:
    return ", ".join(f"`{n}`" for n in record.model_fields if n not in ("law", "process"))


def table(names: list[str], columns: tuple[str, str], second: Any) -> list[str]:
    """Names with something about each, and what they mean."""
    rows = [f"| {columns[0]} | {columns[1]} | |", "| --- | --- | --- |"]
    return [
        *rows,
        *(f"| `{n}` | {cell(second(getattr(loynes, n)))} | {cell(doc_of(getattr(loynes, n)))} |" for n in names),
        "",
    ]


def given_by(record: Any) -> str:
    """The function that gives such results; none for what is part of others."""
    command = getattr(record, "command", "")
    if not command:
        return ""
    named = {"policies": "compare_policies", "partition": "plan_partition"}.get(command, command.replace("-", "_"))
    of_logs = named.removesuffix("_log")
    return f"`{named}`" if named == of_logs else f"`{of_logs}` of a log"


def text() -> str:
    """The whole page."""
    code = examples()
    order = {name: place for place, name in enumerate(code)}
    names = [name for name in loynes.__all__ if not name.startswith("_")]
    names.sort(key=lambda name: order.get(name, len(order)))
    lines = [INTRODUCTION.format(first=code["(first)"])]
    for heading in (QUESTIONS, READING, MODELS):
        lines += [f"## {heading}", ""]
        for name in (one for one in names if part_of(one) == heading):
            lines += entry(name, code)
    for heading in (LAW, ARRIVAL):
        lines += [f"## {heading}", "", "Also written in [model files](models.md).", ""]
        lines += table([one for one in names if part_of(one) == heading], ("name", "arguments"), fields_of)
    about = "What the functions give; their keys in JSON are in `loynes schema result NAME`."
    lines += [f"## {RESULTS}", "", about, ""]
    lines += table([one for one in names if part_of(one) == RESULTS], ("name", "given by"), given_by)
    lines += entry("Estimate", code)
    lines += [f"## {ERRORS}", ""]
    lines += table(
        [one for one in names if part_of(one) == ERRORS], ("name", "is a"), lambda error: f"`{error.__base__.__name__}`"
    )
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8", newline="")
