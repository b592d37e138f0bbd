"""Readings as they arrive in a stream: checked columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays import BoolArray, LabelArray
from coincide.coalescing.columns import labels_of, times_of, values_of
from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.frame import Frame
from coincide.errors import CoalescingError


class Arrivals:
    """Checks frames of one stream; rows without an id are numbered in the order in which they arrive.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> arrivals = Arrivals(Equal())
    >>> list(arrivals.of([10, 20], ["bay", "bay"], [81, 79]).arrivals())
    [(10, 'bay', 81, 0), (20, 'bay', 79, 1)]
    >>> list(arrivals.of([5, 6], ["bay", "bay"], where=[True, False]).arrivals())
    [(5, 'bay', 0, 2), (6, 'bay', LEFT_OUT, 3)]
    >>> arrivals.of([5], [7])
    Traceback (most recent call last):
        ...
    coincide.coalescing.errors.CoalescingError: group is 7: of one type with those before, str
    """

    def __init__(self, equivalence: Equivalence) -> None:
        self._equivalence = equivalence
        self._next_id = 0
        self._kinds: dict[str, str] = {}

    def of(
        self,
        ts_us: npt.ArrayLike,
        group: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        ids: npt.ArrayLike | None = None,
        where: npt.ArrayLike | None = None,
    ) -> Frame:
        """Return a frame of checked columns; without values all are 0."""
        times = times_of("ts_us", ts_us)
        rows = len(times)
        refs = np.arange(self._next_id, self._next_id + rows) if ids is None else labels_of("id", ids, rows)
        groups = np.zeros(rows, np.int64) if group is None else labels_of("group", group, rows)
        values = np.zeros(rows, np.int64) if value is None else values_of(value, rows, self._equivalence)
        kept = np.ones(rows, np.bool_) if where is None else _mask(where, rows)
        self._refuse_another_type("group", groups)
        self._refuse_another_type("id", refs)
        self._next_id += rows
        return Frame(times, groups, values, refs, kept)

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
