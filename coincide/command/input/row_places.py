"""Places of rows: in columns of their own, or in an object ``place``, as detections have it that are posted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.command.faults import RowFaults
from coincide.command.input.chunks import Chunk
from coincide.command.input.file_columns import read_numbers
from coincide.errors import PlaceError
from coincide.places import place_of_form
from coincide.places.place import Place
from coincide.places.place_forms import EARTH, FRAME

NAMES: Mapping[str, tuple[str, str]] = {field: (field, f"place.{field}") for field in (*EARTH, *FRAME)}
PLACE_COLUMNS = tuple(name for names in NAMES.values() for name in names)

PlaceArray = npt.NDArray[np.object_]
"""A `Place` for each row, None where there is none."""


def no_places(rows: int) -> PlaceArray:
    """Return the places of rows that have none."""
    return np.full(rows, None, dtype=object)


def read_places(chunk: Chunk, faults: RowFaults) -> PlaceArray:
    """Return the place that each row says; one that cannot be is a fault of its row."""
    said = {field: _numbers(chunk, names, faults) for field, names in NAMES.items()}
    given = {field: _or_none(each) for field, each in said.items() if each is not None}
    places, known = no_places(len(chunk.row)), dict[tuple[float | None, ...], Place | PlaceError | None]()
    for row, values in enumerate(zip(*given.values(), strict=True)):
        if values not in known:
            known[values] = _place({field: each for field, each in zip(given, values, strict=True) if each is not None})
        found = known[values]
        if isinstance(found, PlaceError):
            faults.add(row, found)
        else:
            places[row] = found
    return places


def _numbers(chunk: Chunk, names: tuple[str, str], faults: RowFaults) -> FloatArray | None:
    """Return a coordinate of each row under the first of its names that the row has, NaN where it has none."""
    columns = [read_numbers(chunk.columns[name], name, faults) for name in names if name in chunk.columns]
    if not columns:
        return None
    first, last = columns[0], columns[-1]
    return np.where(np.isnan(first), last, first)


def _or_none(numbers: FloatArray) -> list[float | None]:
    return [None if is_nan else each for each, is_nan in zip(numbers.tolist(), np.isnan(numbers).tolist(), strict=True)]


def _place(form: dict[str, float]) -> Place | PlaceError | None:
    try:
        return place_of_form(form) if form else None
    except PlaceError as error:
        return error
