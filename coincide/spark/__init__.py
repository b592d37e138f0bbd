"""The joins and the coalescing of the library on Spark DataFrames, and over archives of sorted Parquet files.

Only this package of the library imports pyspark, and reads and writes files. It needs the extra: ``pip install
'coincide[spark]'``, on the driver and on the workers.
"""

from __future__ import annotations

from coincide.spark.arrow_columns import Columns
from coincide.spark.coalescing import coalesce, coalesce_readings
from coincide.spark.joins import Joined, timing_join, window_join
from coincide.spark.part_files import Written
from coincide.spark.sorted_files import SortedFiles

__all__ = ["Columns", "Joined", "SortedFiles", "Written", "coalesce", "coalesce_readings", "timing_join", "window_join"]
