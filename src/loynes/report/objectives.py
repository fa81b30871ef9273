"""Objectives on the page of an answer: the verdict first, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from loynes.report.content import Grid
from loynes.report.words import sentence
from loynes.results.judged import Judged, unmet_words
from loynes.results.table import Table


def verdicts(objectives: Sequence[Judged]) -> list[str]:
    """A sentence, if anything was asked for."""
    if not objectives:
        return []
    met = "The objective is met." if len(objectives) == 1 else f"All {len(objectives)} objectives are met."
    unmet = unmet_words(objectives)
    return [sentence(unmet) if unmet else met]


def objective_grids(objectives: Sequence[Judged], table: Table) -> list[Grid]:
    return [Grid.of(table, "Objectives")] if objectives else []
