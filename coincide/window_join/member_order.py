"""Members in lexicographic order."""

from __future__ import annotations

import numpy as np

from coincide.arrays import Int64Array

KEY_BITS = 63


def in_order(members: Int64Array) -> Int64Array:
    """Return rows of positions sorted by the first column, then the second and so on.

    Positions are packed into one number a row where they fit: sorting that is several times faster.

    Parameters
    ----------
    members : ndarray of int64, shape (n, k)
        Nothing below 0; fastest if each column lies in one piece.

    Examples
    --------
    >>> in_order(np.array([[1, 0], [0, 2], [0, 1]])).tolist()
    [[0, 1], [0, 2], [1, 0]]
    """
    if len(members) == 0:
        return members
    bits = [int(column.max()).bit_length() for column in members.T]
    if sum(bits) > KEY_BITS:
        ordered: Int64Array = members[np.lexsort(members.T[::-1])]
        return ordered
    keys = members[:, 0].copy()
    for column, width in zip(members.T[1:], bits[1:], strict=True):
        keys <<= width
        keys |= column
    if (keys[1:] >= keys[:-1]).all():
        return members
    keys.sort()
    unpacked = np.empty((members.shape[1], len(members)), np.int64)
    for column in range(len(unpacked) - 1, 0, -1):
        np.bitwise_and(keys, (1 << bits[column]) - 1, out=unpacked[column])
        keys >>= bits[column]
    unpacked[0] = keys
    return unpacked.T
