"""WindowExtent: which readings count."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.coalescing.columns import duration_of
from coincide.coalescing.runs import Label
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

    Raises
    ------
    CoalescingError
        Names the field, the value and what is allowed.

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
