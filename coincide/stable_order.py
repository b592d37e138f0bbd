"""Stable orders by one or two integer columns: the position packed under the value, then one plain sort.

Plain integers sort ten times faster than `np.argsort` finds a stable order; a packed position makes them distinct.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays import PositionArray

IntegerArray = npt.NDArray[np.int64] | npt.NDArray[np.int32]

SPARE_BITS = 63


def stable_order(values: IntegerArray) -> PositionArray:
    """Return ``np.argsort(values, kind="stable")``; fastest where range times length is below 2**63.

    Examples
    --------
    >>> stable_order(np.array([30, 10, 30, 20])).tolist()
    [1, 3, 0, 2]
    """
    if len(values) == 0:
        return np.empty(0, np.intp)
    least, position_bits = int(values.min()), len(values).bit_length()
    if (int(values.max()) - least).bit_length() + position_bits > SPARE_BITS:
        return np.argsort(values, kind="stable")
    keys = values.astype(np.int64)
    keys -= least
    keys <<= position_bits
    keys |= np.arange(len(keys))
    keys.sort()
    keys &= (1 << position_bits) - 1
    return keys


def stable_order_by(first: IntegerArray, second: IntegerArray) -> PositionArray:
    """Return the stable order by `first`, then by `second`: ``np.lexsort((second, first))``.

    Examples
    --------
    >>> stable_order_by(np.array([1, 0, 1]), np.array([5, 9, 4])).tolist()
    [1, 2, 0]
    """
    if len(first) == 0:
        return np.empty(0, np.intp)
    least, second_bits = int(second.min()), (int(second.max()) - int(second.min())).bit_length()
    if (int(first.max()) - int(first.min())).bit_length() + second_bits + len(first).bit_length() > SPARE_BITS:
        return np.lexsort((second, first))
    keys = first.astype(np.int64)
    keys -= int(first.min())
    keys <<= second_bits
    keys += second
    keys -= least
    return stable_order(keys)
