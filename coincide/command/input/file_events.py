"""What one file holds, ready to be joined, and with what the answer shows of each event."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.command.faults import BadRows, CommandError, Faults
from coincide.command.input.file_columns import (
    LABEL_COLUMNS,
    TIME_COLUMNS,
    UNCERTAINTY_COLUMNS,
    Chunk,
    joined,
    named,
    time_column_of,
)
from coincide.command.input.file_times import instants_us
from coincide.command.input.formats import read_chunks
from coincide.command.input.own_uncertainty import OwnUncertainty, own_uncertainty
from coincide.command.input.text_files import Advance

Labels = dict[str, pa.Array]


@dataclass(frozen=True, eq=False)
class Events:
    """The usable rows of one file.

    Attributes
    ----------
    row, place : ndarray of int64, shape (n,)
        Number of each row in the file, and where a person finds it.
    detected_at_us : ndarray of int64, shape (n,)
    own : OwnUncertainty
    labels : dict of str to pyarrow Array
        Those of id, sensor, area and template that the file has: int64 or large_string, null where empty.
    """

    path: Path
    row: Int64Array
    place: Int64Array
    detected_at_us: Int64Array
    own: OwnUncertainty
    labels: Labels

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: np.ndarray[Any, Any]) -> Events:
        """Return the events of the given rows (positions or a mask)."""
        kept = {name: column.filter(pa.array(rows)) for name, column in self.labels.items()}
        time_us = self.detected_at_us[rows]
        return Events(self.path, self.row[rows], self.place[rows], time_us, self.own.take(rows), kept)


def read_events(path: Path, time_column: str | None, bad: BadRows, advance: Advance, *, assume_utc: bool) -> Events:
    """Read the events of `path`; rows that cannot be used go to `bad`.

    Parameters
    ----------
    time_column : str, optional
        Left out: detected_at, or else detected_at_us.

    Raises
    ------
    CommandError
        The file cannot be read, or has no such column.
    """
    times = TIME_COLUMNS if time_column is None else (time_column,)
    wanted = tuple(dict.fromkeys((*times, *LABEL_COLUMNS, *UNCERTAINTY_COLUMNS)))
    parts: list[Events] = []
    decided = None
    for chunk in read_chunks(path, wanted, bad, advance):
        chosen = decided or time_column_of(path, chunk, times)
        parts.append(_part(path, chunk, chosen, bad, assume_utc))
        decided = chosen if len(chunk.row) else None  # the first rows decide for the whole file
    if not parts:
        return _none(path)
    row, place, time_us = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS)
    return Events(path, row, place, time_us, _joined_own([part.own for part in parts]), _joined_labels(parts))


_COLUMNS = ("row", "place", "detected_at_us")


def _none(path: Path) -> Events:
    none = np.empty(0, np.int64)
    return Events(path, none, none, none, OwnUncertainty(np.empty(0), none, none), {})


def _part(path: Path, chunk: Chunk, time_column: str, bad: BadRows, assume_utc: bool) -> Events:
    values = chunk.columns.get(time_column, [None] * len(chunk.row))
    try:
        time_us, faults = instants_us(values, time_column, assume_utc=assume_utc)
        own = own_uncertainty(chunk, faults, assume_utc=assume_utc)
    except CommandError as error:
        raise CommandError(f"{path}: {error}") from None
    own_labels = {name: named(chunk.columns[name], name, faults) for name in LABEL_COLUMNS if name in chunk.columns}
    events = Events(path, chunk.row, chunk.place, time_us, own, own_labels)
    return without(events, faults, bad)


def without(events: Events, faults: Faults, bad: BadRows) -> Events:
    """Return the events that have no fault; the others are told to `bad`."""
    if not faults:
        return events
    for position, why in faults.items():
        bad.add(int(events.place[position]), why)
    return events.take(faults.sound(len(events)))


def _joined_own(parts: list[OwnUncertainty]) -> OwnUncertainty:
    fields = ("sigma_s", "earliest_us", "length_us")
    return OwnUncertainty(*(np.concatenate([getattr(part, field) for part in parts]) for field in fields))


def _joined_labels(parts: list[Events]) -> Labels:
    """Labels of all parts; a column that is empty throughout counts as not there."""
    names = [name for name in LABEL_COLUMNS if any(name in part.labels for part in parts)]
    columns = {name: joined([part.labels.get(name, pa.nulls(len(part))) for part in parts]) for name in names}
    return {name: column for name, column in columns.items() if column.null_count < max(len(column), 1)}
