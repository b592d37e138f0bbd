"""Frame: readings that arrive together, in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, Int64Array, LabelArray
from coincide.coalescing.link import LEFT_OUT
from coincide.coalescing.runs import Label, label_column, value_column

Arrival = tuple[int, Label, Any, Label]  # (ts_us, group, value, id)


class Frame(NamedTuple):
    """Readings in the order of their arrival; columns of shape (n,).

    Attributes
    ----------
    ts_us : ndarray of int64
    group, ref : ndarray of int64 or str
        `ref` is the id.
    value : ndarray
    kept : ndarray of bool
        False where a filter leaves a reading out: it ends the one before it, and makes no run.
    """

    ts_us: Int64Array
    group: LabelArray
    value: npt.NDArray[Any]
    ref: LabelArray
    kept: BoolArray

    def take(self, rows: npt.NDArray[Any]) -> Frame:
        """Return some of the rows: positions, or a mask."""
        return Frame(self.ts_us[rows], self.group[rows], self.value[rows], self.ref[rows], self.kept[rows])

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the rows as plain values; LEFT_OUT is the value of those left out."""
        value: list[Any] = self.value.tolist()
        if not self.kept.all():
            value = [each if stays else LEFT_OUT for each, stays in zip(value, self.kept.tolist(), strict=True)]
        return zip(self.ts_us.tolist(), self.group.tolist(), value, self.ref.tolist(), strict=True)


def frame_of(arrivals: Sequence[Arrival]) -> Frame:
    """Return plain values as a frame; the value of those left out is any other's."""
    ts, group, value, ref = zip(*arrivals, strict=True) if arrivals else [()] * 4
    kept = [each is not LEFT_OUT for each in value]
    any_value = next((each for each in value if each is not LEFT_OUT), 0)
    values = value_column([each if stays else any_value for each, stays in zip(value, kept, strict=True)])
    return Frame(np.array(ts, np.int64), label_column(group), values, label_column(ref), np.array(kept, np.bool_))
