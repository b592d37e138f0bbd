"""Role order: which member of a pair of one file comes first, whatever the order of its rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays import BoolArray, Int64Array, PositionArray
from coincide.command.events import Events


def in_wrong_order(events: Events, one: PositionArray, other: PositionArray, offset_us: Int64Array) -> BoolArray:
    """Whether `other` goes before `one` by (detected_at, sensor, id); what ties in all of them stays as it is.

    Labels are compared as text: a file of text knows no other kind, and all formats are to answer alike.

    Parameters
    ----------
    one, other : ndarray of intp, shape (n,)
        Positions of the members.
    offset_us : ndarray of int64, shape (n,)
        detected_at of `other` minus that of `one`.
    """
    wrong: BoolArray = offset_us < 0
    ties = np.flatnonzero(offset_us == 0)
    for name in ("sensor", "id"):
        if name in events.labels:
            labels = events.labels[name]
            mine, theirs = (labels.take(pa.array(side[ties])).cast(pa.large_string()) for side in (one, other))
            wrong[ties] = _true(pc.greater(mine, theirs))
            ties = ties[~_true(pc.not_equal(mine, theirs))]
    return wrong


def _true(answers: pa.Array) -> BoolArray:
    """Return the answers as booleans; where a label is missing there is none, and it counts as no."""
    said: BoolArray = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
    return said
