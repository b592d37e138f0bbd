"""Facts as they arrive in a stream: columns to plain values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy.typing as npt

from coincide.coalescing.arrivals import Arrivals
from coincide.coalescing.batch import ends_of
from coincide.coalescing.equivalences import Equivalence
from coincide.coalescing.extent import Key
from coincide.coalescing.fact_lane import Fact
from coincide.coalescing.validity import NEVER_US
from coincide.errors import CoalescingError


class FactArrivals:
    """Checks frames of one stream of facts; rows without an id are numbered in the order in which they arrive.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> list(FactArrivals(Equal()).of([10], [20], ["bay"], [81], None))
    [((10, 'bay', 0), (20, 81))]
    """

    def __init__(self, equivalence: Equivalence) -> None:
        self._starts = Arrivals(equivalence)

    def of(
        self,
        start_us: npt.ArrayLike,
        end_us: npt.ArrayLike,
        group: npt.ArrayLike | None,
        value: npt.ArrayLike | None,
        ids: npt.ArrayLike | None,
    ) -> Iterator[tuple[Key, Fact]]:
        """Return the rows of a frame as (key, fact); without values all are 0."""
        frame = self._starts.of(start_us, group, value, ids)
        ends = ends_of(end_us, frame.ts_us)
        if (ends == NEVER_US).any():
            raise CoalescingError("end_us", NEVER_US, "the start of the fact, or later")
        return (
            ((start, group_of_row, ref), (end, value_of_row))
            for (start, group_of_row, value_of_row, ref), end in zip(frame.arrivals(), ends.tolist(), strict=True)
        )
