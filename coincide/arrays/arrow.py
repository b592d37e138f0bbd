"""Columns as others have them: read from the tables of pandas, polars and pyarrow, and handed over through Arrow.

None of them is imported before it is needed, so numpy stays the only thing that the library cannot do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Column = npt.NDArray[Any]
NEEDED = "pip install pyarrow: through it coincide hands columns over"


class ArrowColumns:
    """What has columns to hand over: `to_arrow`, and the PyCapsule interface of Arrow, which most tools read.

    So ``polars.DataFrame(answer)``, ``pyarrow.table(answer)`` and ``SELECT ... FROM answer`` in DuckDB all work.
    """

    def _columns(self) -> Mapping[str, Column]:
        """Return arrays of one length by name: datetime64 is in UTC, what is masked is null, two axes make lists."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return the columns as a pyarrow.Table; times are timestamps in UTC. Needs pyarrow."""
        pyarrow = _pyarrow()
        return pyarrow.table({name: _array(pyarrow, values) for name, values in self._columns().items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns as an Arrow stream in a capsule; needs pyarrow or polars."""
        try:
            table = self.to_arrow()
        except ImportError:
            table = _polars_frame(self._columns())
            return table.__arrow_c_stream__()
        return table.__arrow_c_stream__(requested_schema)


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise ImportError(NEEDED) from None


def _array(pyarrow: Any, values: Column) -> Any:
    if values.ndim == 2:
        return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.ravel()), values.shape[1])
    array = pyarrow.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
    return array.cast(pyarrow.timestamp("us", "UTC")) if values.dtype.kind == "M" else array


def _polars_frame(columns: Mapping[str, Column]) -> Any:
    """Return the columns as a polars.DataFrame, where that is there and pyarrow is not."""
    try:
        polars = import_module("polars")
    except ImportError:
        raise ImportError(NEEDED) from None
    frame = {}
    for name, values in columns.items():
        series = polars.Series(name, np.ma.getdata(values))
        series = series.dt.replace_time_zone("UTC") if values.dtype.kind == "M" else series
        if np.ma.is_masked(values):
            series = series.scatter(np.flatnonzero(np.ma.getmaskarray(values)), None)
        frame[name] = series
    return polars.DataFrame(frame)


class TableColumns:
    """The columns of a table that somebody else made.

    It may be a DataFrame of pandas or polars, a Table of pyarrow, a mapping of names to arrays, or anything with
    ``__arrow_c_stream__``, such as a relation of DuckDB; the last needs pyarrow.
    """

    def __init__(self, table: Any) -> None:
        is_indexed = isinstance(table, Mapping) or hasattr(table, "column_names") or hasattr(table, "iloc")
        if not is_indexed and not type(table).__module__.startswith("polars.") and hasattr(table, "__arrow_c_stream__"):
            table = _pyarrow().table(table)
        names = next((getattr(table, each) for each in ("column_names", "columns") if hasattr(table, each)), table)
        if not hasattr(table, "__getitem__") or isinstance(names, str):
            raise TypeError(f"a table is needed, such as a DataFrame or a mapping of arrays; this is {type(table)}")
        self._table, self.names = table, [str(name) for name in names]

    def get(self, name: str) -> Column | None:
        """Return a column as numpy has it; None if the table has none of that name."""
        if name not in self.names:
            return None
        column = self._table[name]
        if hasattr(getattr(column, "dtype", None), "tz"):  # pandas would make an object of each time with a zone
            column = column.dt.tz_convert(None)
        values = np.asarray(column)
        if values.dtype.kind == "O" and len(values) and type(values[0]) is int:  # whole numbers that may be missing
            numbers = np.array(values.tolist())
            values = numbers if numbers.dtype.kind in "iu" else values
        return values
