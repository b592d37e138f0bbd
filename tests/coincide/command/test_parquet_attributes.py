"""Attributes of every type that Parquet has: each compares as what a person sees, or is refused by its name."""

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, join
from tests.coincide.command.playback.test_replay import pair, replay, saved
from tests.coincide.command.test_texts import sides

EQUAL = {**pair(("p", "s")), "id": "q", "equal": "attributes.tag"}
EXACT = ("--uncertainty", "point")


def parquet(path: Path, tags: pa.Array) -> Path:
    rows = range(len(tags))
    columns = {"id": [f"p{n}" for n in rows], "detected_at_us": [EPOCH_US + n * 10**7 for n in rows]}
    pq.write_table(pa.table({**columns, "attributes.tag": tags}), path)
    return path


SEEN: dict[str, tuple[pa.Array, list[Any]]] = {
    "decimal": (pa.array([Decimal("12.50"), None, Decimal("7.00")], pa.decimal128(9, 2)), [12.5, 12.5, 7]),
    "identifiers": (pa.array([Decimal(2**53 + 1), Decimal(2**53)], pa.decimal128(20, 0)), [2**53 + 1, 2**53]),
    "wide": (pa.array([Decimal("0.1"), Decimal(3)], pa.decimal256(50, 9)), [0.1, 3]),
    "dictionary": (pa.array(["red", None, "blue"]).dictionary_encode(), ["red", "red", "blue"]),
    "dictionary of decimals": (pa.array([Decimal("1.5")] * 2, pa.decimal128(5, 3)).dictionary_encode(), [1.5, 1.5]),
    "date": (pa.array([date(2026, 5, 1), None]), ["2026-05-01", "2026-05-01"]),
    "dictionary of dates": (pa.array([date(2026, 5, 1)]).dictionary_encode(), ["2026-05-01"]),
    "half floats": (pa.array([1.5, 2], pa.float32()), [1.5, 2]),
    "truth": (pa.array([True, False]), [True, False]),
    "nan": (pa.array([float("nan"), 1.0]), [None, 1]),
}


@pytest.mark.parametrize(("tags", "seen"), SEEN.values(), ids=SEEN)
def test_a_value_is_equal_to_what_a_person_sees(tmp_path: Path, tags: pa.Array, seen: list[Any]) -> None:
    one, (_, other) = parquet(tmp_path / "p.parquet", tags), sides(tmp_path, "ndjson", [], seen)
    queries = saved(tmp_path, EQUAL)
    expected = [f"p{n}" for n, tag in enumerate(tags.to_pylist()) if tag is not None and tag == tag]  # noqa: PLR0124
    found = join(one, other, "--query", *queries, *EXACT, out=tmp_path / "out.ndjson")
    assert sorted((each["id_a"], each["id_b"]) for each in found) == [(id_, f"s{id_[1:]}") for id_ in expected]
    replayed = replay(queries, one, other, *EXACT, out=tmp_path / "replayed.ndjson")
    assert [each["members"][0]["id"] for each in replayed] == expected


def test_two_values_that_are_no_number_are_not_equal(tmp_path: Path) -> None:
    none = pa.array([float("nan")])
    files = [parquet(tmp_path / f"{name}.parquet", none) for name in "ps"]
    assert join(*files, "--query", *saved(tmp_path, EQUAL), *EXACT, out=tmp_path / "out.ndjson") == []


@pytest.mark.parametrize("test", [{"is": 12.5}, {"above": 12, "at_most": 12.5}])
def test_a_filter_takes_a_decimal_for_the_number_it_is(tmp_path: Path, test: dict[str, Any]) -> None:
    tags = pa.array([Decimal("12.50"), Decimal("12.51"), None], pa.decimal128(9, 2))
    one, (_, other) = parquet(tmp_path / "p.parquet", tags), sides(tmp_path, "ndjson", [], [1, 1, 1])
    played = {"a": {"stream": "p", "where": {"attributes.tag": test}}, "b": "s"}
    query = {"id": "q", "from": played, "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}]}
    [found] = join(one, other, "--query", *saved(tmp_path, query), *EXACT, out=tmp_path / "out.ndjson")
    assert found["id_a"] == "p0"


REFUSED: dict[str, pa.Array] = {
    "timestamp[us]": pa.array([datetime(2026, 5, 1)]),
    "time64[us]": pa.array([time(12, 30)]),
    "binary": pa.array([b"red"]),
    "fixed_size_binary[3]": pa.array([b"red"], pa.binary(3)),
    "struct<is: string>": pa.array([{"is": "red"}]),
    "list<element: string>": pa.array([["red"]]),
    "dictionary<values=binary": pa.array([b"red"]).dictionary_encode(),
}


@pytest.mark.parametrize(("kind", "tags"), REFUSED.items(), ids=REFUSED)
@pytest.mark.parametrize("command", ["join", "replay"])
def test_what_nobody_could_compare_is_refused_by_its_name(
    tmp_path: Path, command: str, kind: str, tags: pa.Array, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a bad column every row is bad: --skip-bad would leave none."""
    file, [query] = parquet(tmp_path / "p.parquet", tags), saved(tmp_path, EQUAL)
    asked = [str(file), "--query", str(query)] if command == "join" else ["--query", str(query), str(file)]
    assert main([command, *asked, *EXACT, "--skip-bad"]) == 1
    said = capsys.readouterr().err
    assert f"{file}: attributes.tag is of the type {kind}" in said
    assert said.endswith(": an attribute is a text, a number, a date, true or false\n")
