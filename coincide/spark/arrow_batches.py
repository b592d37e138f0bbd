"""How Spark cuts the rows that it hands to Python into Arrow batches: by rows, for as long as a join of ours runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from pyspark.sql import SparkSession

ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
UNMEASURED = str((1 << 31) - 1)  # Spark does not measure a batch whose bound is the greatest int

_lock = Lock()
_running: Counter[SparkSession] = Counter()
_bytes_before: dict[SparkSession, str | None] = {}


@contextmanager
def batches_by_rows(spark: SparkSession) -> Iterator[None]:
    """Let Spark count the rows of the batches that it hands to Python, and not their bytes too.

    Spark measures a batch anew after each row, which takes as long as all else that it does to hand rows over. Without
    a bound on rows the one on bytes stays. Queries that other threads begin meanwhile are not measured either.
    """
    if int(str(spark.conf.get(ROWS))) <= 0:
        yield
        return
    with _lock:
        if _running[spark] == 0:
            _bytes_before[spark] = spark.conf.get(BYTES, None)
            spark.conf.set(BYTES, UNMEASURED)
        _running[spark] += 1
    try:
        yield
    finally:
        with _lock:
            _running[spark] -= 1
            if _running[spark] == 0:
                before = _bytes_before.pop(spark)
                spark.conf.unset(BYTES) if before is None else spark.conf.set(BYTES, before)
