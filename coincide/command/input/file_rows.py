"""Rows to be coalesced: readings at one time each, or facts with their own intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.arguments.coalesce_arguments import CoalesceRequest
from coincide.command.faults import BadRows, CommandError, RowFaults, ValueRefused, note
from coincide.command.input.chunks import Advance, Chunk
from coincide.command.input.file_columns import TIME_COLUMNS, joined_labels, read_labels, there_are, time_column_of
from coincide.command.input.file_times import (
    LATEST,
    TimeForm,
    read_instants_us,
    read_optional_instants_us,
    without_last_year,
)
from coincide.command.input.file_values import ValueColumn, joined_values
from coincide.command.input.formats import bad_rows_of, read_chunks
from coincide.temporal.intervals import NOW_US

STREAM = "stream"


@dataclass(frozen=True, eq=False)
class FileRows:
    """The usable rows of a file, n of them."""

    start_us: Int64Array  # (n,): when each reading was taken, or each fact begins
    end_us: Int64Array | None  # (n,): when each fact ends, NOW_US where it still holds; None: they are readings
    by: list[pa.Array]  # the columns that make a group: int64 or large_string
    value: pa.Array | None  # int64, float64 or large_string
    id: pa.Array | None  # of readings: int64 or large_string, null where empty
    is_unknown: BoolArray  # (n,): readings whose value cannot be used; each still ends the one before it

    def where(self, mask: BoolArray) -> FileRows:
        """Return the rows where the mask is true."""
        if mask.all():
            return self
        end_us = None if self.end_us is None else self.end_us[mask]
        value, ids = (None if column is None else column.filter(pa.array(mask)) for column in (self.value, self.id))
        by = [each.filter(pa.array(mask)) for each in self.by]
        return FileRows(self.start_us[mask], end_us, by, value, ids, self.is_unknown[mask])


def read_rows(request: CoalesceRequest, bad: BadRows, advance: Advance) -> FileRows:
    """Read what `request` names; rows that cannot be used go to `bad`.

    With --skip-bad a reading of which only the value cannot be used stays: it ends the one before it.
    """
    reader = _Reader(request)
    parts = [reader.part(chunk, bad) for chunk in read_chunks(request.path, reader.wanted, bad, advance)]
    none, no_labels = np.empty(0, np.int64), [pa.array([], pa.large_string())]
    start_us = np.concatenate([none, *(part.start_us for part in parts)])
    ends = [part.end_us for part in parts if part.end_us is not None]
    by = [joined_labels([part.by[n] for part in parts] or no_labels) for n in range(len(request.by))]
    values = [part.value for part in parts if part.value is not None]
    value = joined_values(values) if request.value_column else None
    end_us = np.concatenate([none, *ends]) if request.facts else None
    reader.tell_unknown()
    is_unknown = np.concatenate([none.astype(np.bool_), *(part.is_unknown for part in parts)])
    return FileRows(start_us, end_us, by, value, _joined_ids(parts), is_unknown)


def _joined_ids(parts: list[FileRows]) -> pa.Array | None:
    if all(part.id is None for part in parts):
        return None
    return joined_labels([pa.nulls(len(part.start_us)) if part.id is None else part.id for part in parts])


class _Reader:
    """Turns chunks into rows; what the first rows decide holds for the whole file."""

    def __init__(self, request: CoalesceRequest) -> None:
        self._request = request
        self._times = TIME_COLUMNS if request.time_column is None else (request.time_column,)
        self._time_column = self._times[0]
        is_number = False if request.values_are_texts else (request.needs_numbers or None)
        self._value = ValueColumn(request.value_column, is_number=is_number) if request.value_column else None
        self._optional = () if request.query is None else request.by[:1]  # the area
        self._needed = [
            *request.by[len(self._optional) :],
            *filter(None, [request.value_column]),
            *(request.facts or ()),
        ]
        when = request.facts or (*self._times, "id")
        stream = () if request.stream is None else (STREAM,)
        self.wanted = tuple(dict.fromkeys((*self._optional, *self._needed, *when, *stream)))
        self._has_begun = False
        self._unknown = bad_rows_of(request.path)

    def tell_unknown(self) -> None:
        """Say how many readings have no value that can be used."""
        if count := self._unknown.count:
            many = "1 reading has" if count == 1 else f"{count} readings have"
            note(f"{self._request.path}: {many} no value that can be used: each ends the one before it; the first:")
            note(self._unknown.messages()[0])

    def part(self, chunk: Chunk, bad: BadRows) -> FileRows:
        """Return the rows of a chunk that can be used."""
        self._decide_columns(chunk)
        faults = RowFaults()
        try:
            start_us, end_us = self._when(chunk, faults)
        except CommandError as error:
            raise CommandError(f"{self._request.path}: {error}") from None
        by = [
            read_labels(chunk.column(name), name, faults) if name in self._optional else _filled(chunk, name, faults)
            for name in self._request.by
        ]
        is_unknown, value = self._values(chunk, faults, may_be_unknown=end_us is None)
        ids = read_labels(chunk.columns["id"], "id", faults) if end_us is None and "id" in chunk.columns else None
        bad.add_faults(faults, chunk.place)
        rows, sound = FileRows(start_us, end_us, by, value, ids, is_unknown), faults.sound(len(start_us))
        return rows.where(sound & self._is_of_stream(chunk))

    def _values(self, chunk: Chunk, faults: RowFaults, *, may_be_unknown: bool) -> tuple[BoolArray, pa.Array | None]:
        """Return the values, and which readings stay though theirs cannot be used."""
        is_unknown = np.zeros(len(chunk.row), np.bool_)
        if self._value is None:
            return is_unknown, None
        own = RowFaults()
        value = self._value.read(chunk.column(self._value.name), own)
        may_be_unknown = may_be_unknown and self._request.skip_bad
        for position, why in own.items():
            if may_be_unknown and position not in faults:
                self._unknown.add(int(chunk.place[position]), why)
                is_unknown[position] = True
            else:
                faults.add(position, why)
        return is_unknown, value

    def _is_of_stream(self, chunk: Chunk) -> BoolArray:
        """Whether each row is of the stream that is asked for; one that names none is."""
        every: BoolArray = np.ones(len(chunk.row), np.bool_)
        if self._request.stream is None or STREAM not in chunk.columns:
            return every
        named = pc.fill_null(read_labels(chunk.columns[STREAM], STREAM, RowFaults()).cast(pa.large_string()), "")
        return every & np.isin(named.to_numpy(zero_copy_only=False), ["", self._request.stream])

    def _decide_columns(self, chunk: Chunk) -> None:
        """Let the first rows say which columns there are; in NDJSON others may leave them out, and are bad then."""
        if self._has_begun:
            return
        missing = [name for name in self._needed if name not in chunk.columns]
        if missing:
            raise CommandError(f"{self._request.path} has no column {missing[0]}: {there_are(chunk, missing)}")
        if not self._request.facts:
            self._time_column = time_column_of(self._request.path, chunk, self._times)
        self._has_begun = len(chunk.row) > 0

    def _when(self, chunk: Chunk, faults: RowFaults) -> tuple[Int64Array, Int64Array | None]:
        form: TimeForm = {"assume_utc": self._request.assume_utc, "unit": self._request.unit}
        if self._request.facts:
            return _intervals(chunk, self._request.facts, faults, form)
        values = chunk.column(self._time_column)
        return read_instants_us(values, self._time_column, faults, **form), None


def _filled(chunk: Chunk, name: str, faults: RowFaults) -> pa.Array:
    names = read_labels(chunk.column(name), name, faults)
    empty = np.flatnonzero(names.is_null().to_numpy(zero_copy_only=False))
    faults.add_all(empty, str(ValueRefused(name, None, "a text or a whole number")))
    return names


def _intervals(
    chunk: Chunk, columns: tuple[str, str], faults: RowFaults, form: TimeForm
) -> tuple[Int64Array, Int64Array]:
    start, end = columns
    rows = len(chunk.row)
    start_us = read_instants_us(chunk.column(start), start, faults, **form)
    own, ends = RowFaults(), without_last_year(chunk.column(end))
    end_us, has_end = read_optional_instants_us(ends, end, rows, own, **form)
    for position, why in own.items():
        faults.add(position, f"{why}; leave it empty if it still holds" if why.endswith(LATEST) else why)
    end_us = np.where(has_end, end_us, NOW_US)
    for position in np.flatnonzero((end_us < start_us) & faults.sound(rows)).tolist():
        began, ended = (f"{np.datetime64(int(each[position]), 'us')}Z" for each in (start_us, end_us))
        faults.add(position, ValueRefused(end, ended, f"{start}, which is {began}, or later"))
    return start_us, end_us
