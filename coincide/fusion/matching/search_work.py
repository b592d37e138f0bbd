"""What one search may cost: the candidates that its rows complete, and its processor time."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.joins.search.work import SearchWork

ClockS = Callable[[], float]

NO_CLOCK: ClockS = lambda: 0.0  # noqa: E731 - time that never passes, for a core that is not guarded by the clock


class OutOfTimeError(Exception):
    """A query has taken longer than `max_query_s` in one push: so many seconds."""

    def __init__(self, spent_s: float) -> None:
        super().__init__(spent_s)
        self.spent_s = spent_s


class HeldTooMuchError(Exception):
    """A search would hold more answers or pairs in memory than it may: at least so many."""

    def __init__(self, held: int) -> None:
        super().__init__(held)
        self.held = held


class SupersededError(Exception):
    """A newer version of the query, whose record is still to come, pauses or removes it."""


class TooManyCandidatesError(Exception):
    """One of the rows of a search completes too many candidates, or all together hold too much in memory."""


#: What is always left for a query that comes after dear ones.
LEAST_TURN_S = 0.5
#: Of matches or answers, between two looks at the clock: a second's work at most.
RECORDS_AT_ONCE = 4_096


@dataclass
class PushTime:
    """The time that all queries together have in one push; it begins when it is made."""

    clock_s: ClockS
    most_s: float
    most_of_query_s: float
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.clock_s()

    def turn(self) -> "Deadline":
        """Return the time of the query that comes now; at most half of what is left, so that others have theirs."""
        left_s = self.most_s - (self.clock_s() - self.began_s)
        return Deadline(self.clock_s, min(self.most_of_query_s, max(left_s / 2, LEAST_TURN_S)))


@dataclass
class Deadline:
    """The time that one query has in one push; it begins when it is made."""

    clock_s: ClockS
    most_s: float
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.clock_s()

    def check(self) -> None:
        """Raise OutOfTimeError once the time is over; searches call it between blocks of at most about a second."""
        spent_s = self.spent_s()
        if spent_s > self.most_s:
            raise OutOfTimeError(spent_s)

    def spent_s(self) -> float:
        """Return how long ago it began, in seconds."""
        return self.clock_s() - self.began_s


@dataclass
class CandidateCount:
    """Counts the candidates that a search completes, before it judges any: of one row and of all together."""

    most_of_row: int
    most_held: int | None  # None for one row alone, which may hold whatever its candidates need
    total: int = 0
    _seqs: list[Int64Array] = field(default_factory=list)
    _held: int = 0

    def add(self, seqs: Int64Array) -> None:
        """Take the sequence number of the last member of each candidate."""
        self.total += len(seqs)
        if self.most_held is None and self.total > self.most_of_row:
            raise TooManyCandidatesError
        self.hold(len(seqs))
        self._seqs.append(seqs)

    def hold(self, count: int) -> None:
        """Take how many more sets or pairs the search of several rows keeps in memory."""
        self._held += count
        if self.most_held is not None and self._held > self.most_held:
            raise TooManyCandidatesError

    def end(self) -> None:
        """Raise TooManyCandidatesError if one row has too many, now that all are counted."""
        if self.total > self.most_of_row:
            _, counts = np.unique(np.concatenate(self._seqs), return_counts=True)
            if counts.max() > self.most_of_row:
                raise TooManyCandidatesError


@dataclass(frozen=True, eq=False)
class GuardedWork(SearchWork):
    """Bounds a search by its candidates and its time."""

    candidates: CandidateCount
    deadline: Callable[[], None]

    is_bounded = True

    def check(self) -> None:
        """Raise OutOfTimeError once the time is over."""
        self.deadline()

    def complete(self, last: Int64Array) -> None:
        """Count candidates."""
        self.check()
        self.candidates.add(last)

    def look_at(self, candidates: int) -> None:
        """Count candidates that have a limit in the search itself."""
        self.check()
        self.candidates.total += candidates

    def hold(self, count: int) -> None:
        """Count what memory holds."""
        self.check()
        self.candidates.hold(count)

    def end(self) -> None:
        """Raise TooManyCandidatesError if one row has too many."""
        self.candidates.end()


@dataclass(eq=False)
class HeldWork(SearchWork):
    """Bounds what one search holds in memory, answers or pairs, and its time; whoever searches says what is too much.

    Its candidates are bounded by the search itself.
    """

    most: int
    deadline: Callable[[], None]
    held: int = 0

    is_bounded = True

    def check(self) -> None:
        """Raise OutOfTimeError once the time is over."""
        self.deadline()

    def look_at(self, candidates: int) -> None:  # noqa: ARG002 - each row has its own limit of them
        """Raise OutOfTimeError once the time is over."""
        self.deadline()

    def hold(self, count: int) -> None:
        """Count what memory holds; raise HeldTooMuchError if that is more than it may be."""
        self.deadline()
        self.held += count
        if self.held > self.most:
            raise HeldTooMuchError(self.held)
