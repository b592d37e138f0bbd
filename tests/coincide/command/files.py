"""Writing small files of events in every format, running the command in this process, reading its answer."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.main import main

Row = Mapping[str, Any]
FORMATS = ("csv", "ndjson", "parquet")


def write(path: Path, rows: Sequence[Row]) -> Path:
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
    """Read an answer; times as text, as the text formats have them."""
    if path.suffix == ".ndjson":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return [_numbers(row) for row in csv.DictReader(file)]
    return [
        {name: value if not hasattr(value, "isoformat") else _rfc_3339(value) for name, value in row.items()}
        for row in pq.read_table(path).to_pylist()
    ]


def _numbers(row: Row) -> dict[str, Any]:
    convert = {"row_a": int, "row_b": int, "offset_s": float, "probability": float}
    return {name: convert.get(name, str)(value) for name, value in row.items()}


def _rfc_3339(at: Any) -> str:
    return str(at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


class Failing(Protocol):
    """Runs a command on arguments that it cannot use, and returns the lines that it says."""

    def __call__(self, *arguments: object) -> list[str]: ...


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """Run a command that has to fail without an answer or a traceback; return what it says."""
    assert main([*map(str, arguments)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return [line for line in err.splitlines() if "taken as exact" not in line]


def join(*arguments: object, out: Path) -> list[dict[str, Any]]:
    """Run ``coincide join ... --out``; it has to end well. Return the answer."""
    assert main(["join", *map(str, arguments), "--out", str(out)]) == 0
    return read(out)


def coalesce(*arguments: object, out: Path) -> list[dict[str, Any]]:
    """Run ``coincide coalesce ... --out``; it has to end well. Return the answer."""
    assert main(["coalesce", *map(str, arguments), "--out", str(out)]) == 0
    return read_values(out)


def read_values(path: Path) -> list[dict[str, Any]]:
    """Read an answer of runs; in CSV a column of numbers is one of numbers, and what is empty is None."""
    if path.suffix != ".csv":
        return read(path)
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(name, cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _value(name: str, cell: str) -> Any:
    if name == "open":
        return {"true": True, "false": False}[cell]
    if name in {"count", "duration_s", "value"} and cell:
        try:
            return float(cell)
        except ValueError:
            return cell
    return cell or None
