"""A DuckDB database in memory with the columns that everybody else has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def duckdb_with(tables: Mapping[str, Mapping[str, npt.NDArray[np.int64]]], threads: int) -> Any:
    """Return a database in memory that has these columns in tables, in their order."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET allocator_flush_threshold = '64GB'")  # it too may keep the memory that it has
    for name, columns in tables.items():
        connection.register("arrow", pa.table(dict(columns)))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")
    return connection
