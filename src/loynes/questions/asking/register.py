"""All questions there are: every module of `loynes.questions` that defines one, found by looking."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from loynes.questions.asking.question import Question, questions


def load_all() -> dict[str, type[Question]]:
    """The questions, by command; each is registered where it is defined."""
    package = import_module("loynes.questions")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.ispkg:
            import_module(f"loynes.questions.{module.name}")
    return questions()
