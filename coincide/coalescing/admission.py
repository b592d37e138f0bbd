"""Admission: what becomes of a frame that comes to an extent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from coincide.arrays import Int64Array, PositionArray
from coincide.coalescing.merged_frame import MergedFrame
from coincide.stable_order import stable_order


class Admission(NamedTuple):
    """Which rows of a frame come too late, and which readings leave for the others.

    Attributes
    ----------
    merged : MergedFrame
    leaving : ndarray of int64, shape (G,)
        How many of each group leave, the oldest of the merged ones.
    late, late_by_us : ndarray of int64, shape (l,)
        Rows of the frame that came too late, and by how much.
    """

    merged: MergedFrame
    leaving: Int64Array
    late: Int64Array
    late_by_us: Int64Array


def rows_of_groups(code: Int64Array) -> Iterator[tuple[int, PositionArray]]:
    """Yield each group that has rows, and its rows in their order.

    Examples
    --------
    >>> [(code, rows.tolist()) for code, rows in rows_of_groups(np.array([2, 0, 2]))]
    [(0, [1]), (2, [0, 2])]
    """
    order = stable_order(code)
    of_group = code[order]
    begins = np.flatnonzero(np.append(True, of_group[1:] != of_group[:-1])[: len(code)])
    for rows in np.split(order, begins[1:]):
        if len(rows):
            yield int(code[rows[0]]), rows
