"""Work: what an algorithm does for its answer, in counts that do not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.arrays import Int64Array


@dataclass(frozen=True)
class WindowWork:
    """Elementary work in counts, and how long tuples waited in the time of the recording.

    Attributes
    ----------
    touched : int
        Tuples looked at in the buffers of other streams.
    windows_tested : int
        Times compared with a period or a window.
    predicates : int
        Keys compared, and calls of the predicate.
    buffered : int
        Largest number of tuples held at once, all streams together.
    waited_us : int
        Time from the arrival of a tuple until it was joined with those before it, or dropped; all tuples together.
    longest_wait_us : int

    Examples
    --------
    >>> WindowWork(touched=12, windows_tested=9, predicates=3).operations
    24
    """

    touched: int = 0
    windows_tested: int = 0
    predicates: int = 0
    buffered: int = 0
    waited_us: int = 0
    longest_wait_us: int = 0

    @property
    def operations(self) -> int:
        """All that takes time: tuples touched, windows tested, predicates evaluated."""
        return self.touched + self.windows_tested + self.predicates


@dataclass(frozen=True)
class Measured:
    """An answer and what it took.

    Attributes
    ----------
    members : ndarray of int64, shape (n, k)
        Rows of the members of each result, a column for each stream of the graph; sorted by them from left to right.
    work : WindowWork
    """

    members: Int64Array
    work: WindowWork
