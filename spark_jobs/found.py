"""FoundTuples: which detections a query matches, as positions in the event table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import PositionArray

ABSENT = -1


@dataclass(frozen=True)
class FoundTuples:
    """Tuples that one query found in a batch.

    Attributes
    ----------
    members : ndarray of intp, shape (n, roles)
        The member of each role, `ABSENT` where there is none.
    supersedes : ndarray of intp, shape (n, roles), or None
        The tuple that each one enlarges, all `ABSENT` if there is none. None if no tuple enlarges any.
    """

    members: PositionArray
    supersedes: PositionArray | None = None

    @classmethod
    def none(cls, roles: int) -> FoundTuples:
        """Return no tuples."""
        return cls(np.empty((0, roles), np.intp))

    def in_order(self) -> FoundTuples:
        """Sort by the arrival of the last member, then of the one before it and so on, then by role."""
        if len(self.members) < 2:
            return self
        by_arrival = np.sort(self.members, axis=1)[:, ::-1]
        order = np.lexsort([*self.members.T[::-1], *by_arrival.T[::-1]])  # its last key is the first to count
        supersedes = None if self.supersedes is None else self.supersedes[order]
        return FoundTuples(self.members[order], supersedes)
