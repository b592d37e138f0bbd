"""What a user of coincide coalesce gets wrong: a sentence each, by file and line; never a traceback."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.input.ndjson_rows import ROWS
from coincide.command.main import main
from tests.coincide.command.files import Failing, failed, text

TIME = "1987-02-23T07:35:35Z"
READINGS = ["--by", "sensor", "--value", "celsius"]
FACTS = ["--value", "celsius", "--start", "from", "--end", "to"]
HEADER = "sensor,detected_at,celsius\n"
GOOD = f"{HEADER}s,{TIME},20\n"


@pytest.fixture
def failing(capsys: pytest.CaptureFixture[str]) -> Failing:
    return lambda *arguments: failed(capsys, "coalesce", *arguments)


@pytest.mark.parametrize(
    ("name", "options", "content", "message"),
    [
        ("a.csv", READINGS, f"{HEADER}s,yesterday,20\n", "a.csv line 2: detected_at: 'yesterday': RFC 3339 or epoch"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},\n", "a.csv line 2: celsius: empty: a number or a text"),
        ("a.csv", READINGS, f"{GOOD}s,{TIME},warm\n", "line 3: celsius: 'warm': a number, as the first value is"),
        ("a.csv", READINGS, f"{GOOD}s,{TIME},nan\n", "line 3: celsius: 'nan': a number"),
        ("a.csv", READINGS, f"{GOOD}s,{TIME},-inf\n", "line 3: celsius: -inf: a finite number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},NaN\n", "line 2: celsius: 'NaN': a number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},warm\ns,{TIME},\n", "line 3: celsius: empty: a text"),
        ("a.csv", [*READINGS, "--above", "9"], f"{HEADER}s,{TIME},warm\n", "line 2: celsius: 'warm': a number"),
        ("a.csv", [*READINGS, "--equivalence", "increasing"], f"{HEADER}s,{TIME},warm\n", "celsius: 'warm': a number"),
        ("a.csv", READINGS, f"{HEADER},{TIME},20\n", "line 2: sensor: empty: a text or a whole number"),
        ("a.csv", READINGS, f"{HEADER}s,{TIME},20,x\n", "a.csv line 2: 4 cells; the header has 3"),
        ("a.csv", FACTS, f"from,to,celsius\n{TIME},1987-02-23T07:35:34Z,1\n",
         "line 2: to: '1987-02-23T07:35:34.000000Z': from, which is 1987-02-23T07:35:35.000000Z, or later"),
        ("a.csv", FACTS, f"from,to,celsius\n,{TIME},1\n", "line 2: from: empty: RFC 3339 or epoch"),
        ("a.csv", FACTS, f"from,to,celsius\n{TIME},later,1\n", "line 2: to: 'later': RFC 3339 or epoch"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": 1.5, "celsius": 2}}\n', "sensor: 1.5: a text in"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": "s", "celsius": [1]}}\n', "celsius: [1]: a text"),
        ("a.ndjson", READINGS, f'{{"detected_at": "{TIME}", "sensor": "s", "celsius": {"9" * 400}}}\n', "a number"),
        ("a.ndjson", READINGS, '{"sensor": "s", "celsius": 1, "detected_at": 1}\n{"x"\n', "line 2: no JSON"),
    ],
)  # fmt: skip
def test_bad_lines(tmp_path: Path, failing: Failing, name: str, options: list[str], content: str, message: str) -> None:
    said = failing(text(tmp_path / name, content), *options)
    assert any(message in line for line in said)
    assert "in all: put them right, or --skip-bad leaves them out" in said[-1]


@pytest.mark.parametrize(
    ("name", "options", "content", "message"),
    [
        ("a.csv", READINGS, f"Sensor,detected_at,celsius\ns,{TIME},1\n",
         "a.csv has no column sensor: there are 'Sensor', 'detected_at', 'celsius' (capitals count)"),
        ("a.csv", READINGS, "sensor,celsius\n", "has no column detected_at or detected_at_us: --time names"),
        ("a.csv", [*READINGS, "--time", "at"], GOOD, "has no column at: --time names"),
        ("a.csv", FACTS, f"from,celsius\n{TIME},1\n", "a.csv has no column to: there are 'from', 'celsius'"),
        ("a.ndjson", READINGS, f'{{"sensor": "s", "detected_at": "{TIME}"}}\n', "has no column celsius"),
        ("a.ndjson", ["--value", "a.b"], f'{{"detected_at": "{TIME}", "a": 1}}\n', "has no column a.b: there are 'a'"),
    ],
)  # fmt: skip
def test_files_of_no_use(
    tmp_path: Path, failing: Failing, name: str, options: list[str], content: str, message: str
) -> None:
    [said] = failing(text(tmp_path / name, content), *options)
    assert message in said
    assert said.count(str(tmp_path / name)) == 1


def test_times_of_parquet_need_a_zone(tmp_path: Path, failing: Failing) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"detected_at": pa.array([0], pa.timestamp("us"))}), path)
    assert "a.parquet: column detected_at has times without a time zone" in failing(path)[0]


def test_parquet_without_the_field_inside(tmp_path: Path, failing: Failing) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"detected_at": [TIME], "attributes": [{"humidity": 1}]}), path)
    there = "there are 'detected_at', 'attributes'"
    for name in ("attributes.celsius", "attributes.humidity.x", "other.celsius"):
        assert f"has no column {name}: {there}" in failing(path, "--value", name)[0]


def test_a_field_that_stops_coming_is_a_bad_line_each(tmp_path: Path, failing: Failing) -> None:
    whole = f'{{"sensor": "s", "celsius": 1, "detected_at": "{TIME}"}}\n'
    without = f'{{"sensor": "s", "detected_at": "{TIME}"}}\n'
    said = failing(text(tmp_path / "a.ndjson", whole * ROWS + without), *READINGS)
    assert said[0].endswith(f"a.ndjson line {ROWS + 1}: celsius: empty: a number")


def test_the_first_value_decides_for_the_whole_file(tmp_path: Path, failing: Failing) -> None:
    lines = f"s,{TIME},20\n" * ROWS
    said = failing(text(tmp_path / "a.csv", f"{HEADER}{lines}s,{TIME},warm\n"), *READINGS)
    assert said[0].endswith(
        f"line {ROWS + 2}: celsius: 'warm': a number, as the first value is (--text takes all as texts)"
    )


def test_skip_bad_leaves_them_out_and_says_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = text(tmp_path / "a.csv", f"{GOOD}s,{TIME},warm\ns,1987-02-23T07:35:36Z,20\ns\n")
    assert main(["coalesce", str(a), *READINGS, "--skip-bad"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1:] == ["s,20,1987-02-23T07:35:35.000000Z,1987-02-23T07:35:36.000000Z,1,2,true"]
    assert f"coincide: {a}: 2 bad lines left out; the first:" in err


def test_the_answer_is_looked_at_before_any_file(tmp_path: Path, failing: Failing) -> None:
    unread = tmp_path / "none.csv"
    [said] = failing(unread, "--out", tmp_path / "nowhere" / "out.csv")
    assert f"out.csv: there is no folder {tmp_path / 'nowhere'}" in said
    assert "its name should end in" in failing(unread, "--out", tmp_path / "out.txt")[0]
    a = text(tmp_path / "a.csv", GOOD)
    assert "is read and cannot be written" in failing(a, "--out", a)[0]
    assert "none.csv: No such file" in failing(unread, "--out", tmp_path / "out.csv")[0]


def test_nothing_is_written_when_the_input_is_bad(tmp_path: Path, failing: Failing) -> None:
    out = text(tmp_path / "out.csv", "yesterday's answer")
    failing(text(tmp_path / "a.csv", "detected_at\nx\n"), "--out", out)
    assert out.read_text() == "yesterday's answer"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gap", "-1"], "--gap: '-1': seconds, from 0 to 1e+09"),
        (["--gap", "nan"], "--gap: 'nan': seconds, from 0 to 1e+09"),
        (["--hold", "0"], "--hold: '0': seconds, from 1e-6 to 1e+09"),
        (["--hold", "1e10"], "--hold: '1e10': seconds, from 1e-6"),
        (["--above", "warm"], "--above: 'warm': a finite number"),
        (["--value", "v", "--equivalence", "alike"], "--equivalence: 'alike': equal, any, bounded:E"),
        (["--value", "v", "--equivalence", "bounded"], "--equivalence: 'bounded': equal, any, bounded:E"),
        (["--value", "v", "--equivalence", "equal:1"], "--equivalence: 'equal:1': equal, any, bounded:E"),
        (["--value", "v", "--equivalence", "bounded:-1"], "--equivalence: 'bounded:-1': E at least 0"),
        (["--value", "v", "--equivalence", "quantised:0"], "--equivalence: 'quantised:0': STEP above 0"),
        (["--value", "v", "--equivalence", "quantised:x"], "--equivalence: 'x': a finite number"),
        (["--start", "a"], "--start: facts need --end as well"),
        (["--end", "a"], "--end: facts need --start as well"),
        (["--start", "a", "--end", "b", "--time", "c"], "--time: of readings; facts have --start and --end"),
        (["--start", "a", "--end", "b", "--hold", "1"], "--hold: of readings; facts bring their own end"),
        (["--above", "1"], "--above: of --value, which is not given"),
        (["--below", "1"], "--below: of --value, which is not given"),
        (["--equivalence", "any"], "--equivalence: of --value, which is not given"),
        (["--text"], "--text: of --value, which is not given"),
        (["--value", "v", "--text", "--above", "1"], "--above: of numbers, not of --text"),
        (["--value", "v", "--text", "--below", "1"], "--below: of numbers, not of --text"),
        (["--value", "v", "--text", "--equivalence", "increasing"], "--equivalence: of numbers, not of --text"),
        (["--by", "a", "--by", "a"], "--by: a column is named twice"),
        (["--by", "count"], "--by: 'count': the answer has a column of that name"),
        (["--by", ""], "--by: empty"),
    ],
)
def test_wrong_usage(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["coalesce", "a.csv", *options])
    assert ended.value.code == 2
    assert f"coincide coalesce: error: argument {message}" in capsys.readouterr().err


def test_the_help_explains_every_option_and_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["coalesce", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for word in ("--hold", "--gap", "--above", "quantised:STEP", "--skip-bad", "exit status: 0 done", "An empty end"):
        assert word in said
