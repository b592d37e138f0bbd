"""The table that detections are made of: which of its columns mean what, and how each is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.arrow import Column, TableColumns
from coincide.arrays.instants import TimeUnit, datetimes_us, is_datetime, numbers_us
from coincide.arrays.kinds import CodeArray, Int64Array, LabelArray, sealed
from coincide.errors import DetectionsError
from coincide.templates.histogram import Histogram

DETECTED, RECEIVED = ("detected_at", "detected_at_us"), ("received_at", "received_at_us")
SHOWN_NAMES = 10


class DetectionTable:
    """A table of others; what is wrong with a column is raised as `DetectionsError`, in its own words."""

    def __init__(self, table: Any, unit: TimeUnit) -> None:
        self._columns, self._unit = TableColumns(table), unit

    def times_us(self, name: str | None) -> Int64Array:
        """Return when each row was detected, by the column `name` if that is given."""
        wanted = DETECTED if name is None else (name,)
        times = self._first(wanted)
        if times is None:
            there = ", ".join(self._columns.names[:SHOWN_NAMES])
            raise DetectionsError(wanted[0], f"no column of {there}", f"a column {' or '.join(wanted)} with the times")
        return times

    def received_at_us(self) -> Int64Array | None:
        """Return when each row came in; None if the table does not say."""
        return self._first(RECEIVED)

    def labels(self, name: str) -> LabelArray | None:
        """Return a column of names; None if the table has none."""
        column = self._columns.get(name)
        if column is None:
            return None
        missing = np.flatnonzero(_is_missing(column))
        if len(missing):
            raise DetectionsError(name, f"nothing in row {missing[0]}", "a text or a whole number in every row")
        return column

    def chosen_templates(
        self, templates: Histogram | Mapping[str, Histogram]
    ) -> tuple[list[Histogram], CodeArray | None]:
        """Return the templates, and which of them each row has."""
        if isinstance(templates, Histogram):
            return [templates], None
        if not isinstance(templates, Mapping):
            raise DetectionsError("templates", templates, "a Histogram, or a mapping of names to Histogram")
        named = {str(name): number for number, name in enumerate(templates)}
        names, codes = np.unique(self._template_names(), return_inverse=True)
        unknown = [name for name in names.tolist() if name not in named]
        if unknown:
            row = int(np.flatnonzero(codes == names.tolist().index(unknown[0]))[0])
            what = f"{unknown[0]!r} in row {row}" if unknown[0] else f"nothing in row {row}, and no sensor"
            raise DetectionsError("template", what, f"one of {', '.join([*named][:SHOWN_NAMES])}")
        numbers = np.array([named[name] for name in names.tolist()], np.int32)
        return list(templates.values()), sealed(numbers[codes])

    def _template_names(self) -> npt.NDArray[np.str_]:
        """Return the name of each row's template, str (n,): that of its column, else its sensor, else nothing."""
        given = [column for name in ("template", "sensor") if (column := self._columns.get(name)) is not None]
        if not given:
            what = "nothing says which template a row has"
            raise DetectionsError("templates", what, "one Histogram, or a column template or sensor")
        named, *sensor = map(_texts, given)
        return np.where(named == "", sensor[0], named) if sensor else named

    def _first(self, names: tuple[str, ...]) -> Int64Array | None:
        there = [(name, column) for name in names if (column := self._columns.get(name)) is not None]
        return self._read_times(*there[0]) if there else None

    def _read_times(self, name: str, column: Column) -> Int64Array:
        if is_datetime(column):
            return sealed(datetimes_us(name, column))
        if column.size == 0:
            return sealed(np.empty(0, np.int64))
        if column.dtype.kind == "f" and np.isnan(column).any():  # whole numbers, of which some are missing
            row = int(np.flatnonzero(np.isnan(column))[0])
            raise DetectionsError(name, f"nothing in row {row}", "a time in every row")
        return sealed(np.array(numbers_us(name, column, self._unit)))


def _is_missing(column: Column) -> npt.NDArray[np.bool_]:
    """Return where None or NaN stands in place of a label, bool (n,)."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), np.bool_)
    return np.fromiter((each is None or each != each for each in column.tolist()), np.bool_, len(column))  # noqa: PLR0124


def _texts(column: Column) -> npt.NDArray[np.str_]:
    """Return names as texts, empty where there is none."""
    return np.where(_is_missing(column), "", column.astype(np.str_))
