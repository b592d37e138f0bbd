"""Detections: a columnar batch of events, each a reported time and a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.arrow import ArrowColumns, Column
from coincide.arrays.instants import ALLOWED, EARLIEST_TIME_US, LATEST_TIME_US, TimeUnit, datetimes_us, is_datetime
from coincide.arrays.kinds import CodeArray, Int64Array, LabelArray, frozen, sealed
from coincide.errors import DetectionsError
from coincide.joins.detection_table import DetectionTable
from coincide.templates.histogram import Histogram


class Detections(ArrowColumns):
    """Events of one stream in columns; row i is one detection.

    The columns are copied, except those of which nobody can write to the array or to its owner. So whatever happens
    to the caller's arrays later changes neither the detections nor an answer made of them.

    Parameters
    ----------
    detected_at_us : array_like of int or datetime64, shape (n,)
        Reported times, in any order, from 1898 to 2112: microseconds since the epoch (UTC), or datetime64 of any unit
        in UTC, of which parts of a microsecond are cut off. Numbers count as microseconds however small they are: only
        `from_table` refuses those that look like seconds.
    templates : sequence of Histogram
        The templates that the rows refer to.
    template_index : array_like of int, shape (n,), optional
        Position in `templates` of each row's template. May be left out if there is exactly one template.
    area : array_like of int or str, shape (n,), optional
        Only events of one area meet. By default all events are in one.
    sensor : array_like of int or str, shape (n,), optional
        Which sensor reported. By default every detection counts as a sensor of its own.
    received_at_us : array_like of int or datetime64, shape (n,), optional
        When each row came in: a fast clock cannot move the watermark beyond it.
    id : array_like of int or str, shape (n,), optional
        Names of the rows; the streaming joins answer with them. By default they answer with positions.

    Attributes
    ----------
    detected_at_us : ndarray of int64, shape (n,), read-only
    templates : tuple of Histogram
    template_index : ndarray of int32, shape (n,), read-only
    area, sensor, id : ndarray of int64 or str, shape (n,), read-only, or None
    received_at_us : ndarray of int64, shape (n,), read-only, or None

    Raises
    ------
    DetectionsError
        Names the column, the value and what is allowed.

    Examples
    --------
    >>> flashes = Detections([60_000_000, 110_000_000], templates=[Histogram.uniform(-40, 0)])
    >>> flashes.earliest_us.tolist(), flashes.latest_us.tolist()
    ([20000000, 70000000], [60000000, 110000000])
    """

    def __init__(
        self,
        detected_at_us: npt.ArrayLike,
        templates: Sequence[Histogram],
        template_index: npt.ArrayLike | None = None,
        area: npt.ArrayLike | None = None,
        sensor: npt.ArrayLike | None = None,
        *,
        received_at_us: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,  # noqa: A002 - the wire format's own word
    ) -> None:
        self.detected_at_us = _times("detected_at_us", detected_at_us, None)
        rows = len(self.detected_at_us)
        self.templates = _templates(templates)
        self.template_index = _template_index(template_index, len(self.templates), rows)
        self.area = None if area is None else checked_labels("area", area, rows)
        self.sensor = None if sensor is None else checked_labels("sensor", sensor, rows)
        self.received_at_us = None if received_at_us is None else _times("received_at_us", received_at_us, rows)
        self.id = None if id is None else checked_labels("id", id, rows)

    @classmethod
    def from_table(
        cls,
        table: Any,
        templates: Histogram | Mapping[str, Histogram],
        *,
        time: str | None = None,
        unit: TimeUnit = "us",
    ) -> Detections:
        """Return the rows of a DataFrame of pandas or polars, a pyarrow.Table, or a mapping of names to arrays.

        Anything else with ``__arrow_c_stream__``, such as a relation of DuckDB, is read through pyarrow.

        Parameters
        ----------
        table : table
            Columns used, if they are there: `detected_at` or `detected_at_us`, `received_at` or `received_at_us`,
            `area`, `sensor`, `id` and `template`.
        templates : Histogram or mapping of str to Histogram
            One template for all rows, or templates by name: a row has that of its `template`, else of its `sensor`.
        time : str, optional
            Another column with the reported times.
        unit : {"us", "ms", "s", "ns"}
            What numbers in columns of times count, since 1970. Seconds and milliseconds may have a fraction; they are
            rounded to the microsecond. Columns of dates and times know their unit; without a zone they are in UTC.

        Raises
        ------
        DetectionsError
            Names the column, the value and what is allowed. A number of microseconds before 1980 looks like seconds
            or milliseconds, and is refused as at the gateway: `unit` says what it is.

        Examples
        --------
        >>> columns = {"detected_at": np.array(["1987-02-23T07:35:41.374"], "datetime64[ms]"), "sensor": ["imb"]}
        >>> Detections.from_table(columns, {"imb": Histogram.uniform(-0.05, 0.05)}).detected_at_us.tolist()
        [541064141374000]
        """
        rows = DetectionTable(table, unit)
        at_us, (chosen, index) = rows.times_us(time), rows.chosen_templates(templates)
        area, sensor, names = (rows.labels(name) for name in ("area", "sensor", "id"))
        return cls(at_us, chosen, index, area, sensor, received_at_us=rows.received_at_us(), id=names)

    @classmethod
    def concat(cls, parts: Sequence[Detections]) -> Detections:
        """Return the rows of all parts, one behind the other; each needs the columns that the others have.

        Examples
        --------
        >>> early, late = Detections([10], [Histogram.point()]), Detections([90], [Histogram.uniform(-1, 0)])
        >>> Detections.concat([early, late]).template_index.tolist()
        [0, 1]
        """
        position: dict[Histogram, int] = {}
        for template in (template for part in parts for template in part.templates):
            position.setdefault(template, len(position))
        moved = [np.array([position[each] for each in part.templates], np.int32) for part in parts]
        index = [new[part.template_index] for new, part in zip(moved, parts, strict=True)]
        at_us = np.concatenate([np.empty(0, np.int64), *(part.detected_at_us for part in parts)])
        which = np.concatenate([np.empty(0, np.int32), *index])
        area, sensor, received_us, names = (_joined(name, parts) for name in ("area", "sensor", "received_at_us", "id"))
        return cls(sealed(at_us), [*position], sealed(which), area, sensor, received_at_us=received_us, id=names)

    def __len__(self) -> int:
        return len(self.detected_at_us)

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> Detections:
        if not isinstance(rows, slice | np.ndarray):
            raise TypeError(f"rows are chosen by a slice, or an array of positions or of truth values, not {rows!r}")
        return self.take(rows)

    @cached_property
    def earliest_us(self) -> Int64Array:
        """Earliest possible occurrence of each row, int64 (n,)."""
        return self.detected_at_us + np.array([u.earliest_us for u in self.templates], np.int64)[self.template_index]

    @cached_property
    def latest_us(self) -> Int64Array:
        """Latest possible occurrence of each row, int64 (n,)."""
        return self.detected_at_us + np.array([u.latest_us for u in self.templates], np.int64)[self.template_index]

    @property
    def without_labels(self) -> Detections:
        """The same events: what their probabilities need, and nothing else."""
        bare = copy(self)
        bare.area = bare.sensor = bare.received_at_us = bare.id = None
        return bare

    def take(self, rows: npt.NDArray[Any] | slice) -> Detections:
        """Return the batch of the given rows (positions, a mask or a slice), in that order."""
        columns = (self.area, self.sensor, self.received_at_us, self.id)
        area, sensor, received, names = (None if column is None else sealed(column[rows]) for column in columns)
        at_us, index = sealed(self.detected_at_us[rows]), sealed(self.template_index[rows])
        return Detections(at_us, self.templates, index, area, sensor, received_at_us=received, id=names)

    def in_areas(self, area: npt.ArrayLike) -> Detections:
        """Return the same events in other areas."""
        columns = {"received_at_us": self.received_at_us, "id": self.id}
        return Detections(self.detected_at_us, self.templates, self.template_index, area, self.sensor, **columns)

    def _columns(self) -> Mapping[str, Column]:
        received_at = None if self.received_at_us is None else self.received_at_us.view("datetime64[us]")
        optional = {"received_at": received_at, "id": self.id, "sensor": self.sensor, "area": self.area}
        given = {name: column for name, column in optional.items() if column is not None}
        templates = np.array([template.id for template in self.templates], np.str_)
        return {
            "detected_at": self.detected_at_us.view("datetime64[us]"),
            **given,
            "template": templates[self.template_index],
        }

    def __repr__(self) -> str:
        return f"Detections({len(self)} rows, {len(self.templates)} templates)"


def _joined(name: str, parts: Sequence[Detections]) -> LabelArray | None:
    columns = [getattr(part, name) for part in parts if len(part)]
    given = [column for column in columns if column is not None]
    if not given:
        return None
    if len(given) < len(columns) or len({column.dtype.kind for column in given}) > 1:
        raise DetectionsError(name, "a column of some parts alone, or of several types", "one type in every part")
    return sealed(np.concatenate(given))


def _times(field: str, values: npt.ArrayLike, rows: int | None) -> Int64Array:
    given = np.asarray(values)
    if given.ndim == 1 and is_datetime(given):
        times: npt.NDArray[Any] = sealed(datetimes_us(field, given))
    else:
        times = _integers(field, given)
    _check_length(field, times, rows)
    if len(times) and (times.min() < EARLIEST_TIME_US or times.max() > LATEST_TIME_US):
        beyond = times[(times < EARLIEST_TIME_US) | (times > LATEST_TIME_US)][0]
        raise DetectionsError(field, int(beyond), ALLOWED)
    return frozen(times.astype(np.int64, copy=False))


def _integers(field: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DetectionsError(field, f"an array of {array.dtype} with shape {array.shape}", "a flat array of integers")
    return array


def checked_labels(field: str, values: npt.ArrayLike, rows: int) -> LabelArray:
    """Return labels, one a row, as an array of int64 or text; else raise DetectionsError."""
    labels = np.asarray(values)
    if labels.dtype.kind == "O":
        labels = labels.astype(np.str_) if all(isinstance(label, str) for label in labels) else labels
    if labels.size == 0:
        labels = labels.astype(np.int64)
    if labels.ndim != 1 or labels.dtype.kind not in "iuU":
        what = f"an array of {labels.dtype} with shape {labels.shape}"
        raise DetectionsError(field, what, "a flat array of integers or of strings")
    _check_length(field, labels, rows)
    if labels.dtype.kind == "U":
        return frozen(labels)
    if labels.dtype == np.uint64 and len(labels) and labels.max() >= 2**63:
        raise DetectionsError(field, int(labels.max()), "whole numbers from -2**63 to 2**63 - 1, or strings")
    # one type for all batches: int64 beside uint64 would be compared as float64, which does not tell 2**53 + 1
    return frozen(labels.astype(np.int64, copy=False))


def _check_length(field: str, array: npt.NDArray[Any], rows: int | None) -> None:
    if rows is not None and len(array) != rows:
        raise DetectionsError(field, f"an array of {len(array)} rows", f"{rows} rows, as detected_at_us has")


def _templates(templates: Sequence[Histogram]) -> tuple[Histogram, ...]:
    if isinstance(templates, Histogram):
        raise DetectionsError("templates", templates, "a list of Histogram")
    for template in templates:
        if not isinstance(template, Histogram):
            raise DetectionsError("templates", template, "Histogram only")
    return tuple(templates)


def _template_index(template_index: npt.ArrayLike | None, templates: int, rows: int) -> CodeArray:
    if template_index is None:
        if templates != 1 and rows:
            raise DetectionsError("template_index", None, f"one position a row, since there are {templates} templates")
        return sealed(np.zeros(rows, np.int32))
    index = _integers("template_index", template_index)
    _check_length("template_index", index, rows)
    if rows and (index.min() < 0 or index.max() >= templates):
        beyond = int(index[(index < 0) | (index >= templates)][0])
        raise DetectionsError("template_index", beyond, f"a position in templates, 0 to {templates - 1}")
    return frozen(index.astype(np.int32, copy=False))


def checked_batch(field: str, batch: object) -> Detections:
    """Return `batch` if it is a Detections, else raise DetectionsError."""
    if not isinstance(batch, Detections):
        raise DetectionsError(field, batch, "Detections")
    return batch
