"""TemplateCells: the offset cells of template pairs, by window, worked out once for all edges and all points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import IndexArray, Int64Array
from coincide.constraints.window import Window
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.offset_cells import OffsetCells

CELLS_IN_ALL = 2**18  # of all template pairs there may be
FEWEST_CELLS, MOST_CELLS = 64, 512  # of one


class TemplateCells:
    """What is known of pairs of these templates."""

    def __init__(self, templates: Sequence[Histogram]) -> None:
        self.templates = tuple(templates)
        count = max(1, len(self.templates))
        self.cells = int(np.clip(CELLS_IN_ALL // count**2, FEWEST_CELLS, MOST_CELLS))
        self._known: dict[Window, tuple[Int64Array, OffsetCells]] = {}

    def pairs(self, u: Int64Array, v: Int64Array) -> TemplatePairs:
        """Return template pairs by the numbers of their templates."""
        return TemplatePairs(self.templates, self.templates, u, v)

    def of(self, window: Window, u: Int64Array, v: Int64Array) -> tuple[OffsetCells, IndexArray]:
        """Return cells, and the place of each pair of templates among them."""
        codes = u * len(self.templates) + v
        known, cells = self._known.get(window, (np.zeros(0, np.int64), None))
        new = np.setdiff1d(codes, known)
        if len(new) or cells is None:
            more = OffsetCells.of(self.pairs(*np.divmod(new, max(1, len(self.templates)))), window, self.cells)
            known = np.concatenate((known, new))
            order = np.argsort(known)
            cells = (more if cells is None else OffsetCells.concatenated((cells, more))).take(order)
            known = known[order]
            self._known[window] = known, cells
        at: IndexArray = np.searchsorted(known, codes)
        return cells, at
