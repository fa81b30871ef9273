"""A law cut into cells of known probability, each with the smallest and largest value in it: bounds on expectations."""

from __future__ import annotations

import numpy as np

from loynes.arrays import Array, Ints
from loynes.inputs.jobs import services
from loynes.inputs.tables import JobTable

# Cells on either side of a law's median; fewer, but no fewer than the second number, for more classes than the third.
CELLS, FEWEST_CELLS, USUAL_CLASSES = 721, 61, 64
# Classes whose cells are made at once.
TOGETHER = 64


def tail_edges(count: int, far: float = 36.0) -> Array:
    """Edges of cells between 0 and 1 that narrow towards both ends, geometrically."""
    tail = np.exp(-np.linspace(0.0, far, count))
    return np.concatenate([0.5 * tail[::-1], 1.0 - 0.5 * tail[1:]])


def cells(table: JobTable, job_class: int, edges: Array) -> tuple[Array, Array, Array]:
    """Probability, smallest and largest service of a class in each cell of the uniform, branch by branch.

    Recipes are monotone in the uniform, so the values at a cell's ends are those.
    """
    branches = np.arange(table.first[job_class], table.first[job_class + 1])
    ends = [
        services(table, np.full(len(branches) * (len(edges) - 1), job_class), _inside(table, branches, u))
        for u in (edges[:-1], edges[1:])
    ]
    weight = (np.diff(edges) / table.stretch[branches, None]).ravel()
    return weight, np.minimum(*ends), np.maximum(*ends)


class UpperCells:
    """The services of some classes, each as a law of finitely many values that lies above it: upper ends of cells."""

    def __init__(self, table: JobTable, classes: Ints) -> None:
        self.classes = classes
        edges = tail_edges(max(FEWEST_CELLS, CELLS * USUAL_CLASSES // max(USUAL_CLASSES, len(classes))))
        self.value: list[Array] = []  # of each class, ascending
        self.weight: list[Array] = []  # the probability of each value
        for some in range(0, len(classes), TOGETHER):
            for weight, largest in _upper_ends(table, classes[some : some + TOGETHER], edges):
                order = np.argsort(largest)
                self.value.append(largest[order])
                self.weight.append(weight[order])


def _upper_ends(table: JobTable, classes: Ints, edges: Array) -> list[tuple[Array, Array]]:
    """Probability and largest service in each cell, of each of these classes: drawn all at once."""
    branches = [np.arange(table.first[c], table.first[c + 1]) for c in classes]
    size = [len(own) * (len(edges) - 1) for own in branches]
    job_class, every = np.repeat(classes, size), np.concatenate(branches)
    ends = [services(table, job_class, _inside(table, every, u)) for u in (edges[:-1], edges[1:])]
    weight = (np.diff(edges) / table.stretch[every, None]).ravel()
    cuts = np.cumsum(size)[:-1]
    return list(zip(np.split(weight, cuts), np.split(np.maximum(*ends), cuts), strict=True))


def _inside(table: JobTable, branches: Ints, u: Array) -> Array:
    """Uniforms of a class that fall at u of each of its branches."""
    return np.asarray(table.low[branches, None] + u / table.stretch[branches, None]).ravel()
