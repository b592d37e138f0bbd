"""What a user gets wrong: a sentence each, by file and line; never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.input.ndjson_rows import ROWS
from coincide.command.main import main
from tests.coincide.command.files import Failing, failed, read, text, write

TIME = "1987-02-23T07:35:35Z"
GOOD = f"id,detected_at\n1,{TIME}\n"


@pytest.fixture
def failing(capsys: pytest.CaptureFixture[str]) -> Failing:
    return lambda *arguments: failed(capsys, "join", *arguments, "--window", 1, "--threshold", 0.5)


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
        ("a.ndjson", f'{{"detected_at": {2**70}}}\n', f"line 1: detected_at: {2**70}: before the year 2112"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "id": [1]}}\n', "line 1: id: [1]: a text in UTF-8 or a whole number"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "id": "\\ud800"}}\n', "line 1: id: '\\ud800': a text in UTF-8"),
        ("a.ndjson", '{"sigma_s": 1, "uncertainty": {"sigma_s": 2}}\n', "uncertainty: {'sigma_s': 2}: no other sigma_"),
        ("a.ndjson", f'{{"detected_at": "{TIME}", "uncertainty": {{"mass": [1]}}}}\n', "for a histogram name"),
    ],
)  # fmt: skip
def test_bad_lines(tmp_path: Path, failing: Failing, name: str, content: str, message: str) -> None:
    said = failing(text(tmp_path / name, content))
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
def test_files_of_no_use(tmp_path: Path, failing: Failing, name: str, content: str, message: str) -> None:
    [said] = failing(text(tmp_path / name, content))
    assert message in said
    assert str(tmp_path / name) in said


def test_files_that_are_not_there_or_damaged(tmp_path: Path, failing: Failing) -> None:
    assert "none.csv: No such file" in failing(tmp_path / "none.csv")[0]
    (tmp_path / "folder.csv").mkdir()
    assert "Is a directory" in failing(tmp_path / "folder.csv")[0]
    whole = text(tmp_path / "a.csv.gz", GOOD * 1000).read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[:-10])
    assert "ends too early" in failing(tmp_path / "a.csv.gz")[0]
    (tmp_path / "a.csv.gz").write_bytes(GOOD.encode())
    assert "gzip" in failing(tmp_path / "a.csv.gz")[0]
    (tmp_path / "a.csv.gz").write_bytes(whole[:20] + b"\xff\xff\xff\xff" + whole[24:])
    assert "a.csv.gz" in failing(tmp_path / "a.csv.gz")[0]


def test_bytes_that_are_no_utf_8_matter_only_where_they_are_used(
    tmp_path: Path, failing: Failing, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"sensor,detected_at,note\ns,{TIME},M\xfcnchen\n".encode("latin-1"))
    assert main(["join", str(path), "--window", "1", "--threshold", "1", "--uncertainty", "point"]) == 0
    capsys.readouterr()
    path.write_bytes(f"sensor,detected_at\nok,{TIME}\nM\xfcnchen,{TIME}\n".encode("latin-1"))
    assert "a.csv line 3: sensor: " in failing(path)[0]


def test_parquet_counts_rows_and_needs_a_zone(tmp_path: Path, failing: Failing) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"detected_at": ["1987-02-23T07:35:35Z", None, "no"]}), path)
    said = failing(path)
    assert [line.partition(".parquet ")[2] for line in said[:2]] == [
        "row 2: detected_at: empty: RFC 3339 or epoch microseconds",
        "row 3: detected_at: 'no': RFC 3339 or epoch microseconds",
    ]
    assert "2 bad rows in all" in said[-1]
    pq.write_table(pa.table({"detected_at": pa.array([None], pa.timestamp("us", "UTC"))}), path)
    said = failing(path, text(tmp_path / "b.csv", GOOD))
    assert said[0].endswith("row 1: detected_at: empty: a time")
    assert "1 bad row in all" in said[-1]
    pq.write_table(pa.table([[1], [2], [3]], ["id", "detected_at", "id"]), path)
    assert "a.parquet: the schema names 'id' twice" in failing(path)[0]
    pq.write_table(pa.table({"detected_at": pa.array([0], pa.timestamp("us"))}), path)
    assert "without a time zone: --assume-utc" in failing(path)[0]
    pq.write_table(pa.table({"detected_at": [541064135e6]}), path)
    assert "row 1: detected_at: 541064135000000.0: RFC 3339" in failing(path)[0]


def test_the_first_ten_bad_lines_are_listed_in_order_and_all_are_counted(tmp_path: Path, failing: Failing) -> None:
    lines = "".join("x\n" if n % 2 else f"{TIME}\n" for n in range(70_001))
    said = failing(text(tmp_path / "a.csv", f"detected_at\n{lines}"))
    assert [int(line.split("line ")[1].split(":")[0]) for line in said[:-1]] == list(range(3, 23, 2))
    assert "35000 bad lines in all" in said[-1]


@pytest.mark.parametrize("before", [0, 1, ROWS - 1, ROWS, ROWS + 1])
def test_one_line_without_its_time_is_a_bad_line_wherever_it_stands(
    tmp_path: Path, failing: Failing, before: int
) -> None:
    a = tmp_path / "a.ndjson"
    first, good = '{"detected_at": "1987-02-23T07:35:35Z"}', '{"detected_at": "1999-02-23T07:35:35Z"}'
    for line in ('{"id": "last"}', '{"detected_at_us": 541064135000000}', '{"detected_at": null}'):
        text(a, f"{first}\n" + f"{good}\n" * before + f"{line}\n")
        said = failing(a)
        assert said[0].endswith(f"line {before + 2}: detected_at: empty: RFC 3339 or epoch microseconds")
        assert "1 bad line in all" in said[-1]


def test_the_first_time_there_is_tells_the_column(tmp_path: Path, failing: Failing) -> None:
    given: list[dict[str, object]] = [
        {"detected_at": None, "detected_at_us": 541064135000000},
        {"detected_at": TIME, "detected_at_us": None},
    ]
    for name in ("a.ndjson", "a.csv", "a.parquet"):
        said = failing(write(tmp_path / name, given))
        assert "2: detected_at_us: empty" in said[0] or "3: detected_at_us: empty" in said[0]


def test_skip_bad_leaves_them_out_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"id,detected_at\n1,{TIME}\n2,no\n3,{TIME}\n4\n")
    out = tmp_path / "out.csv"
    options = ["--window", "1", "--threshold", "1", "--uncertainty", "point"]
    assert main(["join", str(a), *options, "--skip-bad", "--out", str(out)]) == 0
    assert [(row["id_a"], row["id_b"]) for row in read(out)] == [("1", "3")]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"coincide: {a}: 2 bad lines left out; the first:"
    assert "a.csv line 3: detected_at: 'no'" in said[1]


def test_nothing_is_written_when_the_input_is_bad(tmp_path: Path, failing: Failing) -> None:
    out = text(tmp_path / "out.csv", "yesterday's answer")
    failing(text(tmp_path / "a.csv", "detected_at\nx\n"), "--out", out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "out.csv"]
    assert out.read_text() == "yesterday's answer"


def test_outputs_that_cannot_be(tmp_path: Path, failing: Failing) -> None:
    a = text(tmp_path / "a.csv", GOOD)
    assert "is read and cannot be written" in failing(a, "--out", a)[0]
    assert "its name should end in" in failing(a, "--out", tmp_path / "out.txt")[0]
    assert "leave out .gz" in failing(a, "--out", tmp_path / "out.csv.gz")[0]
    unread = tmp_path / "none.csv"  # before any file is read
    [said] = failing(unread, "--out", tmp_path / "nowhere" / "out.csv")
    assert f"out.csv: there is no folder {tmp_path / 'nowhere'}" in said
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv: is a folder" in failing(unread, "--out", tmp_path / "folder.csv")[0]


def test_files_that_do_not_fit_each_other(tmp_path: Path, failing: Failing, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"area,sensor,detected_at\nbay,s,{TIME}\n")
    b = text(tmp_path / "b.csv", f"detected_at\n{TIME}\n")
    assert "a.csv has a column area and " in failing(a, b)[0]
    assert "sensors" in failing(b, "--sensors", "same")[0]
    assert "all events are of one sensor, s" in _note(a, capsys)


def _note(a: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["join", str(a), "--window", "1", "--threshold", "1"]) == 0
    return capsys.readouterr().err


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
def test_templates_files(tmp_path: Path, failing: Failing, content: str, message: str) -> None:
    a = text(tmp_path / "a.csv", f"sensor,detected_at\ns,{TIME}\n")
    said = failing(a, "--templates", text(tmp_path / "t.json", content))
    assert message in said[0]


def test_templates_that_nothing_chooses(tmp_path: Path, failing: Failing) -> None:
    templates = text(tmp_path / "t.json", '{"t": {"point": true}}')
    a = text(tmp_path / "a.csv", GOOD)
    assert "give one with --uncertainty" in failing(a, "--templates", templates)[0]
    assert "uncertainty 'x': a name in the templates file" in failing(a, "--uncertainty", "x")[0]
    assert "uncertainty 'uniform:1'" in failing(a, "--uncertainty", "uniform:1")[0]
    assert "sigma_s" in failing(a, "--uncertainty", "normal:-1")[0]
    assert "buckets is 1.5: a whole" in failing(a, "--uncertainty", "normal:1,1.5")[0]
    assert "uncertainty 'normal:1,2,3'" in failing(a, "--uncertainty", "normal:1,2,3")[0]
    assert "none.json: No such file" in failing(a, "--templates", tmp_path / "none.json")[0]


def test_parquet_from_a_pipe(tmp_path: Path, failing: Failing) -> None:
    os.mkfifo(tmp_path / "a.parquet")
    both_ends = os.open(tmp_path / "a.parquet", os.O_RDWR)  # so that opening it waits for nobody
    assert "a.parquet: Parquet cannot be read from a pipe" in failing(tmp_path / "a.parquet")[0]
    os.close(both_ends)
