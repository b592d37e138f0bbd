"""WindowExtent: which readings of a stream count; and a batch of readings, in checked columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array, LabelArray
from coincide.coalescing.columns import duration_of, labels_of, times_of, values_of
from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.links import LEFT_OUT
from coincide.coalescing.runs import Label, label_column, value_column
from coincide.errors import CoalescingError

Key = tuple[int, Label, Label]  # (ts_us, group, id): the order of the tuple scope


@dataclass(frozen=True)
class WindowExtent:
    """Which readings of a stream count at any time, whatever the order in which they arrived.

    Of all readings that have arrived, a tuple scope holds the `size` largest by (ts, group, id); a time scope holds
    those with a ts in the closed interval [latest - duration, latest], latest being the largest ts of all. A reading
    outside when it arrives is too late: it never counts.

    Parameters
    ----------
    size : int, optional
        w, at least 1.
    duration_us : int, optional
        T in microseconds, 0 or more. Exactly one of both must be given.
    per_group : bool
        Whether each group has an extent of its own. Default: one for all groups together.

    Examples
    --------
    >>> WindowExtent(size=1000), WindowExtent(duration_us=3_600_000_000).size
    (WindowExtent(size=1000, duration_us=None, per_group=False), None)
    """

    size: int | None = None
    duration_us: int | None = None
    per_group: bool = False

    def __post_init__(self) -> None:
        if (self.size is None) == (self.duration_us is None):
            raise CoalescingError("extent", (self.size, self.duration_us), "size or duration_us, exactly one of both")
        if self.duration_us is not None:
            duration_of("duration_us", self.duration_us)
        elif isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise CoalescingError("size", self.size, "a whole number of readings, 1 or more")
        if not isinstance(self.per_group, bool):
            raise CoalescingError("per_group", self.per_group, "True or False")


def checked_extent(extent: object) -> WindowExtent:
    """Return it if it is a WindowExtent, else raise CoalescingError."""
    if not isinstance(extent, WindowExtent):
        raise CoalescingError("extent", extent, "a WindowExtent, such as WindowExtent(size=1000)")
    return extent


ReadingRow = tuple[int, Label, Any, Label]  # (ts_us, group, value, id)


class ReadingBatch(NamedTuple):
    """Readings in the order of their arrival; columns of shape (n,)."""

    ts_us: Int64Array
    group: LabelArray
    value: npt.NDArray[Any]
    ref: LabelArray  # the id
    kept: BoolArray  # False where a filter leaves a reading out: it ends the one before it, and makes no run

    def take(self, rows: npt.NDArray[Any]) -> ReadingBatch:
        """Return some of the rows: positions, or a mask."""
        return ReadingBatch(self.ts_us[rows], self.group[rows], self.value[rows], self.ref[rows], self.kept[rows])

    def rows(self) -> Iterator[ReadingRow]:
        """Yield the rows as plain values; LEFT_OUT is the value of those left out."""
        value: list[Any] = self.value.tolist()
        if not self.kept.all():
            value = [each if stays else LEFT_OUT for each, stays in zip(value, self.kept.tolist(), strict=True)]
        return zip(self.ts_us.tolist(), self.group.tolist(), value, self.ref.tolist(), strict=True)


def batch_of(rows: Sequence[ReadingRow]) -> ReadingBatch:
    """Return plain values as a batch; the value of those left out is any other's."""
    ts, group, value, ref = zip(*rows, strict=True) if rows else [()] * 4
    kept = [each is not LEFT_OUT for each in value]
    any_value = next((each for each in value if each is not LEFT_OUT), 0)
    values = value_column([each if stays else any_value for each, stays in zip(value, kept, strict=True)])
    stays = np.array(kept, np.bool_)
    return ReadingBatch(np.array(ts, np.int64), label_column(group), values, label_column(ref), stays)


class ReadingChecks:
    """Checks the batches of one stream; rows without an id are numbered in the order in which they arrive."""

    def __init__(self, equivalence: Equivalence) -> None:
        self._equivalence = equivalence
        self._next_id = 0
        self._kinds: dict[str, str] = {}

    def batch(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None,
        value: npt.ArrayLike | None,
        ids: npt.ArrayLike | None,
        where: npt.ArrayLike | None,
    ) -> ReadingBatch:
        """Return the columns as a batch; without values all are 0."""
        times = times_of("ts_us", ts_us)
        rows = len(times)
        refs = np.arange(self._next_id, self._next_id + rows) if ids is None else labels_of("id", ids, rows)
        groups = labels_of("group", group, rows)
        values = np.zeros(rows, np.int64) if value is None else values_of(value, rows, self._equivalence)
        kept = np.ones(rows, np.bool_) if where is None else _mask(where, rows)
        self._refuse_another_type("group", groups)
        self._refuse_another_type("id", refs)
        self._next_id += rows
        return ReadingBatch(times, groups, values, refs, kept)

    def _refuse_another_type(self, field: str, labels: LabelArray) -> None:
        """Labels are put in order, and numbers have none among strings."""
        if len(labels) and labels.dtype.kind != (kind := self._kinds.setdefault(field, labels.dtype.kind)):
            allowed = f"of one type with those before, {'str' if kind == 'U' else 'int'}"
            raise CoalescingError(field, labels[0].item(), allowed)


def _mask(where: npt.ArrayLike, rows: int) -> BoolArray:
    mask = np.asarray(where)
    if mask.size == 0:
        mask = mask.astype(np.bool_)
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise CoalescingError("where", f"an array of {mask.dtype} with shape {mask.shape}", f"bool, shape ({rows},)")
    return mask
