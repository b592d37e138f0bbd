"""Checks of the arrays that name the members of tuples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from coincide.arrays import Int64Array
from coincide.errors import OffsetError
from coincide.histogram import Histogram
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.joint.tuples import EventTuples

FURTHEST_US = 2**53  # beyond it microseconds are no exact floats


def checked_tuples(
    graph: ConstraintGraph,
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
) -> EventTuples:
    """Return the tuples, or say which field is not one row for each stream."""
    members = len(graph.streams)
    if len(templates) != members:
        raise OffsetError("templates", f"{len(templates)} sequences", f"one for each of {members} streams")
    index = _rows("template_index", template_index, members)
    times_us = _rows("detected_at_us", detected_at_us, members)
    if index.shape != times_us.shape:
        raise OffsetError("detected_at_us", times_us.shape, f"of the shape of template_index, {index.shape}")
    for stream, side, row in zip(graph.streams, templates, index, strict=True):
        if not ((row >= 0) & (row < len(side))).all():
            raise OffsetError("template_index", stream, f"numbers of its templates, from 0 to {len(side) - 1}")
    if index.size and (np.ptp(times_us.astype(np.float64), axis=0) >= FURTHEST_US).any():
        raise OffsetError("detected_at_us", times_us.shape, "times of one tuple less than 2**53 microseconds apart")
    return EventTuples(templates, index, times_us)


def _rows(field: str, given: npt.ArrayLike, members: int) -> Int64Array:
    array = np.asarray(given)
    if array.ndim != 2 or len(array) != members:
        raise OffsetError(field, array.shape, f"of shape ({members}, n): a row for each stream")
    if array.size and array.dtype.kind not in "iu":
        raise OffsetError(field, array.dtype.name, "whole numbers")
    return array.astype(np.int64)
