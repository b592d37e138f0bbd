"""Where to cut rows that lie anywhere: a chunk for each small area, and stretches of time for each large one.

Rows are counted by area first. An area with few rows is one chunk. A large one is counted again by cells of time of
equal length, and neighbouring cells make a chunk. Where a cell alone is too large, its area gets shorter cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.arrays.order import group_starts, stable_order_by

ONE_CELL = 62  # so many bits hold the time from the first row of an area to its last
CELL_BITS = 36  # the number of a cell has at most so many bits; the code of an area stands before them
CELLS_A_CHUNK = 16
FINER_BITS = 8
MOST_CELLS = 1 << 20  # of one area, those without rows not counted


class AreaCounts(NamedTuple):
    """Rows of each area, and the times of its first and last; int64 (areas,). The code of an area is its position."""

    rows: Int64Array
    first_us: Int64Array
    last_us: Int64Array


class CellCounts(NamedTuple):
    """Rows of each cell that has some; int64 (cells,), in any order."""

    area: Int64Array
    cell: Int64Array
    rows: Int64Array


CountCells = Callable[[Int64Array, Int64Array], CellCounts]
"""Counts rows by cell, of the areas with these codes, whose cells have these levels."""


@dataclass(frozen=True, eq=False)
class AreaCells:
    """How time is counted: the cell of a row is ``(time - first_us) >> level``, both of its area; int64 (areas,)."""

    first_us: Int64Array
    level: Int64Array

    @classmethod
    def of(cls, counts: AreaCounts, chunk_rows: int) -> AreaCells:
        """Give areas that are more than a chunk some cells for each chunk, and all others one cell."""
        length_us = (counts.last_us - counts.first_us + 1) / CELLS_A_CHUNK / np.maximum(counts.rows / chunk_rows, 1)
        level = np.floor(np.log2(np.maximum(length_us, 1))).astype(np.int64)
        return cls(counts.first_us, np.where(counts.rows <= chunk_rows, ONE_CELL, level))

    def finer(self, counted: CellCounts, chunk_rows: int) -> Int64Array:
        """Return the areas of which a cell holds more than a chunk, if their cells can be made shorter."""
        rows, cells = np.zeros(len(self.level), np.int64), np.zeros(len(self.level), np.int64)
        np.maximum.at(rows, counted.area, counted.rows)
        np.add.at(cells, counted.area, 1)
        greatest = np.zeros(len(self.level), np.int64)
        np.maximum.at(greatest, counted.area, counted.cell)
        fits = (cells < MOST_CELLS) & (greatest < 1 << (CELL_BITS - FINER_BITS)) & (self.level > 0)
        return np.flatnonzero((rows > chunk_rows) & fits & (self.level < ONE_CELL))


@dataclass(frozen=True, eq=False)
class Chunks:
    """The chunks, and which rows each of them has.

    Attributes
    ----------
    cells : AreaCells
    task : ndarray of int64, shape (chunks,)
        Which task works on it; a task has as many small chunks as fill a large one.
    tasks : int
    area, cell, chunk : ndarray of int64, shape (n,)
        The rows of this cell of this area are the chunk's.
    """

    cells: AreaCells
    task: Int64Array
    tasks: int
    area: Int64Array
    cell: Int64Array
    chunk: Int64Array


def cut(counts: AreaCounts, count_cells: CountCells, chunk_rows: int) -> Chunks:
    """Cut all areas into chunks of about so many rows.

    Examples
    --------
    Two areas; the second has a row each millisecond and is cut in four:

    >>> counts = AreaCounts(np.array([2, 4000]), np.array([0, 0]), np.array([9, 3_999_000]))
    >>> def count_cells(areas, levels):
    ...     cell, rows = np.unique(np.arange(0, 4_000_000, 1000) >> levels[0], return_counts=True)
    ...     return CellCounts(np.full(len(cell), areas[0]), cell, rows)
    >>> chunks = cut(counts, count_cells, chunk_rows=1000)
    >>> chunks.task.tolist(), chunks.tasks
    ([0, 0, 1, 2, 3], 4)
    """
    cells = AreaCells.of(counts, chunk_rows)
    large = np.flatnonzero(cells.level < ONE_CELL)
    counted, waiting = CellCounts(*np.empty((3, 0), np.int64)), large
    while len(waiting):
        more = count_cells(waiting, cells.level[waiting])
        kept = ~np.isin(counted.area, waiting)
        counted = CellCounts(*(np.append(old[kept], new) for old, new in zip(counted, more, strict=True)))
        waiting = cells.finer(counted, chunk_rows)
        level = cells.level.copy()
        level[waiting] = np.maximum(level[waiting] - FINER_BITS, 0)
        cells = replace(cells, level=level)
    return _chunks(counts, cells, counted, chunk_rows)


def _chunks(counts: AreaCounts, cells: AreaCells, counted: CellCounts, chunk_rows: int) -> Chunks:
    """Make a chunk of each small area, and of neighbouring cells of a large one that have so many rows together."""
    small = np.flatnonzero(cells.level == ONE_CELL)
    order = stable_order_by(counted.area, counted.cell)
    area, cell, rows = (column[order] for column in counted)
    first = group_starts(area) if len(area) else np.empty(0, np.intp)
    before = np.cumsum(rows) - rows
    into_area = before - np.repeat(before[first], np.diff(np.append(first, len(area))))
    nth = into_area // max(chunk_rows, 1)
    begins = np.append(True, (np.diff(area) != 0) | (np.diff(nth) != 0))[: len(area)]
    chunk = len(small) + np.cumsum(begins) - 1
    rows_of = np.concatenate([counts.rows[small], np.bincount(chunk, rows).astype(np.int64)[len(small) :]])
    task = _tasks(rows_of, chunk_rows)
    return Chunks(
        cells,
        task,
        int(task.max(initial=-1)) + 1,
        np.append(small, area),
        np.append(np.zeros_like(small), cell),
        np.append(np.arange(len(small)), chunk),
    )


def _tasks(rows: Int64Array, chunk_rows: int) -> Int64Array:
    """Give chunks to tasks in their order; return the task of each."""
    before = np.cumsum(rows) - rows
    task: Int64Array = np.unique(before // max(chunk_rows, 1), return_inverse=True)[1]
    return task
