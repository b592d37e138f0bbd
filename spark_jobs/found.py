"""FoundTuples: which detections a query matches, as positions in the event table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays import BoolArray, PositionArray

ABSENT = -1


@dataclass(frozen=True)
class FoundTuples:
    """Tuples that one query found in a batch.

    Attributes
    ----------
    members : ndarray of intp, shape (n, roles)
        The member of each role, `ABSENT` where there is none.
    supersedes : ndarray of intp, shape (n, roles)
        The tuple that this one enlarges; all `ABSENT` if there is none.
    """

    members: PositionArray
    supersedes: PositionArray

    def __len__(self) -> int:
        return len(self.members)

    @classmethod
    def of(cls, columns: Sequence[PositionArray]) -> FoundTuples:
        """Return tuples of one column of members for each role; they enlarge nothing."""
        members = np.column_stack(columns)
        return cls(members, np.broadcast_to(np.intp(ABSENT), members.shape))

    def where(self, keep: BoolArray) -> FoundTuples:
        """Return the tuples for which `keep` is true."""
        return self if keep.all() else FoundTuples(self.members[keep], self.supersedes[keep])

    @classmethod
    def joined(cls, parts: Sequence[FoundTuples], roles: int) -> FoundTuples:
        """Concatenate; nothing is no tuple."""
        nothing = np.empty((0, roles), np.intp)
        return cls(
            np.concatenate([nothing, *(part.members for part in parts)]),
            np.concatenate([nothing, *(part.supersedes for part in parts)]),
        )

    def in_order(self) -> FoundTuples:
        """Sort by the arrival of the last member, then of the one before it and so on, then by role."""
        if len(self) < 2:
            return self
        by_arrival = np.sort(self.members, axis=1)[:, ::-1]  # lexsort: the last key is the first to count
        order = np.lexsort([*self.members.T[::-1], *by_arrival.T[::-1]])
        return FoundTuples(self.members[order], self.supersedes[order])
