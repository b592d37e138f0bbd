"""The values of one column, chunk by chunk: numbers if the first one is, else texts."""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray
from coincide.command.faults import CommandError, RowFaults, ValueRefused
from coincide.command.input.chunks import Column, first_filled, is_text, listed, typed
from coincide.command.input.file_columns import read_labels, read_numbers

_AS_PRINTED = (pa.types.is_boolean, pa.types.is_floating, pa.types.is_decimal)


class ValueColumn:
    """A column whose values are read in one way throughout the file; the first decides if `is_number` is None."""

    def __init__(self, name: str, *, is_number: bool | None) -> None:
        self.name = name
        self._is_number = is_number
        self._hint = ""

    def read(self, values: Column, faults: RowFaults) -> pa.Array:
        """Return the values as int64, float64 or large_string (n,)."""
        array = typed(values)
        values = values if array is None else array
        if not isinstance(values, list) and pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if self._is_number is None:
            self._decide(values)
        return self._numbers(values, faults) if self._is_number else self._texts(values, faults)

    def _decide(self, values: Column) -> None:
        first = first_filled(values)
        if first < len(values):
            self._is_number = _reads_as_number(values[first] if isinstance(values, list) else values[first].as_py())
            self._hint = ", as the first value is (--text takes all as texts)" * self._is_number

    def _numbers(self, values: Column, faults: RowFaults) -> pa.Array:
        if self._hint:
            for position in _identifiers(values):
                faults.add(position, f"{ValueRefused(self.name, listed(values)[position], 'a number')}{self._hint}")
        whole = _whole_numbers(values)
        if whole is not None:
            return whole
        own = RowFaults()
        floats = read_numbers(values, self.name, own)
        for position, why in own.items():
            faults.add(position, why + self._hint)
        faults.add_all(np.flatnonzero(_is_empty(values)), str(ValueRefused(self.name, None, "a number")))
        for position in np.flatnonzero(np.isinf(floats)).tolist():
            faults.add(position, ValueRefused(self.name, float(floats[position]), "a finite number"))
        return pa.array(floats)

    def _texts(self, values: Column, faults: RowFaults) -> pa.Array:
        array = typed(values)
        if array is not None and any(is_such(array.type) for is_such in _AS_PRINTED):
            values = array.cast(pa.string())
        texts = read_labels(values, self.name, faults)
        allowed = "a number or a text" if self._is_number is None else "a text"
        faults.add_all(np.flatnonzero(_is_empty(texts)), str(ValueRefused(self.name, None, allowed)))
        return texts.cast(pa.large_string())


_OF_ATTRIBUTES = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
)


def read_attribute(values: Column, name: str) -> list[Any]:
    """Return the values of an attribute as a person sees them, None where there is none.

    A typed column is one of texts, numbers, dates (which are texts) or true and false; another is a CommandError.
    """
    if isinstance(values, list):
        return values
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type):
        return [None if each is None else _plain_number(each) for each in values.to_pylist()]
    if pa.types.is_date(values.type):
        return list(values.cast(pa.string()).to_pylist())
    if not any(is_such(values.type) for is_such in _OF_ATTRIBUTES):
        allowed = "an attribute is a text, a number, a date, true or false"
        raise CommandError(f"{name} is of the type {kind}: {allowed}")
    return list(values.to_pylist())


def _plain_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


_PLAIN_NUMBER = r"^[+-]?(?:(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]\d+)?|(?i:nan|inf|infinity))$"


def _reads_as_number(value: Any) -> bool:
    """Whether a first value says that its column is of numbers: 007 and 12E3 are rather the names of something."""
    if isinstance(value, str):
        return bool(re.search(_PLAIN_NUMBER, value, re.ASCII))
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _identifiers(values: Column) -> list[int]:
    """Return the positions of texts with digits that are no plain numbers, in a column of numbers."""
    array = typed(values)
    if array is not None and is_text(array.type):
        odd = pc.invert(pc.match_substring_regex(array, _PLAIN_NUMBER)).fill_null(False)
        return [int(at) for at in np.flatnonzero(odd.to_numpy(zero_copy_only=False))]
    if array is not None:
        return []
    texts = ((at, value) for at, value in enumerate(listed(values)) if isinstance(value, str))
    return [at for at, value in texts if not re.search(_PLAIN_NUMBER, value, re.ASCII)]


def _whole_numbers(values: Column) -> pa.Array | None:
    """Return the values as int64; None unless all are whole numbers that fit."""
    array = typed(values)
    if array is None or array.null_count or not (is_text(array.type) or pa.types.is_integer(array.type)):
        return None
    with suppress(pa.ArrowInvalid):
        return array.cast(pa.int64())
    return None


def _is_empty(values: Column) -> BoolArray:
    if isinstance(values, list):
        return np.fromiter((value is None or value == "" for value in values), np.bool_, len(values))
    empty = pc.is_null(values)
    if is_text(values.type):
        empty = pc.or_kleene(empty, pc.equal(values, "")).fill_null(True)
    are_empty: BoolArray = empty.to_numpy(zero_copy_only=False)
    return are_empty


def joined_values(parts: list[pa.Array]) -> pa.Array:
    """Return the values of all parts of a file: int64 if all are whole numbers, else float64; or large_string."""
    kinds = {part.type for part in parts if len(part)}
    if len(kinds) > 1:
        parts = [part.cast(pa.float64()) for part in parts if len(part)]
    else:
        parts = [part for part in parts if len(part)] or [pa.array([], pa.float64())]
    return pa.concat_arrays(parts)
