"""What arrays of seconds and of probabilities must be: numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays import FloatArray
from coincide.errors import CoincideError


def real_numbers(field: str, values: npt.ArrayLike, allowed: str, error: type[CoincideError]) -> FloatArray:
    """Return `values` as float64 in their shape if they are numbers, else raise `error`; neither True nor "1" is one.

    Examples
    --------
    >>> from coincide.errors import OffsetError
    >>> real_numbers("offset_s", "0", "numbers of seconds", OffsetError)
    Traceback (most recent call last):
        ...
    coincide.errors.OffsetError: offset_s is '0': numbers of seconds
    """
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise error(field, values, allowed) from None
    if array.size and array.dtype.kind not in "iuf":
        raise error(field, values, allowed)
    return array.astype(np.float64, copy=False)
