"""Writing small files of events in every format, running the command in this process, reading its answer."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coincide.command.main import main

EPOCH_US = 541_064_135_000_000  # 1987-02-23T07:35:35Z
FORMATS = ("csv", "ndjson", "parquet")
NUMBERS = {"row_a", "row_b", "offset_s", "probability", "count", "duration_s", "value"}


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write the rows in the format that the name of `path` says; all have the columns of the first."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


def text(path: Path, content: str) -> Path:
    """Write `content` as it is, compressed if the name ends in .gz."""
    content_bytes = content.encode("utf-8")
    path.write_bytes(gzip.compress(content_bytes) if path.suffix == ".gz" else content_bytes)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """Read an answer; times as text, as the text formats have them, and None for an empty cell of CSV."""
    if path.suffix == ".ndjson":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [{name: _value(name, cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    return [{name: _rfc_3339(value) for name, value in row.items()} for row in pq.read_table(path).to_pylist()]


def _value(name: str, cell: str) -> Any:
    if name == "open":
        return {"true": True, "false": False}[cell]
    try:
        return float(cell) if name in NUMBERS else cell or None
    except ValueError:
        return cell or None


def _rfc_3339(value: Any) -> Any:
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if hasattr(value, "strftime") else value


def answer_of(command: str, *arguments: object, out: Path) -> list[dict[str, Any]]:
    """Run ``coincide COMMAND ... --out``; it has to end well. Return the answer."""
    assert main([command, *map(str, arguments), "--out", str(out)]) == 0
    return read(out)


join, coalesce = partial(answer_of, "join"), partial(answer_of, "coalesce")
