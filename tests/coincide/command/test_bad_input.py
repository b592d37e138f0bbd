"""What users of both commands get wrong: a sentence each, by file and line; never a traceback."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.input import csv_rows, ndjson_rows
from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, FORMATS, coalesce, join, text, write

TIME = "1987-02-23T07:35:35Z"
GOOD = f"id,detected_at\n1,{TIME}\n"
HEADER = "sensor,detected_at,celsius\n"
WARM = f"{HEADER}s,{TIME},20\n"
READINGS = ["--by", "sensor", "--value", "celsius"]
FACTS = ["--value", "celsius", "--start", "from", "--end", "to"]
ROWS_A_CHUNK = 4
ALONE = ["--window", 1, "--threshold", 1, "--uncertainty", "point"]
Failing = Callable[..., list[str]]


@pytest.fixture
def failing(capsys: pytest.CaptureFixture[str]) -> Failing:
    """Runs a command, with few rows a chunk, that must fail without an answer or a traceback; returns what it says."""

    def run(*arguments: object) -> list[str]:
        with patch.object(csv_rows, "ROWS", ROWS_A_CHUNK), patch.object(ndjson_rows, "ROWS", ROWS_A_CHUNK):
            assert main([*map(str, arguments)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        return [line for line in err.splitlines() if "taken as exact" not in line]

    return run


@pytest.fixture
def joining(failing: Failing) -> Failing:
    return lambda *arguments: failing("join", *arguments, "--window", 1, "--threshold", 0.5)


@pytest.fixture
def coalescing(failing: Failing) -> Failing:
    return partial(failing, "coalesce")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,detected_at\n1,yesterday\n", "a.csv line 2: detected_at: 'yesterday': RFC 3339 or epoch micro"),
        ("a.csv", "id,detected_at\n1,541064135\n", "a.csv line 2: detected_at: '541064135': microseconds since 1970"),
        ("a.csv", "id,detected_at\n1,1987-02-23T07:35:35\n", "(--assume-utc takes it as UTC)"),
        ("a.csv", "id,detected_at\n1,\n", "a.csv line 2: detected_at: empty: RFC 3339"),
        ("a.csv", f"id,detected_at\n1,{TIME},x\n", "a.csv line 2: 3 cells; the header has 2"),
        ("a.csv", f'id,detected_at\n"x\ny",{TIME}\n2,no\n', "a.csv line 4: detected_at: 'no'"),
        ("a.csv", f"id,detected_at\n\n\n2,no\n1,{TIME}\n", "a.csv line 4: detected_at: 'no'"),
        ("a.csv", f"sensor,detected_at\ns,{TIME}\n,{TIME}\n", "a.csv line 3: sensor: empty"),
        ("a.csv", f"detected_at,sigma_s\n{TIME},-1\n", "line 2: sigma_s: -1.0: seconds, from 1e-6 to 2.5e8"),
        ("a.csv", f"detected_at,sigma_s\n{TIME},much\n", "line 2: sigma_s: 'much': a number"),
        ("a.csv", f"detected_at,sigma_s\n{TIME},nan\n", "line 2: sigma_s: 'nan': a number"),
        ("a.csv", f"detected_at,sigma_s\n{TIME},1\n{TIME},\n", "line 3: no template for this event"),
        ("a.csv", f"detected_at,earliest,latest\n{TIME},{TIME},\n", "line 2: latest: empty: earliest needs it"),
        ("a.csv", f"detected_at,earliest\n{TIME},{TIME}\n", "line 2: latest: empty: earliest needs it"),
        ("a.csv", f"detected_at,earliest,latest\n{TIME},{TIME},1987-02-23T07:35:34Z\n", "latest: before earliest"),
        ("a.csv", f"detected_at,earliest,latest,sigma_s\n{TIME},{TIME},{TIME},1\n", "either it or earliest and latest"),
        ("a.csv", f"detected_at,earliest,latest\n{TIME},{TIME},2111-01-01T00:00:00Z\n", "latest: more than 1e+09 s"),
        ("a.csv", f"detected_at,template\n{TIME},t\n", "line 2: template: 't': no template of that name is given"),
        ("a.ndjson", '{"detected_at": 1\n', "a.ndjson line 1: no JSON: Expecting ',' delimiter at character 18"),
        ("a.ndjson", f'{{"id": {"9" * 5000}}}\n', "a.ndjson line 1: no JSON: Exceeds the limit"),
        ("a.ndjson", "[1]\n", "a.ndjson line 1: JSON, but no object"),
        ("a.ndjson", "[" * 100_000 + "\n", "a.ndjson line 1: "),
        ("a.ndjson", f'{{"detected_at": "{TIME}"}}\n\n{{"detected_at": true}}\n', "line 3: detected_at: True: RFC"),
        ("a.ndjson", f'{{"detected_at": {2**70}}}\n', f"line 1: detected_at: {2**70}: microseconds since 1970, before"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "id": [1]}}\n', "line 1: id: [1]: a text in UTF-8 or a whole number"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "id": "\\ud800"}}\n', "line 1: id: '\\ud800': a text in UTF-8"),
        ("a.ndjson", '{"sigma_s": 1, "uncertainty": {"sigma_s": 2}}\n', "uncertainty: {'sigma_s': 2}: no other sigma_"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "uncertainty": {{"mass": [1]}}}}\n', "for a histogram name"),
    ],
)
def test_bad_lines(tmp_path: Path, joining: Failing, name: str, content: str, message: str) -> None:
    said = joining(text(tmp_path / name, content))
    assert message in said[0]
    assert said[-1] == "coincide: 1 bad line in all: put them right, or --skip-bad leaves them out"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "has no header"),
        ("a.csv", "time\n1\n", "has no column detected_at or detected_at_us: --time names the column with the times"),
        ("a.csv", "id,time\n1,2\n", "; there are 'id', 'time'"),
        ("a.csv", "id,Detected_At\n1,2\n", "; there are 'id', 'Detected_At' (capitals count)"),
        ("a.csv", ",".join("abcdefghijklm") + "\n", "'i', 'j', …"),
        ("a.ndjson", '{"time": 1, "id": 2}\n', "; there are 'id', 'time'"),
        ("a.csv", "time\n", "has no column detected_at or detected_at_us"),
        ("a.csv", f"detected_at,detected_at\n{TIME},{TIME}\n", "names 'detected_at' twice"),
        ("a.csv", f'detected_at\n{TIME}\n"{"x" * 1_100_000}', "a.csv line 3: field larger than"),
        ("a.csv", f'detected_at,note\n{TIME},"\n\n"\n{TIME},"open\n{TIME},b\n', "a.csv line 5: unexpected end of data"),
        ("a.csv", f'detected_at,note\n\n{TIME},"a"b\n', "a.csv line 3: ',' expected after '\"'"),
        ("a.ndjson", '{"time": 1}\n', "has no column detected_at"),
        ("a.parquet", "no parquet", "a.parquet: Parquet magic bytes not found"),
        ("a.txt", GOOD, "its name should end in .csv, .tsv, .ndjson, .jsonl, .parquet"),
        ("a.parquet.gz", GOOD, "its name should end in"),
    ],
)
def test_files_of_no_use(tmp_path: Path, joining: Failing, name: str, content: str, message: str) -> None:
    [said] = joining(text(tmp_path / name, content))
    assert message in said
    assert str(tmp_path / name) in said


def test_files_that_are_not_there_or_damaged_or_a_pipe(tmp_path: Path, joining: Failing) -> None:
    assert "none.csv: No such file" in joining(tmp_path / "none.csv")[0]
    (tmp_path / "folder.csv").mkdir()
    assert "Is a directory" in joining(tmp_path / "folder.csv")[0]
    whole = text(tmp_path / "a.csv.gz", GOOD * 1000).read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[:-10])
    assert "ends too early" in joining(tmp_path / "a.csv.gz")[0]
    (tmp_path / "a.csv.gz").write_bytes(GOOD.encode())
    assert "gzip" in joining(tmp_path / "a.csv.gz")[0]
    (tmp_path / "a.csv.gz").write_bytes(whole[:20] + b"\xff\xff\xff\xff" + whole[24:])
    assert "a.csv.gz" in joining(tmp_path / "a.csv.gz")[0]
    os.mkfifo(tmp_path / "a.parquet")
    both_ends = os.open(tmp_path / "a.parquet", os.O_RDWR)  # so that opening it waits for nobody
    assert "a.parquet: Parquet cannot be read from a pipe" in joining(tmp_path / "a.parquet")[0]
    os.close(both_ends)


def test_bytes_that_are_no_utf_8_matter_only_where_they_are_used(tmp_path: Path, joining: Failing) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"sensor,detected_at,note\ns,{TIME},M\xfcnchen\n".encode("latin-1"))
    join(path, *ALONE, out=tmp_path / "out.csv")
    path.write_bytes(f"sensor,detected_at\nok,{TIME}\nM\xfcnchen,{TIME}\n".encode("latin-1"))
    assert "a.csv line 3: sensor: " in joining(path)[1]


def test_parquet_counts_rows_and_needs_a_zone(tmp_path: Path, joining: Failing) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"detected_at": ["1987-02-23T07:35:35Z", None, "no"]}), path)
    said = joining(path)
    assert said[0].endswith("a.parquet row 2: detected_at: empty: RFC 3339 or epoch microseconds")
    assert said[1].endswith("a.parquet row 3: detected_at: 'no': RFC 3339 or epoch microseconds")
    assert "2 bad rows in all" in said[-1]
    pq.write_table(pa.table({"detected_at": pa.array([None], pa.timestamp("us", "UTC"))}), path)
    said = joining(path, text(tmp_path / "b.csv", GOOD))
    assert said[0].endswith("row 1: detected_at: empty: a time")
    assert "1 bad row in all" in said[-1]
    pq.write_table(pa.table([[1], [2], [3]], ["id", "detected_at", "id"]), path)
    assert "a.parquet: the schema names 'id' twice" in joining(path)[0]
    pq.write_table(pa.table({"detected_at": pa.array([0], pa.timestamp("us"))}), path)
    assert "without a time zone: --assume-utc" in joining(path)[0]
    pq.write_table(pa.table({"detected_at": [541064135e6]}), path)
    assert "row 1: detected_at: 541064135000000.0: RFC 3339" in joining(path)[0]


def test_the_first_ten_bad_lines_are_listed_in_order_and_all_are_counted(tmp_path: Path, joining: Failing) -> None:
    lines = "".join("x\n" if n % 2 else f"{TIME}\n" for n in range(701))
    said = joining(text(tmp_path / "a.csv", f"detected_at\n{lines}"))
    assert [int(line.split("line ")[1].split(":")[0]) for line in said[:-1]] == list(range(3, 23, 2))
    assert "350 bad lines in all" in said[-1]


@pytest.mark.parametrize("before", [0, 1, ROWS_A_CHUNK - 1, ROWS_A_CHUNK, ROWS_A_CHUNK + 1])
def test_a_line_without_its_time_is_bad_wherever_it_stands(tmp_path: Path, joining: Failing, before: int) -> None:
    good = f'{{"detected_at": "{TIME}"}}\n' * (before + 1)
    for line in ('{"id": "last"}', '{"detected_at_us": 541064135000000}', '{"detected_at": null}'):
        said = joining(text(tmp_path / "a.ndjson", f"{good}{line}\n"))
        assert said[0].endswith(f"line {before + 2}: detected_at: empty: RFC 3339 or epoch microseconds")
        assert "1 bad line in all" in said[-1]


def test_the_first_time_there_is_tells_the_column(tmp_path: Path, joining: Failing) -> None:
    late, early = {"detected_at": None, "detected_at_us": EPOCH_US}, {"detected_at": TIME, "detected_at_us": None}
    for form in FORMATS:
        said = joining(write(tmp_path / f"a.{form}", [late, early]))
        assert "2: detected_at_us: empty" in said[0] or "3: detected_at_us: empty" in said[0]


def test_skip_bad_leaves_them_out_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"id,detected_at\n1,{TIME}\n2,no\n3,{TIME}\n4\n")
    answer = join(a, *ALONE, "--skip-bad", out=tmp_path / "out.csv")
    assert [(row["id_a"], row["id_b"]) for row in answer] == [("1", "3")]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"coincide: {a}: 2 bad lines left out; the first:"
    assert "a.csv line 3: detected_at: 'no'" in said[1]


def test_nothing_is_written_when_the_input_is_bad(tmp_path: Path, joining: Failing, coalescing: Failing) -> None:
    a, out = text(tmp_path / "a.csv", "detected_at\nx\n"), text(tmp_path / "out.csv", "yesterday's answer")
    for failing in (joining, coalescing):
        failing(a, "--out", out)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "out.csv"]
        assert out.read_text() == "yesterday's answer"


def test_outputs_that_cannot_be(tmp_path: Path, joining: Failing, coalescing: Failing) -> None:
    a, unread = text(tmp_path / "a.csv", GOOD), tmp_path / "none.csv"
    (tmp_path / "folder.csv").mkdir()
    for failing in (joining, coalescing):
        assert "is read and cannot be written" in failing(a, "--out", a)[0]
        assert "its name should end in" in failing(a, "--out", tmp_path / "out.txt")[0]
        assert "leave out .gz" in failing(a, "--out", tmp_path / "out.csv.gz")[0]
        [said] = failing(unread, "--out", tmp_path / "nowhere" / "out.csv")  # before any file is read
        assert f"out.csv: there is no folder {tmp_path / 'nowhere'}" in said
        assert "folder.csv: is a folder" in failing(unread, "--out", tmp_path / "folder.csv")[0]


def test_files_that_do_not_fit_each_other(tmp_path: Path, joining: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"area,sensor,detected_at\nbay,s,{TIME}\n")
    b = text(tmp_path / "b.csv", f"detected_at\n{TIME}\n")
    assert "a.csv has a column area and " in joining(a, b)[0]
    assert "sensors" in joining(b, "--sensors", "same")[0]
    join(a, "--window", 1, "--threshold", 1, out=tmp_path / "out.csv")
    assert "all events are of one sensor, s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "no JSON"),
        ("[]", "an object of templates by name was expected"),
        ('{"s": {"point": true}, "s": {"uniform": [0, 1]}}', "t.json: 's' is there twice"),
        ('{"s": {"uniform": [-1]}}', "template 's': uniform is [-1]: uniform takes [earliest, latest] in seconds"),
        ('{"s": {"normal": {"sigma": 1}}}', "normal is {'sigma': 1}: normal takes {\"sigma_s\": seconds}"),
        ('{"s": {"normal": 1.5}}', "template 's': normal is 1.5: normal takes {\"sigma_s\": seconds}"),
        ('{"s": {"latency": 1}}', "template 's': latency is 1: adjacent buckets (shortest_s, longest_s, mass)"),
        ('{"s": {"point": false}}', "template 's': point is False: point takes true"),
        ('{"s": {"edges_s": 1, "mass": [1]}}', "template 's': edges_s is 1: a flat list of numbers"),
        ('{"s": {"uniform": [2, 1]}}', "template 's': edges_s is [2, 1]: in order"),
        ('{"s": {"gauss": 1}}', "one of uniform, normal, latency, point, or edges_s with mass"),
        ('{"s": 1}', "one of uniform"),
        ('{"t": {"point": true}}', "a.csv line 2: sensor: 's': no template for this event (--uncertainty"),
    ],
)
def test_templates_files(tmp_path: Path, joining: Failing, content: str, message: str) -> None:
    a = text(tmp_path / "a.csv", f"sensor,detected_at\ns,{TIME}\n")
    said = joining(a, "--templates", text(tmp_path / "t.json", content))
    assert message in said[0]


def test_templates_that_nothing_chooses(tmp_path: Path, joining: Failing) -> None:
    templates = text(tmp_path / "t.json", '{"t": {"point": true}}')
    a = text(tmp_path / "a.csv", GOOD)
    assert "give one with --uncertainty" in joining(a, "--templates", templates)[0]
    assert "none.json: No such file" in joining(a, "--templates", tmp_path / "none.json")[0]
    for uncertainty, message in (
        ("x", "uncertainty 'x': a name in the templates file"),
        ("uniform:1", "uncertainty 'uniform:1'"),
        ("normal:-1", "sigma_s"),
        ("normal:1,1.5", "buckets is 1.5: a whole"),
        ("normal:1,2,3", "uncertainty 'normal:1,2,3'"),
    ):
        assert message in joining(a, "--uncertainty", uncertainty)[0]


@pytest.mark.parametrize(
    ("name", "options", "content", "message"),
    [
        ("a.csv", READINGS, f"{HEADER}s,yesterday,20\n", "a.csv line 2: detected_at: 'yesterday': RFC 3339 or epoch"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},\n", "a.csv line 2: celsius: empty: a number or a text"),
        ("a.csv", READINGS, f"{WARM}s,{TIME},warm\n", "line 3: celsius: 'warm': a number, as the first value is"),
        ("a.csv", READINGS, f"{WARM}s,{TIME},nan\n", "line 3: celsius: 'nan': a number"),
        ("a.csv", READINGS, f"{WARM}s,{TIME},-inf\n", "line 3: celsius: -inf: a finite number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},NaN\n", "line 2: celsius: 'NaN': a number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},warm\ns,{TIME},\n", "line 3: celsius: empty: a text"),
        ("a.csv", [*READINGS, "--above", "9"], f"{HEADER}s,{TIME},warm\n", "line 2: celsius: 'warm': a number"),
        ("a.csv", [*READINGS, "--equivalence", "increasing"], f"{HEADER}s,{TIME},warm\n", "celsius: 'warm': a number"),
        ("a.csv", READINGS, f"{HEADER},{TIME},20\n", "line 2: sensor: empty: a text or a whole number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},20,x\n", "a.csv line 2: 4 cells; the header has 3"),
        (
            "a.csv",
            FACTS,
            f"from,to,celsius\n{TIME},1987-02-23T07:35:34Z,1\n",
            "line 2: to: '1987-02-23T07:35:34.000000Z': from, which is 1987-02-23T07:35:35.000000Z, or later",
        ),
        ("a.csv", FACTS, f"from,to,celsius\n,{TIME},1\n", "line 2: from: empty: RFC 3339 or epoch"),
        ("a.csv", FACTS, f"from,to,celsius\n{TIME},later,1\n", "line 2: to: 'later': RFC 3339 or epoch"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": 1.5, "celsius": 2}}\n', "sensor: 1.5: a text in"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": "s", "celsius": [1]}}\n', "celsius: [1]: a text"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": "s", "celsius": {"9" * 400}}}\n', "a number"),
        ("a.ndjson", READINGS, '{"sensor": "s", "celsius": 1, "detected_at": 1}\n{"x"\n', "line 2: no JSON"),
    ],
)
def test_bad_lines_of_coalesce(
    tmp_path: Path, coalescing: Failing, name: str, options: list[str], content: str, message: str
) -> None:
    said = coalescing(text(tmp_path / name, content), *options)
    assert any(message in line for line in said)
    assert "in all: put them right, or --skip-bad leaves them out" in said[-1]


@pytest.mark.parametrize(
    ("name", "options", "content", "message"),
    [
        (
            "a.csv",
            READINGS,
            f"Sensor,detected_at,celsius\ns,{TIME},1\n",
            "a.csv has no column sensor: there are 'Sensor', 'detected_at', 'celsius' (capitals count)",
        ),
        ("a.csv", READINGS, "sensor,celsius\n", "has no column detected_at or detected_at_us: --time names"),
        ("a.csv", [*READINGS, "--time", "at"], WARM, "has no column at: --time names"),
        ("a.csv", FACTS, f"from,celsius\n{TIME},1\n", "a.csv has no column to: there are 'from', 'celsius'"),
        ("a.ndjson", READINGS, f'{{"sensor": "s", "detected_at": "{TIME}"}}\n', "has no column celsius"),
        ("a.ndjson", ["--value", "a.b"], f'{{"detected_at": "{TIME}", "a": 1}}\n', "has no column a.b: there are 'a'"),
    ],
)
def test_files_of_no_use_to_coalesce(
    tmp_path: Path, coalescing: Failing, name: str, options: list[str], content: str, message: str
) -> None:
    [said] = coalescing(text(tmp_path / name, content), *options)
    assert message in said
    assert said.count(str(tmp_path / name)) == 1


def test_parquet_without_a_zone_or_the_field_inside(tmp_path: Path, coalescing: Failing) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"detected_at": pa.array([0], pa.timestamp("us"))}), path)
    assert "a.parquet: column detected_at has times without a time zone" in coalescing(path)[0]
    pq.write_table(pa.table({"detected_at": [TIME], "attributes": [{"humidity": 1}]}), path)
    there = "there are 'detected_at', 'attributes'"
    for name in ("attributes.celsius", "attributes.humidity.x", "other.celsius"):
        assert f"has no column {name}: {there}" in coalescing(path, "--value", name)[0]


def test_the_first_rows_decide_for_the_whole_file(tmp_path: Path, coalescing: Failing) -> None:
    whole = f'{{"sensor": "s", "celsius": 1, "detected_at": "{TIME}"}}\n'
    without = f'{{"sensor": "s", "detected_at": "{TIME}"}}\n'
    said = coalescing(text(tmp_path / "a.ndjson", whole * 5 + without), *READINGS)
    assert said[0].endswith("a.ndjson line 6: celsius: empty: a number")
    lines = f"s,{TIME},20\n" * 5  # the blank line lets them be read row by row, in two chunks
    said = coalescing(text(tmp_path / "a.csv", f"{HEADER}\n{lines}s,{TIME},warm\n"), *READINGS)
    assert "line 8: celsius: 'warm': a number, as the first value is" in said[0]
    assert said[0].endswith(" (--text takes all as texts)")


def test_coalesce_skips_bad_lines_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"{WARM}s,{TIME},warm\ns,1987-02-23T07:35:36Z,20\ns\n")
    [run] = coalesce(a, *READINGS, "--skip-bad", out=tmp_path / "out.csv")
    assert (run["sensor"], run["value"], run["duration_s"], run["count"], run["open"]) == ("s", 20, 1, 2, True)
    said = capsys.readouterr().err
    assert f"coincide: {a}: 1 bad line left out; the first:" in said
    assert "1 reading has no value that can be used: each ends the one before it; the first:" in said
