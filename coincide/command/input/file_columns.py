"""Columns of files: which names mean what, and names and numbers read from their values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import written_number
from coincide.command.faults import CommandError, RowFaults, ValueRefused
from coincide.command.input.chunks import Chunk, Column, first_filled, is_text, listed, typed

TIME_COLUMNS = ("detected_at", "detected_at_us")
LABEL_COLUMNS = ("id", "sensor", "area", "template")
UNCERTAINTY_COLUMNS = ("sigma_s", "earliest", "latest")

_NUMBERS = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal)


def read_labels(values: Column, column: str, faults: RowFaults) -> pa.Array:
    """Return a column of names as text (large_string), or as int64 if all are numbers; null where empty."""
    array = typed(values)
    if array is not None and pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array is not None and is_text(array.type):
        array = array.cast(pa.large_string())
        return pc.if_else(pc.equal(array, ""), None, array)
    if array is not None and pa.types.is_null(array.type):
        return array.cast(pa.large_string())
    if array is not None and pa.types.is_signed_integer(array.type):
        return array.cast(pa.int64())
    return _labels_one_by_one(listed(values), column, faults)


def _labels_one_by_one(values: list[Any], column: str, faults: RowFaults) -> pa.Array:
    names: list[str | None] = []
    for position, value in enumerate(values):
        name = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
        if (name is None and value is not None) or (name and _has_half_a_character(name)):
            faults.add(position, ValueRefused(column, value, "a text in UTF-8 or a whole number"))
            name = None
        names.append(name or None)
    return pa.array(names, pa.large_string())


def _has_half_a_character(name: str) -> bool:
    """Whether `name` holds bytes that are no UTF-8 (CSV) or half a surrogate pair (JSON)."""
    return any("\ud800" <= character <= "\udfff" for character in name)


def joined_labels(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the labels of all parts of a file, as text unless all are of one type; parts that are empty have none."""
    kinds = {column.type for column in columns if column.null_count < len(column)}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    return pa.concat_arrays([column.cast(kind) for column in columns])


def read_numbers(values: Column, column: str, faults: RowFaults) -> FloatArray:
    """Return a column of numbers, float64 (n,), NaN where empty."""
    array = typed(values)
    if array is not None and any(is_such(array.type) for is_such in _NUMBERS):
        floats = array.cast(pa.float64(), safe=False)
        nan = pc.is_nan(floats).fill_null(False)
        faults.add_all(np.flatnonzero(nan.to_numpy(zero_copy_only=False)), f"{column}: nan: a number")
        filled: FloatArray = floats.fill_null(np.nan).to_numpy(zero_copy_only=False)
        return filled
    if array is not None and is_text(array.type):
        with suppress(pa.ArrowInvalid):  # all are plain numbers: at once
            plain: FloatArray = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
            if not np.isnan(plain).any():
                return plain
    return _numbers_one_by_one(listed(values), column, faults)


DECIMAL_COMMA = "; a decimal comma is read in CSV whose cells are separated by semicolons"


def _numbers_one_by_one(values: list[Any], column: str, faults: RowFaults) -> FloatArray:
    floats = np.full(len(values), np.nan)
    for position, value in enumerate(values):
        if value is None or value == "":
            continue
        with suppress(ValueError, OverflowError):
            number = written_number(value) if isinstance(value, str) else value
            floats[position] = float(number) if isinstance(number, int | float) else np.nan
        if np.isnan(floats[position]) or isinstance(value, bool):
            comma = isinstance(value, str) and written_number(value.replace(",", ".", 1)) is not None
            faults.add(position, ValueRefused(column, value, f"a number{DECIMAL_COMMA * comma}"))
    return floats


SHOWN_NAMES = 10


def time_column_of(path: Path, chunk: Chunk, times: Sequence[str]) -> str:
    """Return the one of `times` that has the first value; an empty one if all are."""
    present = [name for name in times if name in chunk.columns]
    if present:
        return min(present, key=lambda name: first_filled(chunk.columns[name]))
    raise CommandError(
        f"{path} has no column {' or '.join(times)}: --time names the column with the times; {there_are(chunk, times)}"
    )


def there_are(chunk: Chunk, missing: Sequence[str]) -> str:
    """Return which columns there are, for a message that some are missing."""
    there = ", ".join(map(repr, chunk.names[:SHOWN_NAMES])) + ", …" * (len(chunk.names) > SHOWN_NAMES)
    capitals = {name.lower() for name in chunk.names} & {name.lower() for name in missing}
    if any(_has_half_a_character(name) or "\0" in name for name in chunk.names):
        there += ", which is no UTF-8: iconv -t UTF-8 writes it so"
    return f"there are {there}{' (capitals count)' * bool(capitals)}"
