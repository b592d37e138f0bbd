"""The events of one file, ready to be joined, with the columns that the answer shows of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
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
from coincide.command.input.file_times import read_instants_us
from coincide.command.input.formats import read_chunks
from coincide.command.input.own_uncertainty import OwnUncertainty, read_own_uncertainty


@dataclass(frozen=True, eq=False)
class FileEvents:
    """The usable rows of one file, n of them."""

    path: Path
    row: Int64Array  # (n,): number of each row in the file
    place: Int64Array  # (n,): where a person finds it
    detected_at_us: Int64Array  # (n,)
    own: OwnUncertainty
    labels: dict[str, pa.Array]  # of LABEL_COLUMNS those that the file has: int64 or large_string, null where empty

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: np.ndarray[Any, Any]) -> FileEvents:
        """Return the events of the given rows (positions or a mask)."""
        kept = {name: column.filter(pa.array(rows)) for name, column in self.labels.items()}
        time_us = self.detected_at_us[rows]
        return FileEvents(self.path, self.row[rows], self.place[rows], time_us, self.own.take(rows), kept)


def read_events(path: Path, time_column: str | None, bad: BadRows, advance: Advance, *, assume_utc: bool) -> FileEvents:
    """Read the events of `path`; rows that cannot be used go to `bad`. Without a name times are TIME_COLUMNS."""
    times = TIME_COLUMNS if time_column is None else (time_column,)
    wanted = tuple(dict.fromkeys((*times, *LABEL_COLUMNS, *UNCERTAINTY_COLUMNS)))
    parts: list[FileEvents] = []
    decided = None
    for chunk in read_chunks(path, wanted, bad, advance):
        chosen = decided or time_column_of(path, chunk, times)
        parts.append(_events(path, chunk, chosen, bad, assume_utc))
        decided = chosen if len(chunk.row) else None  # the first rows decide for the whole file
    return _joined_events(parts) if parts else _no_events(path)


def _no_events(path: Path) -> FileEvents:
    none = np.empty(0, np.int64)
    return FileEvents(path, none, none, none, OwnUncertainty(np.empty(0), none, none), {})


def _events(path: Path, chunk: Chunk, time_column: str, bad: BadRows, assume_utc: bool) -> FileEvents:
    faults = RowFaults()
    try:
        time_us = read_instants_us(chunk.column(time_column), time_column, faults, assume_utc=assume_utc)
        own = read_own_uncertainty(chunk, faults, assume_utc=assume_utc)
    except CommandError as error:
        raise CommandError(f"{path}: {error}") from None
    labels = {name: read_labels(chunk.columns[name], name, faults) for name in LABEL_COLUMNS if name in chunk.columns}
    return without_faulty(FileEvents(path, chunk.row, chunk.place, time_us, own, labels), faults, bad)


def without_faulty(events: FileEvents, faults: RowFaults, bad: BadRows) -> FileEvents:
    """Return the events that have no fault; count the others as bad rows."""
    bad.add_faults(faults, events.place)
    return events.take(faults.sound(len(events))) if faults else events


def _joined_events(parts: list[FileEvents]) -> FileEvents:
    """Join the parts of a file; a column of labels that is empty throughout counts as not there."""
    row, place, time_us = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "place", "detected_at_us")
    )
    fields = ("sigma_s", "earliest_us", "length_us")
    own = OwnUncertainty(*(np.concatenate([getattr(part.own, field) for part in parts]) for field in fields))
    names = [name for name in LABEL_COLUMNS if any(name in part.labels for part in parts)]
    columns = {name: joined_labels([part.labels.get(name, pa.nulls(len(part))) for part in parts]) for name in names}
    labels = {name: column for name, column in columns.items() if column.null_count < max(len(column), 1)}
    return FileEvents(parts[0].path, row, place, time_us, own, labels)
