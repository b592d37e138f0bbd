"""The arrays that the library is written in: one name for each kind."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]  # probabilities, and seconds relative to something near
BoolArray = npt.NDArray[np.bool_]
Int64Array = npt.NDArray[np.int64]  # times in microseconds since the epoch, and refs of rows
OffsetArray = npt.NDArray[np.int64]  # times relative to one another in microseconds
IndexArray = npt.NDArray[np.int64]  # which template, or which pair of templates
PositionArray = npt.NDArray[np.intp]  # which rows, as numpy's own searches say it
CodeArray = npt.NDArray[np.int32]  # areas, sensors and templates as small integers
LabelArray = npt.NDArray[Any]  # areas, sensors and ids as their users name them: int64 or text

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the same array as a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return an array of the same content that nobody can write to: the array itself if it is one, else a copy."""
    owner: object = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    if owner is None:
        return array
    if array.strides == (0,) and len(array):  # one value for all rows needs no memory for each
        return np.broadcast_to(sealed(array[:1].copy()), array.shape)
    return sealed(array.copy())


def sealed(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the same array, which nobody can write to from now on; only for whoever made it."""
    array.flags.writeable = False
    return array
