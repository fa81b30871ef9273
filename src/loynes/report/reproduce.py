"""The command line that gives the same answer again."""

from __future__ import annotations

from loynes.questions.asking.command_line import command_line, python_line
from loynes.questions.asking.register import load_all
from loynes.results.base import Result


def again(result: Result) -> list[str]:
    """From the question that the result keeps: as a command line, and in Python."""
    question = load_all()[result.command]
    return [command_line(question, result.question), python_line(question, result.question)]
