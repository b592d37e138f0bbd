"""The events of one file, ready to be joined, with the columns that the answer shows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coincide.arrays.instants import LATEST_TIME_US, TimeUnit
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.faults import BadRows, CommandError, RowFaults
from coincide.command.input.chunks import Advance, Chunk
from coincide.command.input.file_columns import (
    LABEL_COLUMNS,
    TIME_COLUMNS,
    UNCERTAINTY_COLUMNS,
    joined_labels,
    read_labels,
    time_column_of,
)
from coincide.command.input.file_times import TimeForm, read_instants_us, read_optional_instants_us
from coincide.command.input.file_values import read_attribute
from coincide.command.input.formats import format_of, read_chunks
from coincide.command.input.own_uncertainty import OwnUncertainty, read_own_uncertainty
from coincide.command.input.repeats import RECEIVED_COLUMNS, identities
from coincide.command.input.row_places import PLACE_COLUMNS, PlaceArray, no_places, read_places


@dataclass(frozen=True, eq=False)
class FileEvents:
    """The usable rows of one file, n of them."""

    path: Path
    row: Int64Array  # (n,): number of each row in the file
    place: Int64Array  # (n,): where a person finds it
    detected_at_us: Int64Array  # (n,)
    received_at_us: Int64Array  # (n,): `UNKNOWN_US` where the file does not tell
    identity: Int64Array  # (n,): what each is known by, see `repeats`
    sensor_place: PlaceArray  # (n,): those that are read
    own: OwnUncertainty
    labels: dict[str, pa.Array]  # those that the file has: int64 or large_string, null where empty
    attributes: dict[str, list[Any]]  # of those asked for, as the file has them

    def __len__(self) -> int:
        return len(self.row)

    def where(self, rows: BoolArray) -> FileEvents:
        """Return the events of a mask."""
        if rows.all():
            return self
        labels = {name: column.filter(pa.array(rows)) for name, column in self.labels.items()}
        attributes = {name: list(compress(values, rows)) for name, values in self.attributes.items()}
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return FileEvents(self.path, own=self.own.take(rows), labels=labels, attributes=attributes, **columns)


COLUMNS = ("row", "place", "detected_at_us", "received_at_us", "identity", "sensor_place")
UNKNOWN_US = LATEST_TIME_US


class EventReader:
    """Turns chunks of a file into events; what the first rows decide holds for the whole file.

    Without a name times are TIME_COLUMNS. For a query also the stream and the time of reception are read, and the
    `attributes` that it names; `with_places` also where its sensor was, as the row itself says it.
    """

    def __init__(
        self,
        path: Path,
        time_column: str | None,
        attributes: Sequence[str] | None = None,
        *,
        assume_utc: bool,
        unit: TimeUnit = "us",
        with_places: bool = False,
    ) -> None:
        self._path, self._with_places = path, with_places
        self._form: TimeForm = {"assume_utc": assume_utc, "unit": unit}
        self._times = TIME_COLUMNS if time_column is None else (time_column,)
        self._labels = LABEL_COLUMNS if attributes is None else (*LABEL_COLUMNS, "stream")
        self._attributes = attributes or ()
        received = () if attributes is None else RECEIVED_COLUMNS
        places = PLACE_COLUMNS if with_places else ()
        self.wanted = tuple(
            dict.fromkeys((*self._times, *self._labels, *UNCERTAINTY_COLUMNS, *received, *places, *self._attributes))
        )
        self._time_column: str | None = None

    def events(self, chunk: Chunk, bad: BadRows) -> FileEvents:
        """Return the events of a chunk; rows that cannot be used go to `bad`."""
        chosen = self._time_column or time_column_of(self._path, chunk, self._times)
        self._time_column = chosen if len(chunk.row) else None
        faults, form = RowFaults(), self._form
        try:
            time_us = read_instants_us(chunk.column(chosen), chosen, faults, **form)
            own = read_own_uncertainty(chunk, faults, **form)
            received_us = self._received_at_us(chunk, faults)
            attributes = {name: self._values(chunk, name) for name in self._attributes}
        except CommandError as error:
            raise CommandError(f"{self._path}: {error}") from None
        there = [name for name in self._labels if name in chunk.columns]
        labels = {name: read_labels(chunk.columns[name], name, faults) for name in there}
        known_by = identities(chunk, labels)
        places = read_places(chunk, faults) if self._with_places else no_places(len(chunk.row))
        columns = (chunk.row, chunk.place, time_us, received_us, known_by, places)
        rows = FileEvents(self._path, *columns, own, labels, attributes)
        return without_faulty(rows, faults, bad)

    def _values(self, chunk: Chunk, name: str) -> list[Any]:
        """Return the values of an attribute as the file has them: in CSV all are texts, and an empty one is none."""
        values = read_attribute(chunk.column(name), name)
        return [value or None for value in values] if format_of(self._path) == "csv" else values

    def _received_at_us(self, chunk: Chunk, faults: RowFaults) -> Int64Array:
        name = next((name for name in RECEIVED_COLUMNS if name in self.wanted and name in chunk.columns), "")
        values, rows = chunk.columns.get(name), len(chunk.row)
        times_us, given = read_optional_instants_us(values, name, rows, faults, **self._form)
        return np.where(given, times_us, UNKNOWN_US)


def read_events(
    path: Path,
    time_column: str | None,
    bad: BadRows,
    advance: Advance,
    attributes: Sequence[str] | None = None,
    *,
    assume_utc: bool,
    unit: TimeUnit = "us",
) -> FileEvents:
    """Read the events of `path`, as an `EventReader` does."""
    reader = EventReader(path, time_column, attributes, assume_utc=assume_utc, unit=unit)
    parts = [reader.events(chunk, bad) for chunk in read_chunks(path, reader.wanted, bad, advance, with_content=True)]
    return _joined_events(parts) if parts else no_events(path, attributes or ())


def no_events(path: Path, attributes: Sequence[str]) -> FileEvents:
    """Return no events of a file."""
    none = np.empty(0, np.int64)
    own = OwnUncertainty(np.empty(0), none, none)
    columns = (none, none, none, none, none, no_places(0))
    return FileEvents(path, *columns, own, {}, {name: [] for name in attributes})


def without_faulty(events: FileEvents, faults: RowFaults, bad: BadRows) -> FileEvents:
    """Return the events that have no fault; count the others as bad rows."""
    bad.add_faults(faults, events.place)
    return events.where(faults.sound(len(events)))


def _joined_events(parts: list[FileEvents]) -> FileEvents:
    """Join the parts of a file; a column of labels that is empty throughout counts as not there."""
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    fields = ("sigma_s", "earliest_us", "length_us")
    own = OwnUncertainty(*(np.concatenate([getattr(part.own, field) for part in parts]) for field in fields))
    names = dict.fromkeys(name for part in parts for name in part.labels)
    every = {name: joined_labels([part.labels.get(name, pa.nulls(len(part))) for part in parts]) for name in names}
    labels = {name: column for name, column in every.items() if column.null_count < max(len(column), 1)}
    attributes = {name: list(chain(*(part.attributes[name] for part in parts))) for name in parts[0].attributes}
    return FileEvents(parts[0].path, own=own, labels=labels, attributes=attributes, **columns)
