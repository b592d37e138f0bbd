"""An archive of a few rows that a run reads as it reads a large one: in many groups of rows, and many chunks."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from services.history.archiving.folders import write_rows


def cut_small(
    monkeypatch: pytest.MonkeyPatch, files: Iterable[Path], chunk_rows: int = 15, rows_in_group: int = 10
) -> None:
    """Write these files anew in groups of so many rows, and have runs take so many rows a chunk."""
    monkeypatch.setattr("services.history.replaying.complete_run.CHUNK_ROWS", chunk_rows)
    monkeypatch.setattr("services.history.archiving.folders.ROWS_IN_GROUP", rows_in_group)
    for file in files:
        write_rows(file, pq.ParquetFile(file).read())
