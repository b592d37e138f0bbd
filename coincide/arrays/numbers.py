"""What arrays and single values must be: numbers, whole numbers, and within what they count."""

from __future__ import annotations

import re
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.errors import CoincideError, HistogramError


def is_number(value: object) -> bool:
    """Whether `value` is a real number of any sane size; neither True, NaN nor an infinity is one."""
    return not isinstance(value, bool) and isinstance(value, Real) and bool(value < 1e300 and not value <= -1e300)


_digits = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII).fullmatch
LONGEST_NUMBER = 400  # characters; a longer one is beyond float64, or has digits that nothing measures


def written_number(text: str) -> int | float | None:
    """Return the number that a text writes in decimal digits, whole ones exactly; None where it writes none.

    Examples
    --------
    >>> written_number("41.5"), written_number("007"), written_number("41,5"), written_number("4_0")
    (41.5, 7, None, None)
    """
    if len(text) > LONGEST_NUMBER or not _digits(text):
        return None
    return float(text) if any(each in text for each in ".eE") else int(text)


def as_number(value: object) -> int | float | None:
    """Return the number that a value is, or writes if it is a text; None where it is none, as true and false are."""
    number = written_number(value) if isinstance(value, str) else value
    return number if is_number(number) else None  # type: ignore[return-value]


def is_whole(value: object) -> bool:
    """Whether `value` is an integer, Python's or numpy's; True is none."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def real_numbers(field: str, values: npt.ArrayLike, allowed: str, error: type[CoincideError]) -> FloatArray:
    """Return `values` as float64 in their shape if they are numbers (neither True nor "1" is), else raise `error`."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        raise error(field, values, allowed) from None
    if array.size and array.dtype.kind not in "iuf":
        raise error(field, values, allowed)
    return array.astype(np.float64, copy=False)


def whole_numbers(
    field: str, values: npt.ArrayLike, shape: tuple[int, ...] | None, error: type[CoincideError]
) -> Int64Array:
    """Return `values` as int64 if they are whole numbers in an array of that shape, else raise `error`."""
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)  # numpy takes an empty list for floats
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise error(field, _description(array), "whole numbers, in int64")
    if shape is not None and array.shape != shape:
        raise error(field, _description(array), f"an array of shape {shape}")
    return array.astype(np.int64, copy=False)


def positions_of(field: str, values: npt.ArrayLike, shape: tuple[int, ...] | None, templates: int) -> IndexArray:
    """Return `values` as int64 if they are positions among so many templates, else raise HistogramError."""
    index = whole_numbers(field, values, shape, HistogramError)
    if index.size and (index.min() < 0 or index.max() >= templates):
        beyond = index[(index < 0) | (index >= templates)][0]
        raise HistogramError(field, int(beyond), f"a position among {templates} templates, from 0 on")
    return index


def _description(array: npt.NDArray[np.generic]) -> str:
    return f"an array of {array.dtype} with shape {array.shape}"
