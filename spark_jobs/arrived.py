"""Arrived: the rows that one batch brought and that were accepted, and what is known of each beside its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import Int64Array
from spark_jobs.backgrounds import Backgrounds
from spark_jobs.events import EventColumns


@dataclass(frozen=True)
class Arrived:
    """The accepted rows of a batch, which are in the table already.

    Attributes
    ----------
    rows : EventColumns
    backgrounds : Backgrounds
        What each row found counted before it.
    offset : ndarray of int64, shape (n,)
        Offset of the frame that each row came in.
    """

    rows: EventColumns
    backgrounds: Backgrounds
    offset: Int64Array

    @classmethod
    def none(cls) -> Arrived:
        """Return no rows."""
        return cls(EventColumns.empty(), Backgrounds.none(), np.empty(0, np.int64))

    def offset_of(self, seq: int) -> int:
        """Return the offset of the frame of the row with that sequence number."""
        return int(self.offset[seq - int(self.rows.seq[0])])
