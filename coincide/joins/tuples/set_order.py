"""The order of members whose roles can be swapped, and which of all tuples with the same members is told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from coincide.arrays.kinds import BoolArray, PositionArray
from coincide.constraints.interchange import Interchange

GoesBefore = Callable[[PositionArray, PositionArray], BoolArray]
"""Whether each member goes before the other by (detected_at, sensor, id); both arrays of shape (n,)."""

ABSENT = -1


def in_group_order(members: PositionArray, interchange: Interchange, goes_before: GoesBefore) -> PositionArray:
    """Order the members of each group of roles, shape (k, n), column by column (a bubble sort of whole columns)."""
    if not interchange.pairs:
        return members
    members = members.copy()
    for group in interchange.groups:
        for last in range(len(group), 1, -1):
            for a, b in pairwise(group[:last]):
                swap = goes_before(members[b], members[a])
                members[a], members[b] = np.where(swap, members[[b, a]], members[[a, b]])
    return members


def as_told(members: PositionArray, interchange: Interchange, goes_before: GoesBefore) -> PositionArray:
    """Give members, shape (k, n), the roles that they are told in; `ABSENT` ones are told last.

    Of all tuples that differ by swaps of roles alone it is the one whose first member goes first, then its second.
    """
    best = in_group_order(members, interchange, goes_before)
    for symmetry in interchange.symmetries:
        image = in_group_order(members[list(symmetry)], interchange, goes_before)
        better = _is_less(image, best, goes_before)
        best = np.where(better, image, best)
    return best


def are_told(members: PositionArray, interchange: Interchange, goes_before: GoesBefore) -> BoolArray:
    """Whether tuples whose groups are in order, shape (k, n), are those that are told; shape (n,)."""
    told: BoolArray = np.ones(members.shape[1], np.bool_)
    for symmetry in interchange.symmetries:
        image = in_group_order(members[list(symmetry)], interchange, goes_before)
        told &= ~_is_less(image, members, goes_before)
    return told


def _is_less(one: PositionArray, other: PositionArray, goes_before: GoesBefore) -> BoolArray:
    """Whether each tuple goes before the other at the first role whose members differ."""
    less: BoolArray = np.zeros(one.shape[1], np.bool_)
    undecided = np.arange(one.shape[1])
    for mine, theirs in zip(one, other, strict=True):
        differ = undecided[mine[undecided] != theirs[undecided]]
        less[differ] = goes_before(mine[differ], theirs[differ])
        undecided = undecided[mine[undecided] == theirs[undecided]]
    return less


def absent_last(goes_before: GoesBefore) -> GoesBefore:
    """Let `ABSENT` members go behind all others."""

    def order(one: PositionArray, other: PositionArray) -> BoolArray:
        before: BoolArray = (other == ABSENT) & (one != ABSENT)
        both = np.flatnonzero((one != ABSENT) & (other != ABSENT))
        before[both] = goes_before(one[both], other[both])
        return before

    return order
