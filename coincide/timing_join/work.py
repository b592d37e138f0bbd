"""Work: what an algorithm does for its answer, in counts that do not depend on the machine."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.pairs import Pairs


@dataclass(frozen=True)
class Work:
    """Elementary work in counts.

    Attributes
    ----------
    scanned : int
        Events of the other stream looked at.
    probabilities : int
        Probabilities evaluated.
    lookups : int
        Answers taken from a look-up or satisfaction table instead.
    buffered : int
        Largest number of events held at once, both streams together.

    Examples
    --------
    Counts add up, of what was held the larger stays:

    >>> Work(scanned=3, buffered=7) + Work(scanned=2, probabilities=1, buffered=5)
    Work(scanned=5, probabilities=1, lookups=0, buffered=7)
    """

    scanned: int = 0
    probabilities: int = 0
    lookups: int = 0
    buffered: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.scanned + other.scanned,
            self.probabilities + other.probabilities,
            self.lookups + other.lookups,
            max(self.buffered, other.buffered),
        )


@dataclass(frozen=True)
class Measured:
    """An answer and what it took."""

    pairs: Pairs
    work: Work
