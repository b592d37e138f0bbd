"""From Arrow columns to the arrays that the kernels read, and back: names, templates, labels, positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.errors import DetectionsError
from coincide.templates.histogram import Histogram

WORDS = pa.dictionary(pa.int32(), pa.string())
Templates = Histogram | Mapping[str, Histogram] | Mapping[int, Histogram]


THE_ID = ("id",)  # whatever it is called


@dataclass(frozen=True)
class Columns:
    """What the columns of detections are called, and which of them an answer has; the defaults are the archive's.

    Attributes
    ----------
    detected_at_us : str
        Microseconds since the epoch as a 64-bit integer, or a timestamp.
    id : str
        Unique together with the sensor; strings or integers.
    template : str or None
        Which of the templates a row has. None: there is only one.
    area : str or None
        Only rows of one area meet. None: all do.
    sensor : str or None
        Strings or integers. None: every row counts as of a sensor of its own.
    kept : tuple of str
        Which columns of its members an answer has, by default the id. Name the sensor too where ids are unique only
        with it.
    probability : bool
        Whether an answer has its probability; without it, it takes less time.
    """

    detected_at_us: str = "detected_at_us"
    id: str = "id"
    template: str | None = "template"
    area: str | None = "area"
    sensor: str | None = "sensor_id"
    kept: tuple[str, ...] = THE_ID
    probability: bool = True

    def __post_init__(self) -> None:
        if self.kept is THE_ID:
            object.__setattr__(self, "kept", (self.id,))


@dataclass(frozen=True)
class TemplateLabels:
    """Templates by the labels that the rows have in a column: `histograms[n]` is that of `labels[n]`."""

    labels: tuple[Any, ...]
    histograms: tuple[Histogram, ...]
    column: str | None = None

    @classmethod
    def of(cls, templates: Templates, column: str | None) -> TemplateLabels:
        """Take one template for all rows, or one for each label in the column."""
        if isinstance(templates, Histogram):
            return cls((), (templates,))
        if column is None and len(templates) != 1:
            raise DetectionsError("template", None, f"a column that says which of the {len(templates)} templates it is")
        return cls(tuple(templates), tuple(templates.values()), column)

    def packed(self, column: str) -> TemplateLabels:
        """Return the same for rows that have their positions in a column, as `codes` gives them."""
        if self.column is None:
            return self
        return TemplateLabels(tuple(range(len(self.labels))), self.histograms, column)

    def codes(self, table: pa.Table) -> CodeArray:
        """Return the position of each row's template, int32 (n,)."""
        if self.column is None:
            return np.zeros(len(table), np.int32)
        labels = whole(table[self.column].unify_dictionaries())
        codes = self._positions(labels)
        if codes.null_count:
            unknown = labels.filter(pc.is_null(codes))[0].as_py()
            raise DetectionsError(self.column, unknown, self.allowed)
        return numbers(codes, np.int32)

    @property
    def allowed(self) -> str:
        """What a label has to be."""
        return f"one of the {len(self.labels)} templates given"

    def _positions(self, labels: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(labels.type):
            return self._positions(labels.dictionary).take(labels.indices)
        return pc.index_in(labels, pa.array(self.labels, labels.type))

    def used(self, codes: CodeArray) -> tuple[tuple[Histogram, ...], CodeArray]:
        """Return the templates that the rows have and their new codes: a kernel with fewer templates is faster."""
        counts = np.bincount(codes, minlength=len(self.histograms))
        kept = np.flatnonzero(counts)
        if len(kept) == len(self.histograms):
            return self.histograms, codes
        new = np.cumsum(counts > 0, dtype=np.int32) - 1
        return tuple(self.histograms[code] for code in kept.tolist()), new.astype(np.int32)[codes]


def numbers(column: pa.ChunkedArray | pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a column without nulls as an array; no copy if it is in one piece."""
    return np.asarray(whole(column).to_numpy(zero_copy_only=False)).astype(dtype, copy=False)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def times_us(table: pa.Table, name: str) -> Int64Array:
    """Return a column of times, int64 (n,)."""
    refuse_nulls(table, name)
    return numbers(table[name], np.int64)


IN_EVERY_ROW = "a value in every row"


def refuse_nulls(table: pa.Table, *names: str, called: str | None = None) -> None:
    """Raise DetectionsError for the first of these columns that has a null; the user may call it otherwise."""
    for name in names:
        if table[name].null_count:
            raise DetectionsError(called or name, None, IN_EVERY_ROW)


def comparable_codes(columns: Sequence[pa.ChunkedArray]) -> list[Int64Array]:
    """Return numbers in the order of the labels, comparable between columns; whole numbers are their own."""
    if all(pa.types.is_integer(column.type) for column in columns):
        return [numbers(column, np.int64) for column in columns]
    coded = [coded_words(column) for column in columns]
    encoded = pa.chunked_array([chunk for column in coded for chunk in column.chunks], WORDS).unify_dictionaries()
    if encoded.num_chunks == 0:
        return [np.empty(0, np.int64) for _ in columns]
    words = encoded.chunk(0).dictionary
    rank = np.empty(len(words), np.int64)
    rank[numbers(pc.array_sort_indices(words), np.int64)] = np.arange(len(words))
    codes = rank[np.concatenate([numbers(chunk.indices, np.int64) for chunk in encoded.chunks])]
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def divided_by_key(area: Sequence[Int64Array], tables: Sequence[pa.Table], key: str | None) -> Sequence[Int64Array]:
    """Return a number for each row, equal where areas and keys are; all tables have the column of keys."""
    if key is None:
        return area
    for table in tables:
        refuse_nulls(table, key)
    codes = np.concatenate(comparable_codes([table[key] for table in tables]))
    words, codes = np.unique(codes, return_inverse=True)
    both = np.concatenate(area) * max(len(words), 1) + codes
    return np.split(both, np.cumsum([len(table) for table in tables])[:-1])


def coded_words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as positions in a list of words, those of each chunk in one of its own."""
    if not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    return column if column.type == WORDS else column.cast(column.type.value_type).cast(pa.string()).dictionary_encode()


def taken(column: pa.Array, rows: PositionArray) -> pa.Array:
    """Return the values at these rows; null where a row is -1."""
    return column.take(pa.array(rows, mask=rows < 0 if (rows < 0).any() else None))
