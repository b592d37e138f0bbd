"""Parts: every two or more members of some sets, each once, and which of them have members in common with a set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.range_expansion import expanded_ranges
from coincide.errors import DetectionsError
from coincide.evidence.shares import NO_MEMBER, checked_members
from coincide.templates.template_columns import rows_alike

MOST_MEMBERS = 10  # of one set: it has 1,013 parts


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of n sets of at most k members.

    Attributes
    ----------
    sets : ndarray of int64, shape (k, n)
        The detections of each set; -1: no such member.
    members : ndarray of int64, shape (k, parts)
        The detections of each part, in the rows that they have in a set; -1: none.
    whole : ndarray of int64, shape (n,)
        The part that is all of a set.
    of_set : ndarray of int64, shape (parts,)
        A set that has the part.

    Examples
    --------
    Two sets of three that share two detections have seven parts:

    >>> parts = Parts.of(np.array([[0, 0], [1, 1], [2, 3]]))
    >>> parts.members.shape
    (3, 7)
    """

    sets: Int64Array
    members: Int64Array
    whole: IndexArray
    of_set: IndexArray

    @classmethod
    def of(cls, members: npt.ArrayLike) -> Parts:
        """Return the parts of sets, given as numbers of detections of shape (k, n); -1: no such member."""
        checked_members(members)
        sets = np.asarray(members).astype(np.int64)
        columns, of_set = _all_parts(sets)
        _, first, part = np.unique(np.sort(columns, axis=0), axis=1, return_index=True, return_inverse=True)
        whole = np.empty(sets.shape[1], np.int64)
        is_whole = (columns != NO_MEMBER).sum(axis=0) == (sets != NO_MEMBER).sum(axis=0)[of_set]
        whole[of_set[is_whole]] = part.ravel()[is_whole]
        return cls(sets, columns[:, first], whole, of_set[first])

    def of_members(self, values: FloatArray) -> FloatArray:
        """Sum a value of each part, for each member of a set, over those that have it and another, shape (k, n)."""
        row, of_set, part, common = self._beside
        added = np.where(common >= 2, values[part], 0.0)
        sums = np.bincount(row * self.sets.shape[1] + of_set, weights=added, minlength=self.sets.size)
        return sums.astype(np.float64).reshape(self.sets.shape)

    def of_sets(self, values: FloatArray, least: int) -> FloatArray:
        """Sum a value of each part, for each set, over those that have so many of its members at least, shape (n,)."""
        _, of_set, part, common = self._beside
        added = np.where(common >= least, values[part] / common, 0.0)  # it stands here once for each of them
        return np.bincount(of_set, weights=added, minlength=self.sets.shape[1]).astype(np.float64)

    @cached_property
    def _beside(self) -> tuple[IndexArray, IndexArray, IndexArray, IndexArray]:
        """Each member beside each part that has it: row, set, part, and how many members these two have in common."""
        at, part = np.nonzero(self.members.T != NO_MEMBER)[::-1]
        detection = self.members[at, part]
        order = np.argsort(detection, kind="stable")
        row, of_set = np.nonzero(self.sets != NO_MEMBER)
        own = self.sets[row, of_set]
        ends = (np.searchsorted(detection[order], own, side=side) for side in ("left", "right"))
        which, place = expanded_ranges(*ends)
        part_of = part[order[place]]
        pair = of_set[which] * self.members.shape[1] + part_of
        _, number, counts = np.unique(pair, return_inverse=True, return_counts=True)
        return row[which], of_set[which], part_of, counts[number]


def _all_parts(sets: Int64Array) -> tuple[Int64Array, IndexArray]:
    """Return the parts set by set, and whose they are; parts that sets share come once for each."""
    columns, of_set = [np.empty((len(sets), 0), np.int64)], [np.empty(0, np.int64)]
    present = sets != NO_MEMBER
    for rows in rows_alike(list(present.astype(np.int64))) if sets.size else ():
        members = np.flatnonzero(present[:, rows[0]])
        if not 2 <= len(members) <= MOST_MEMBERS:
            raise DetectionsError("members", f"a set of {len(members)}", f"sets of 2 to {MOST_MEMBERS} members")
        for chosen in range(1, 1 << len(members)):
            if chosen.bit_count() >= 2:
                absent = [each for nth, each in enumerate(members.tolist()) if not chosen >> nth & 1]
                part = sets[:, rows].copy()
                part[absent] = NO_MEMBER
                columns.append(part)
                of_set.append(rows)
    return np.concatenate(columns, axis=1), np.concatenate(of_set)
