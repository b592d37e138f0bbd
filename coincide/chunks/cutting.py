"""Where to cut rows that lie anywhere: a chunk for each small area, and stretches of time for each large one.

Rows are counted by area first. An area with few rows is one chunk. A large one is counted again by cells of time of
equal length, and neighbouring cells make a chunk. Where a cell alone is too large, its area gets shorter cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.arrays.order import stable_order_by

ONE_CELL = 62  # so many bits hold the time from the first row of an area to its last
CELL_BITS = 36  # the number of a cell has at most so many bits; the code of an area stands before them
CELLS_A_CHUNK = 16
FINER_BITS = 8
MOST_CELLS = 1 << 20  # of one area, those without rows not counted
BEGINNING_US, END_US = -(1 << 62), 1 << 62


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
class Cells:
    """How time is counted: the cell of a row is ``(time - first_us) >> level``, both of its area; int64 (areas,)."""

    first_us: Int64Array
    level: Int64Array

    @classmethod
    def of(cls, counts: AreaCounts, chunk_rows: int) -> Cells:
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
    """The chunks, and which rows each of them sees.

    Attributes
    ----------
    cells : Cells
    first_us, end_us : ndarray of int64, shape (chunks,)
        A chunk owns the rows of its area from the first of these times up to, not including, the other.
    task : ndarray of int64, shape (chunks,)
        Which task works on it; a task has as many small chunks as fill a large one.
    tasks : int
    seen_area, seen_cell, seen_by : ndarray of int64, shape (n,)
        The rows of this cell are seen by this chunk.
    most_rows : int
        Rows of the task that sees most of them.
    """

    cells: Cells
    first_us: Int64Array
    end_us: Int64Array
    task: Int64Array
    tasks: int
    seen_area: Int64Array
    seen_cell: Int64Array
    seen_by: Int64Array
    most_rows: int

    def owns(self, chunk: Int64Array, time_us: Int64Array) -> BoolArray:
        """Whether each row, of the area of its chunk, is the chunk's own."""
        owned: BoolArray = (time_us >= self.first_us[chunk]) & (time_us < self.end_us[chunk])
        return owned


def cut(counts: AreaCounts, count_cells: CountCells, reach_us: int, chunk_rows: int, *, looks_back: bool) -> Chunks:
    """Cut all areas into chunks of about so many rows, each of which sees `reach_us` beyond its end.

    A chunk is longer where the rows in reach are more than its own, so no row is seen by more than a few chunks. With
    `looks_back` chunks see as far before their beginning.

    Examples
    --------
    Two areas; the second has a row each millisecond and is cut in four:

    >>> counts = AreaCounts(np.array([2, 4000]), np.array([0, 0]), np.array([9, 3_999_000]))
    >>> def count_cells(areas, levels):
    ...     cell, rows = np.unique(np.arange(0, 4_000_000, 1000) >> levels[0], return_counts=True)
    ...     return CellCounts(np.full(len(cell), areas[0]), cell, rows)
    >>> chunks = cut(counts, count_cells, reach_us=5000, chunk_rows=1000, looks_back=False)
    >>> chunks.end_us[1:-1].tolist(), chunks.tasks
    ([1015808, 2031616, 3047424], 4)
    """
    cells = Cells.of(counts, chunk_rows)
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
    return _chunks(counts, cells, counted, reach_us, chunk_rows, looks_back=looks_back)


class _Stretches(NamedTuple):
    """Chunks of one area: their cells first : end among those that have rows, and those that they see."""

    first: Int64Array
    end: Int64Array
    seen_first: Int64Array
    seen_end: Int64Array


def _chunks(
    counts: AreaCounts, cells: Cells, counted: CellCounts, reach_us: int, chunk_rows: int, *, looks_back: bool
) -> Chunks:
    small = np.flatnonzero(cells.level == ONE_CELL)
    first_us, end_us = [np.full(len(small), BEGINNING_US)], [np.full(len(small), END_US)]
    rows, seen = [counts.rows[small]], [np.array([small, np.zeros_like(small), np.arange(len(small))])]
    order = stable_order_by(counted.area, counted.cell)
    area, cell, of_cell = (column[order] for column in counted)
    chunks = len(small)
    for code in np.unique(area).tolist():
        part = slice(*np.searchsorted(area, [code, code + 1]))
        begin_us = counts.first_us[code] + (cell[part] << cells.level[code])
        cumulated = np.append(0, np.cumsum(of_cell[part]))
        stretches = _stretches(begin_us, cumulated, 1 << int(cells.level[code]), reach_us, chunk_rows, looks_back)
        borders_us = begin_us[stretches.first[1:]]
        first_us.append(np.append(BEGINNING_US, borders_us))
        end_us.append(np.append(borders_us, END_US))
        rows.append(cumulated[stretches.seen_end] - cumulated[stretches.seen_first])
        width = stretches.seen_end - stretches.seen_first
        nth = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
        at = np.repeat(stretches.seen_first, width) + nth
        by = chunks + np.repeat(np.arange(len(width)), width)
        seen.append(np.array([np.full(len(at), code), cell[part][at], by]))
        chunks += len(width)
    task, most_rows = _tasks(np.concatenate(rows), chunk_rows)
    tasks = int(task.max(initial=-1)) + 1
    seen_area, seen_cell, seen_by = np.hstack(seen)
    borders = np.concatenate(first_us), np.concatenate(end_us)
    return Chunks(cells, *borders, task, tasks, seen_area, seen_cell, seen_by, most_rows)


def _stretches(
    begin_us: Int64Array, cumulated: Int64Array, cell_us: int, reach_us: int, chunk_rows: int, looks_back: bool
) -> _Stretches:
    """Go through the cells of one area; a chunk ends where it has enough rows, and as many as it sees beyond them."""
    found, first, cells = [], 0, len(begin_us)
    while first < cells:
        needed = chunk_rows
        while True:
            end = min(int(np.searchsorted(cumulated, cumulated[first] + needed)), cells)
            seen_end = int(np.searchsorted(begin_us, begin_us[end - 1] + cell_us + reach_us))
            beyond = int(cumulated[seen_end] - cumulated[end])
            if beyond <= needed or end == cells:
                break
            needed = beyond
        seen_first = first
        if looks_back:
            seen_first = int(np.searchsorted(begin_us, begin_us[first] - reach_us - cell_us, side="right"))
        found.append((first, end, seen_first, max(end, seen_end)))
        first = end
    return _Stretches(*np.array(found, np.int64).T)


def _tasks(rows: Int64Array, chunk_rows: int) -> tuple[Int64Array, int]:
    """Give chunks to tasks in their order; return the task of each, and the rows of the task that has most."""
    before = np.cumsum(rows) - rows
    _, task = np.unique(before // max(chunk_rows, 1), return_inverse=True)
    return task.astype(np.int64), int(np.bincount(task, rows).max(initial=0))
