"""coincide coalesce on real files: every format, every kind of value."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.coalesce import run_coalesce
from coincide.command.coalesce_arguments import CoalesceRequest
from coincide.command.main import main, request_of
from tests.coincide.command.files import FORMATS, coalesce, read_values, text, write

EPOCH_US = 541_064_135_000_000
TIME = "1987-02-23T07:35:{:02}Z"


def test_every_format_gives_the_same_answer(tmp_path: Path) -> None:
    rows = [
        {"a, b": 'x "y"' if n % 3 else "ü\nz", "detected_at": TIME.format(n), "degrees": [20.5, 21, 21, 20.5][n % 4]}
        for n in range(40)
    ]
    answers = [
        coalesce(write(tmp_path / f"a.{source}", rows), "--by", "a, b", "--value", "degrees",
                 out=tmp_path / f"{source}.{target}")
        for source, target in itertools.product(FORMATS, FORMATS)
    ]  # fmt: skip
    assert len(answers[0]) > 20
    assert answers[0][0]["a, b"] == 'x "y"'
    assert all(answer == answers[0] for answer in answers)


def test_the_issue_s_example(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A break of 3 s, by 79 degrees, is shorter than the gap; another of 6 s is not."""
    degrees = {0: 81, 10: 79, 13: 81, 20: 79, 26: 81}
    rows = [{"sensor": "s", "detected_at": TIME.format(at), "celsius": value} for at, value in degrees.items()]
    file = write(tmp_path / "a.csv", rows)
    assert main(["coalesce", str(file), "--by", "sensor", "--value", "celsius", "--gap", "5"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "sensor,value,start,end,duration_s,count,open",
        "s,81,1987-02-23T07:35:00.000000Z,1987-02-23T07:35:20.000000Z,20,2,false",
        "s,79,1987-02-23T07:35:10.000000Z,1987-02-23T07:35:13.000000Z,3,1,false",
        "s,79,1987-02-23T07:35:20.000000Z,1987-02-23T07:35:26.000000Z,6,1,false",
        "s,81,1987-02-23T07:35:26.000000Z,1987-02-23T07:35:26.000000Z,0,1,true",
    ]


def test_hot_periods_are_cut_by_cool_readings(tmp_path: Path) -> None:
    celsius = [99, 101, 103, 98, 104, 90]
    rows = [{"detected_at": TIME.format(at), "celsius": value} for at, value in enumerate(celsius)]
    file = write(tmp_path / "a.csv", rows)
    hot = coalesce(file, "--value", "celsius", "--above", 100, "--equivalence", "any", out=tmp_path / "out.ndjson")
    assert [(row["value"], row["duration_s"], row["count"], row["open"]) for row in hot] == [
        (101, 2, 2, False),
        (104, 1, 1, False),
    ]


def test_without_values_readings_within_the_hold_are_one_run(tmp_path: Path) -> None:
    rows = [{"detected_at": TIME.format(at)} for at in (0, 5, 10, 21, 30)]
    runs = coalesce(write(tmp_path / "a.csv", rows), "--hold", 10, out=tmp_path / "out.ndjson")
    assert [(row["duration_s"], row["count"], row["open"]) for row in runs] == [(20, 3, False), (9, 2, True)]
    assert "value" not in runs[0]


def test_andys_salary(tmp_path: Path) -> None:
    """The paper's Tables 1 to 3: without the department two rows of 120 are one."""
    file = text(
        tmp_path / "staff.csv",
        "name,department,salary,from,to\n"
        "Andy,Development,100,2000-01-01T00:00:00Z,2004-01-01T00:00:00Z\n"
        "Andy,Development,120,2004-01-01T00:00:00Z,2008-01-01T00:00:00Z\n"
        "Andy,R&D,120,2008-01-01T00:00:00Z,\n",
    )
    options = ["--by", "name", "--value", "salary", "--start", "from", "--end", "to"]
    out = tmp_path / "out.csv"
    coalesce(file, *options, out=out)
    assert out.read_text().splitlines()[1:] == [
        "Andy,100,2000-01-01T00:00:00.000000Z,2004-01-01T00:00:00.000000Z,126230400,1,false",
        "Andy,120,2004-01-01T00:00:00.000000Z,,,2,true",
    ]
    again = coalesce(out, "--by", "name", "--start", "start", "--end", "end", out=tmp_path / "all.ndjson")
    assert [(row["start"][:4], row["end"], row["open"]) for row in again] == [("2000", None, True)]


@pytest.mark.parametrize("source", FORMATS)
def test_values_may_be_texts(tmp_path: Path, source: str) -> None:
    states = ["open", "open", "shut", "7", "7"]
    rows = [{"detected_at": TIME.format(at), "door": state} for at, state in enumerate(states)]
    runs = coalesce(write(tmp_path / f"a.{source}", rows), "--value", "door", out=tmp_path / "out.ndjson")
    assert [(row["value"], row["count"]) for row in runs] == [("open", 2), ("shut", 1), ("7", 2)]


@pytest.mark.parametrize("source", FORMATS)
def test_numbers_that_are_texts(tmp_path: Path, source: str) -> None:
    rows = [{"detected_at": TIME.format(at), "code": code} for at, code in enumerate(["07", "7", "7.0"])]
    file = write(tmp_path / f"a.{source}", rows)
    assert [row["count"] for row in coalesce(file, "--value", "code", out=tmp_path / "out.ndjson")] == [3]
    runs = coalesce(file, "--value", "code", "--text", out=tmp_path / "out.ndjson")
    assert [row["value"] for row in runs] == ["07", "7", "7.0"]


@pytest.mark.parametrize("source", ["ndjson", "parquet"])
def test_truth_values_are_texts(tmp_path: Path, source: str) -> None:
    rows = [{"detected_at": TIME.format(at), "wet": wet} for at, wet in enumerate([True, True, False])]
    runs = coalesce(write(tmp_path / f"a.{source}", rows), "--value", "wet", out=tmp_path / "out.csv")
    assert [(row["value"], row["count"]) for row in runs] == [("true", 2), ("false", 1)]


def test_whole_numbers_are_not_rounded(tmp_path: Path) -> None:
    rows = [{"detected_at": TIME.format(at), "n": 2**53 + at} for at in range(2)]
    for source in FORMATS:
        runs = coalesce(write(tmp_path / f"a.{source}", rows), "--value", "n", out=tmp_path / "out.ndjson")
        assert [row["value"] for row in runs] == [2**53, 2**53 + 1]


def test_parquet_columns_of_any_kind(tmp_path: Path) -> None:
    table = pa.table({
        "sensor": pa.array(["s", "s", "s"]).dictionary_encode(),
        "detected_at": pa.array([EPOCH_US, EPOCH_US + 1, EPOCH_US + 2], pa.timestamp("us", "UTC")),
        "celsius": pa.array([20, 20, 21], pa.uint8()),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    runs = coalesce(tmp_path / "a.parquet", "--by", "sensor", "--value", "celsius", out=tmp_path / "out.parquet")
    assert [(row["sensor"], row["value"], row["count"]) for row in runs] == [("s", 20, 2), ("s", 21, 1)]


@pytest.mark.parametrize("source", ["ndjson", "parquet"])
def test_columns_may_be_inside_others(tmp_path: Path, source: str) -> None:
    rows = [
        {"detected_at": TIME.format(at), "attributes": {"site": {"name": "bay"}, "celsius": value}, "x.y": value % 2}
        for at, value in enumerate([81, 81, 79])
    ]
    columns = ["--by", "attributes.site.name", "--by", "x.y", "--value", "attributes.celsius"]
    runs = coalesce(write(tmp_path / f"a.{source}", rows), *columns, out=tmp_path / "out.ndjson")
    assert [(row["attributes.site.name"], row["x.y"], row["value"], row["count"]) for row in runs] == [
        ("bay", 1, 81, 2), ("bay", 1, 79, 1),
    ]  # fmt: skip


def test_of_readings_at_one_time_the_smallest_id_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": id_, "detected_at": TIME.format(at), "celsius": value}
        for id_, at, value in (("b", 0, 79), ("c", 0, 80), ("a", 0, 81), ("d", 1, 81))
    ]
    file = write(tmp_path / "a.csv", rows)
    [run] = coalesce(file, "--value", "celsius", out=tmp_path / "out.ndjson")
    assert (run["value"], run["count"]) == (81, 2)
    left_out = f"coincide: {file}: 2 readings are left out: another of the same group and time counts\n"
    assert capsys.readouterr().err == left_out
    without_ids = write(tmp_path / "b.csv", [{name: row[name] for name in ("detected_at", "celsius")} for row in rows])
    first, second = coalesce(without_ids, "--value", "celsius", out=tmp_path / "out.ndjson")
    assert (first["value"], second["value"]) == (79, 81)


@pytest.mark.parametrize("target", FORMATS)
def test_a_file_without_rows_has_an_empty_answer(tmp_path: Path, target: str) -> None:
    empty = text(tmp_path / "a.csv", "sensor,detected_at,celsius\n")
    out = tmp_path / f"out.{target}"
    assert coalesce(empty, "--by", "sensor", "--value", "celsius", out=out) == []
    assert coalesce(text(tmp_path / "b.ndjson", ""), "--by", "sensor", "--value", "celsius", out=out) == []
    if target == "csv":
        assert out.read_text() == "sensor,value,start,end,duration_s,count,open\n"


def test_more_blocks_than_one(tmp_path: Path) -> None:
    rows = [{"detected_at_us": EPOCH_US + n, "n": n} for n in range(50)]
    file = write(tmp_path / "a.parquet", rows)
    for target in FORMATS:
        whole = coalesce(file, "--value", "n", out=tmp_path / f"whole.{target}")
        parts = tmp_path / f"parts.{target}"
        request = request_of(["coalesce", str(file), "--value", "n", "--out", str(parts)])
        assert isinstance(request, CoalesceRequest)
        assert run_coalesce(request, block=7) == 50
        assert read_values(parts) == whole
        assert len(whole) == 50


def test_bars_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    coalesce(write(tmp_path / "a.csv", [{"detected_at": TIME.format(1)}]), out=tmp_path / "out.csv")
    said = capsys.readouterr().err
    assert "reading a.csv" in said
    assert "coalescing" in said
    assert "100%" in said
