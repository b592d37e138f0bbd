"""EventTable: the accepted detections that are still needed, in their order, and their verified templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from itertools import compress
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw, Struct, json

from coincide import Histogram
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.errors import HistogramError
from coincide.templates.clocked import most_buckets
from coincide.templates.codes import TemplateRegistry

SMALLEST_CAPACITY = 1024
FEW_ROWS = 32  # a loop over so many takes no longer than what numpy asks for each call


@dataclass
class EventColumns:
    """Rows as columns, all of length n."""

    ids: list[str]
    payload: list[bytes]
    seq: Int64Array  # rising
    detected_at_us: Int64Array
    latest_us: Int64Array
    received_at_us: Int64Array
    offset: Int64Array  # of the frame, in its partition
    area: CodeArray
    sensor: CodeArray
    template: CodeArray
    place: CodeArray  # `NO_PLACE` where it is not known
    stream: CodeArray
    slot: CodeArray  # number of the journal slot that holds the row
    remembered: BoolArray  # whether the sensor still remembers the row's id

    def __len__(self) -> int:
        return len(self.seq)

    @classmethod
    def empty(cls) -> EventColumns:
        """Return no rows."""
        arrays: Iterable[Any] = (np.empty(0, dtype) for dtype in _DTYPES)
        return cls([], [], *arrays)

    @classmethod
    def joined(cls, parts: Sequence[EventColumns]) -> EventColumns:
        """Return the rows of all parts, sorted by sequence number."""
        parts = [cls.empty(), *parts]
        order = np.argsort(np.concatenate([part.seq for part in parts]))
        arrays: Iterable[Any] = (
            np.concatenate(columns)[order] for columns in zip(*(part.arrays() for part in parts), strict=True)
        )
        ids = [value for part in parts for value in part.ids]
        payload = [value for part in parts for value in part.payload]
        rows = order.tolist()
        return cls([ids[row] for row in rows], [payload[row] for row in rows], *arrays)

    def arrays(self) -> list[npt.NDArray[Any]]:
        """Return the array columns, in the order of the fields."""
        return [getattr(self, name) for name in _ARRAYS]

    def where(self, keep: BoolArray) -> EventColumns:
        """Return the rows for which `keep` is true."""
        arrays: Iterable[Any] = (array[keep] for array in self.arrays())
        chosen = keep.tolist()
        return EventColumns(list(compress(self.ids, chosen)), list(compress(self.payload, chosen)), *arrays)


RowFields = tuple[str, bytes, int, int, int, int, int, int, int, int, int, int, int, bool]
"""One row: what `EventColumns` has a column of, in the same order."""

_ARRAYS = [column.name for column in fields(EventColumns)[2:]]
_DTYPES = [np.int64] * 5 + [np.int32] * 6 + [np.bool_]


class EventTable:
    """Rows in columns with free room behind, so that adding a batch costs its own length."""

    def __init__(self) -> None:
        self._rows = EventColumns.empty()
        self._size = 0
        self._shown: EventColumns | None = None  # as long as nothing changes

    def __len__(self) -> int:
        return self._size

    @property
    def columns(self) -> EventColumns:
        """The rows; their arrays may be written to, and are valid until the table changes."""
        if self._shown is None:
            arrays: Iterable[Any] = (array[: self._size] for array in self._rows.arrays())
            self._shown = EventColumns(self._rows.ids, self._rows.payload, *arrays)
        return self._shown

    def append(self, rows: EventColumns) -> None:
        """Add rows whose sequence numbers come after those that are there."""
        end = self._size + len(rows)
        self._reserve(end)
        for mine, new in zip(self._rows.arrays(), rows.arrays(), strict=True):
            mine[self._size : end] = new
        self._rows.ids.extend(rows.ids)
        self._rows.payload.extend(rows.payload)
        self._size, self._shown = end, None

    def add(self, rows: Sequence[RowFields]) -> EventColumns:
        """Add a few rows and return them: their arrays are the table's own, valid until it changes."""
        start, end = self._size, self._size + len(rows)
        self._reserve(end)
        arrays = self._rows.arrays()
        for at, (id_, payload, *numbers) in enumerate(rows, start):
            self._rows.ids.append(id_)
            self._rows.payload.append(payload)
            for mine, number in zip(arrays, numbers, strict=True):
                mine[at] = number
        self._size, self._shown = end, None
        own: Iterable[Any] = (array[start:end] for array in arrays)
        return EventColumns(self._rows.ids[start:], self._rows.payload[start:], *own)

    def keep(self, rows: BoolArray) -> None:
        """Drop all other rows."""
        self._rows = self.columns.where(rows)
        self._size, self._shown = len(self._rows), None

    def positions(self, seq: Int64Array) -> PositionArray:
        """Return the position of each sequence number, -1 where it is not in the table any more."""
        if self._size == 0:
            return np.full(len(seq), -1)
        known = self._rows.seq[: self._size]
        at = np.minimum(np.searchsorted(known, seq), self._size - 1)
        return np.where(known[at] == seq, at, -1)

    def _reserve(self, size: int) -> None:
        if size <= len(self._rows):
            return
        capacity = max(size, 2 * len(self._rows), SMALLEST_CAPACITY)
        arrays: Iterable[Any] = (
            np.concatenate([array, np.empty(capacity - len(array), array.dtype)]) for array in self._rows.arrays()
        )
        self._rows = EventColumns(self._rows.ids, self._rows.payload, *arrays)


class TemplateFault(IntEnum):
    """Codes of templates that cannot be used; usable ones are 0 and up."""

    MISSING = -1
    MALFORMED = -2
    MISMATCH = -3


class _HistogramJson(Struct, forbid_unknown_fields=True):
    edges_s: list[float]
    mass: list[float]


class _ClockJson(Struct, forbid_unknown_fields=True):
    id: str
    error: _HistogramJson


class _TemplateJson(_HistogramJson, forbid_unknown_fields=True, omit_defaults=True):
    own: _HistogramJson | None = None
    clock: _ClockJson | None = None


_template_decoder = json.Decoder(_TemplateJson)


class VerifiedTemplates(TemplateRegistry):
    """A template registry that takes templates from frames, as JSON under the id that they claim to have."""

    def __init__(self, max_buckets: int) -> None:
        super().__init__()
        self._max_buckets = max_buckets
        self._code_of_id: dict[str, int] = {}

    def code(self, claimed_id: str, content: Raw) -> int:
        """Return the code of a frame's template, or a `TemplateFault`; one known by its id is not looked at again."""
        known = self._code_of_id.get(claimed_id)
        if known is not None:
            return known
        try:
            fields = _template_decoder.decode(content)
            histogram = Histogram.from_json(msgspec.to_builtins(fields))
            if most_buckets(histogram) > self._max_buckets:
                return TemplateFault.MALFORMED
        except (msgspec.MsgspecError, HistogramError, RecursionError, ValueError):
            return TemplateFault.MALFORMED
        return self.add(histogram) if histogram.id == claimed_id else TemplateFault.MISMATCH

    def add(self, histogram: Histogram) -> int:
        """Return the code of a histogram, known or new."""
        [code] = self.codes([histogram]).tolist()
        self._code_of_id[histogram.id] = code
        return int(code)

    def keep_only(self, used: CodeArray) -> CodeArray:
        """Forget the other codes; return new codes by old code (-1: forgotten). `used` is sorted."""
        new_code = super().keep_only(used)
        self._code_of_id = {histogram.id: code for code, histogram in enumerate(self.templates)}
        return new_code
