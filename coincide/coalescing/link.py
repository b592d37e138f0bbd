"""Link: whether a reading goes on from the one before it, and until when that one holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coincide.coalescing.equivalences import Equivalence


@dataclass(frozen=True, slots=True)
class Link:
    """The equivalence and the hold of one operator, applied to two neighbours in time.

    Examples
    --------
    >>> from coincide.coalescing.equivalences import Equal
    >>> link = Link(Equal(), hold_us=60)
    >>> link.goes_on(0, 81, 60, 81), link.goes_on(0, 81, 61, 81), link.held_until(0, next_us=61)
    (True, False, 60)
    """

    equivalence: Equivalence
    hold_us: int | None = None

    def goes_on(self, previous_us: int, previous: Any, ts_us: int, value: Any) -> bool:
        """Whether the later reading belongs to the run of the earlier one."""
        held = self.hold_us is None or ts_us - previous_us <= self.hold_us
        return held and bool(self.equivalence.holds(previous, value))

    def held_until(self, ts_us: int, next_us: int) -> int:
        """Return te of a reading that has a next one."""
        return next_us if self.hold_us is None else min(next_us, ts_us + self.hold_us)
