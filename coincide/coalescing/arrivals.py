"""Readings as they arrive in a stream: columns to plain tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.coalescing.columns import labels_of, times_of, values_of
from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.errors import CoalescingError
from coincide.coalescing.runs import Label

Arrival = tuple[int, Label, Any, Label]  # (ts_us, group, value, id)


class Arrivals:
    """Checks frames of one stream; rows without an id are numbered in the order in which they arrive.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> arrivals = Arrivals(Equal())
    >>> list(arrivals.of([10, 20], ["bay", "bay"], [81, 79], None))
    [(10, 'bay', 81, 0), (20, 'bay', 79, 1)]
    >>> list(arrivals.of([5], ["bay"], None, None))
    [(5, 'bay', 0, 2)]
    >>> list(arrivals.of([5], [7], None, None))
    Traceback (most recent call last):
        ...
    coincide.coalescing.errors.CoalescingError: group is 7: of one type with those before, str
    """

    def __init__(self, equivalence: Equivalence) -> None:
        self._equivalence = equivalence
        self._next_id = 0
        self._types: dict[str, type] = {}

    def of(
        self, ts_us: npt.ArrayLike, group: npt.ArrayLike | None, value: npt.ArrayLike | None, ids: npt.ArrayLike | None
    ) -> Iterator[Arrival]:
        """Return the rows of a frame as plain tuples; without values all are 0."""
        times = times_of("ts_us", ts_us)
        rows = len(times)
        refs = np.arange(self._next_id, self._next_id + rows) if ids is None else labels_of("id", ids, rows)
        groups = np.zeros(rows, np.int64) if group is None else labels_of("group", group, rows)
        values = np.zeros(rows, np.int64) if value is None else values_of(value, rows, self._equivalence)
        self._next_id += rows
        listed, named = groups.tolist(), refs.tolist()
        self._refuse_another_type("group", listed)
        self._refuse_another_type("id", named)
        return zip(times.tolist(), listed, values.tolist(), named, strict=True)

    def _refuse_another_type(self, field: str, labels: Sequence[Label]) -> None:
        """Labels are put in order, and numbers have none among strings."""
        if labels and not isinstance(labels[0], self._types.setdefault(field, type(labels[0]))):
            raise CoalescingError(field, labels[0], f"of one type with those before, {self._types[field].__name__}")
