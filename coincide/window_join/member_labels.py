"""MemberLabels: ids, keys and the order of events by number of row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, Int64Array, LabelArray
from coincide.detections import Detections
from coincide.errors import DetectionsError
from coincide.timing_join.frame_labels import LEAST_LOG, FrameLabels
from coincide.timing_join.label_codes import LabelLog
from coincide.window_join.keyed_frames import key_labels


class MemberLabels:
    """What the rows of a streaming window join are called, and which of them have equal keys.

    Parameters
    ----------
    frames : FrameLabels
    is_keyed : bool
        Whether every row has a key.
    """

    def __init__(self, frames: FrameLabels, *, is_keyed: bool) -> None:
        self._frames = frames
        self._keys = LabelLog()
        self.is_keyed = is_keyed

    def checked_keys(self, stream: str, frame: Detections, key: npt.ArrayLike | None) -> LabelArray:
        """Return the keys of a frame's rows.

        Raises
        ------
        DetectionsError
            Keys that are missing or in vain, not one a row, or of another kind than before.
        """
        if (key is not None) != self.is_keyed and len(frame):
            allowed = "one key a row, as the join is keyed" if self.is_keyed else "left out: the join is not keyed"
            raise DetectionsError("key", key, allowed)
        labels = key_labels(stream, () if key is None else key, len(frame) if self.is_keyed else 0)
        if len(labels) and len(self._keys) and self._keys.kind != labels.dtype.kind:
            raise DetectionsError("key", f"an array of {labels.dtype}", "labels of the same kind as before")
        return labels

    def append_keys(self, labels: LabelArray) -> None:
        """Take in the keys of the next rows."""
        self._keys.append(labels)

    def have_equal_keys(self, rows: Int64Array, others: Int64Array) -> BoolArray:
        """Whether two rows each have the same key."""
        equal: BoolArray = np.asarray(self._keys.of(rows) == self._keys.of(others), dtype=np.bool_)
        return equal

    def names(self, rows: Int64Array) -> LabelArray:
        """Return the ids of rows, see `FrameLabels.names`."""
        return self._frames.names(rows)

    def goes_first(self, rows: Int64Array, others: Int64Array) -> BoolArray:
        """Whether each row goes before the other, see `FrameLabels.goes_first`."""
        return self._frames.goes_first(rows, others)

    def is_log_long(self, held: int) -> bool:
        """Whether keys can be forgotten, see `FrameLabels.is_log_long`."""
        return len(self._keys) > 2 * held + LEAST_LOG

    def forget_before(self, row: int) -> None:
        """Forget keys of earlier rows."""
        if len(self._keys):
            self._keys.forget_before(row)
