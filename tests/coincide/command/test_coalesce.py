"""coincide coalesce on real files: every format, every kind of value."""

import datetime
import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coincide.command.arguments.coalesce_arguments import CoalesceRequest
from coincide.command.coalesce import run_coalesce
from coincide.command.main import main, request_of
from tests.coincide.command.files import EPOCH_US, FORMATS, coalesce, read, text, write

TIME = "1987-02-23T07:35:{:02}Z"


def test_every_format_gives_the_same_answer(tmp_path: Path) -> None:
    rows = [
        {"a, b": 'x "y"' if n % 3 else "ü\nz", "detected_at": TIME.format(n), "degrees": [20.5, 21, 21, 20.5][n % 4]}
        for n in range(40)
    ]
    answers = [
        coalesce(
            write(tmp_path / f"a.{source}", rows),
            "--by",
            "a, b",
            "--value",
            "degrees",
            out=tmp_path / f"{source}.{target}",
        )
        for source, target in itertools.product(FORMATS, FORMATS)
    ]
    assert len(answers[0]) > 20
    assert answers[0][0]["a, b"] == 'x "y"'
    assert all(answer == answers[0] for answer in answers)


def test_an_answer_can_be_coalesced_again(tmp_path: Path) -> None:
    # the salaries of docs/explanation/coalescing.md; all their runs meet, and the last one is open
    of_100, of_120 = "100,946684800000000,1072915200000000", "120,1072915200000000,1199145600000000"
    staff = text(tmp_path / "staff.csv", f"salary,from,to\n{of_100}\n{of_120}\n120,1199145600000000,\n")
    out = tmp_path / "out.csv"
    assert len(coalesce(staff, "--value", "salary", "--start", "from", "--end", "to", out=out)) == 2
    again = coalesce(out, "--start", "start", "--end", "end", out=tmp_path / "all.ndjson")
    assert [(row["start"][:4], row["end"], row["open"]) for row in again] == [("2000", None, True)]


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (["open", "open", "shut", "7", "7"], [], [("open", 2), ("shut", 1), ("7", 2)]),
        (["7", "7.0", "7.00"], [], [(7, 3)]),
        (["07", "7", "7.0"], ["--text"], [("07", 1), ("7", 1), ("7.0", 1)]),
        ([2**53, 2**53 + 1], [], [(2**53, 1), (2**53 + 1, 1)]),
    ],
    ids=["texts", "texts-of-numbers", "numbers-as-texts", "not-rounded"],
)
def test_values(tmp_path: Path, source: str, values: list[Any], options: list[str], expected: list[Any]) -> None:
    rows = [{"detected_at": TIME.format(at), "v": value} for at, value in enumerate(values)]
    runs = coalesce(write(tmp_path / f"a.{source}", rows), "--value", "v", *options, out=tmp_path / "out.ndjson")
    assert [(row["value"], row["count"]) for row in runs] == expected


@pytest.mark.parametrize("source", ["ndjson", "parquet"])
def test_truth_values_are_texts(tmp_path: Path, source: str) -> None:
    rows = [{"detected_at": TIME.format(at), "wet": wet} for at, wet in enumerate([True, True, False])]
    runs = coalesce(write(tmp_path / f"a.{source}", rows), "--value", "wet", out=tmp_path / "out.csv")
    assert [(row["value"], row["count"]) for row in runs] == [("true", 2), ("false", 1)]


def test_parquet_columns_of_any_kind(tmp_path: Path) -> None:
    table = pa.table(
        {
            "sensor": pa.array(["s", "s", "s"]).dictionary_encode(),
            "detected_at": pa.array([EPOCH_US, EPOCH_US + 1, EPOCH_US + 2], pa.timestamp("us", "UTC")),
            "celsius": pa.array([20, 20, 21], pa.uint8()),
        }
    )
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
    shown = [(row["attributes.site.name"], row["x.y"], row["value"], row["count"]) for row in runs]
    assert shown == [("bay", 1, 81, 2), ("bay", 1, 79, 1)]


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
    without_ids = write(tmp_path / "b.csv", [{**row, "id": ""} for row in rows])
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
        assert read(parts) == whole
        assert len(whole) == 50


HOT: dict[str, Any] = {
    "coalesce": {
        "from": "temperature",
        "by": ["sensor", "attributes.room"],
        "value": "attributes.celsius",
        "where": {"at_least": 30},
        "hold_s": 10,
        "window": {"time_s": 3600, "slide_s": 600},
    },
    "lasting_s": 8,
}


def readings(*, has_areas: bool) -> list[dict[str, Any]]:
    rng = random.Random(8)
    rows = [
        {
            "detected_at": TIME.format(second),
            "sensor": rng.choice("st"),
            "attributes.room": rng.choice(["attic", "cellar"]),
            "attributes.celsius": rng.choice([29.5, 30, 35]),
            "stream": rng.choice(["temperature", "smoke"]),
            "area": rng.choice(["mill", "tower"]),
        }
        for second in range(60)
        for _ in range(8)
    ]
    return rows if has_areas else [{name: row[name] for name in row if name != "area"} for row in rows]


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("has_areas", [False, True])
def test_a_query_over_readings_asks_what_its_options_would(tmp_path: Path, source: str, has_areas: bool) -> None:
    rows = readings(has_areas=has_areas)
    query = text(tmp_path / "hot.json", json.dumps(HOT))
    asked = coalesce("--query", query, write(tmp_path / f"rows.{source}", rows), out=tmp_path / "asked.ndjson")
    of_stream = write(tmp_path / "stream.csv", [row for row in rows if row["stream"] == "temperature"])
    by = [*(["--by", "area"] if has_areas else []), "--by", "sensor", "--by", "attributes.room"]
    options = [*by, "--value", "attributes.celsius", "--above", 29.9, "--equivalence", "any", "--hold", 10]
    every = coalesce(of_stream, *options, out=tmp_path / "every.ndjson")
    assert 0 < len(asked) < len(every)
    assert asked == [run for run in every if run["duration_s"] >= 8]


SPELL = {"coalesce": {"from": "t", "value": "attributes.celsius", "where": {"above": 40}}, "lasting_s": 60}
PAST = "python -m spark_jobs.history run --query answers it over the past"


def test_a_query_that_files_cannot_be_asked_says_which_command_or_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, similar = write(tmp_path / "rows.csv", readings(has_areas=False)), {"within": 0, "lasting_s": 5}
    pair = {"from": {"a": "p", "b": "s"}, "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}]}
    window = HOT["coalesce"] | {"equivalence": "equal"}
    for document, said in (
        (pair, "coincide join --query answers it"),
        (
            {"coalesce": {name: window[name] for name in window if name != "where"}, "join": similar},
            f"q.json: query q joins runs of two groups: {PAST}",
        ),
        (SPELL, f"q.json: query q tells spells: {PAST}"),
    ):
        query = text(tmp_path / "q.json", json.dumps(document))
        assert main(["coalesce", "--query", str(query), str(rows)]) == 1
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["coalesce", "--query", "q.json", str(rows), "--by", "sensor"])
    assert "argument --by: --query says it" in capsys.readouterr().err


def valve(form: str, values: Sequence[Any], path: Path) -> Path:
    rows = [{"valve": "v1", "detected_at_us": EPOCH_US + n * 60 * 10**6, "bar": bar} for n, bar in enumerate(values)]
    if form == "parquet":
        rows = [{**row, "bar": None if row["bar"] is None else str(row["bar"])} for row in rows]
    return write(path / f"valve.{form}", rows)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("values", "options", "lasted_s"),
    [
        ([9, 1, "unknown", 9, 9, 1], ["--above", "5"], [60, 120]),
        ([9, "unknown", 9, "offline", "offline", 9], ["--above", "5"], [60, 60, 0]),
        ([9, None, 9, 1], ["--above", "5"], [60, 60]),
        ([9, "unknown", 9, 9], [], [60, 60]),
        ([3, "nan", 3, 3], ["--equivalence", "bounded:1"], [60, 60]),
        (["open", None, "open", "open"], ["--text"], [60, 60]),
    ],
)
def test_an_unknown_reading_ends_the_one_before_it(
    tmp_path: Path, form: str, values: list[Any], options: list[str], lasted_s: list[int], capsys: Any
) -> None:
    file, how = valve(form, values, tmp_path), ["--equivalence", "any"] if "--above" in options else []
    words = ["--by", "valve", "--value", "bar", *how, *options]
    answer = coalesce(file, *words, "--skip-bad", out=tmp_path / "out.ndjson")
    assert [row["duration_s"] for row in answer] == lasted_s
    assert "no value that can be used: each ends the one before it; the first:" in capsys.readouterr().err
    assert main(["coalesce", str(file), *words]) == 1  # without the user's word nothing is made of it


def test_a_fact_of_an_unknown_value_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = [f"2000-01-01T00:0{minute}:00Z" for minute in range(4)]
    rows = [f"{at[0]},{at[2]},9", f"{at[1]},{at[2]},unknown", f"{at[2]},{at[3]},9"]
    file = text(tmp_path / "a.csv", "from,to,bar\n" + "\n".join(rows))
    words = ["--value", "bar", "--start", "from", "--end", "to", "--skip-bad"]
    [answer] = coalesce(file, *words, out=tmp_path / "out.ndjson")
    assert (answer["duration_s"], answer["count"]) == (180, 2)
    assert "1 bad line left out" in capsys.readouterr().err


def posts(form: str, ends: Sequence[Any], path: Path) -> Path:
    begin = datetime.date(2001, 2, 3)
    rows = [{"post": "gate", "since": begin + datetime.timedelta(n), "until": end} for n, end in enumerate(ends)]
    if form != "parquet":
        rows = [{name: each if each is None else str(each) for name, each in row.items()} for row in rows]
    return write(path / f"posts.{form}", rows)


WATCHES = ["--by", "post", "--start", "since", "--end", "until"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("last", [datetime.date(9999, 1, 1), datetime.date(9999, 12, 31), None])
def test_dates_are_midnights_and_the_last_year_means_that_it_still_holds(tmp_path: Path, form: str, last: Any) -> None:
    file = posts(form, [datetime.date(2001, 2, 4), last], tmp_path)
    [answer] = coalesce(file, *WATCHES, "--assume-utc", out=tmp_path / "out.ndjson")
    assert (answer["start"], answer["end"]) == ("2001-02-03T00:00:00.000000Z", None)
    assert (answer["count"], answer["open"]) == (2, True)


@pytest.mark.parametrize("end", ["9999-12-31T23:59:59.999999Z", "infinity", "+Infinity"])
@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_databases_write_it_in_several_ways(tmp_path: Path, form: str, end: str) -> None:
    rows = [
        {"since": "2001-02-03T00:00:00Z", "until": each} for each in (end, "2001-02-05T00:00:00Z", 981_331_200_000_000)
    ]
    file = write(tmp_path / f"a.{form}", rows)
    [answer] = coalesce(file, "--start", "since", "--end", "until", out=tmp_path / "out.ndjson")
    assert (answer["end"], answer["count"]) == (None, 3)


def test_parquet_has_such_timestamps_as_well(tmp_path: Path) -> None:
    begin, never = (
        datetime.datetime(2001, 2, 3, tzinfo=datetime.UTC),
        datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
    )
    file = write(tmp_path / "a.parquet", [{"since": begin, "until": never}])
    [answer] = coalesce(file, "--start", "since", "--end", "until", out=tmp_path / "out.ndjson")
    assert answer["end"] is None


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_refused_says_what_to_do(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coalesce", str(posts(form, [datetime.date(2001, 2, 4)], tmp_path)), *WATCHES]) == 1
    assert "--assume-utc takes" in capsys.readouterr().err
    file = posts(form, [datetime.date(2500, 1, 1)], tmp_path)
    assert main(["coalesce", str(file), *WATCHES, "--assume-utc"]) == 1
    assert "before the year 2112; leave it empty if it still holds" in capsys.readouterr().err


def test_one_reading_between_two_limits_makes_no_second_run(tmp_path: Path) -> None:
    rows = [
        {"detected_at": TIME.format(at), "celsius": celsius}
        for at, celsius in ((0, 79), (10, 81), (20, 79.5), (30, 81), (40, 75), (50, 74.9), (55, 79.5))
    ]
    asked = "--value", "celsius", "--equivalence", "any", "--above", 80
    file = write(tmp_path / "rows.csv", rows)
    split = coalesce(file, *asked, out=tmp_path / "split.ndjson")
    assert [(run["duration_s"], run["count"]) for run in split] == [(10, 1), (10, 1)]
    [whole] = coalesce(file, *asked, "--until-below", 75, out=tmp_path / "whole.ndjson")
    assert (whole["value"], whole["duration_s"], whole["count"]) == (81, 40, 4)


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (["--above", "80", "--until-below", "81"], "argument --until-below: 81.0: at most 80.0, which --above says"),
        (["--below", "80", "--until-above", "79"], "argument --until-above: 79.0: at least 80.0, which --below says"),
        (["--above", "80", "--until-above", "90"], "argument --until-above: of --below, which is not given"),
        (["--below", "80", "--until-below", "70"], "argument --until-below: of --above, which is not given"),
        (["--above", "8", "--until-below", "7", "--start", "a", "--end", "b"], "--until-below: of readings; no fact"),
        (["--query", "q.json", "--until-below", "7"], "argument --until-below: --query says it"),
    ],
)
def test_an_end_that_makes_no_sense_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], refusal: str
) -> None:
    value = [] if "--query" in options else ["--value", "celsius"]
    with pytest.raises(SystemExit):
        main(["coalesce", str(write(tmp_path / "rows.csv", [{"celsius": 1}])), *value, *options])
    assert refusal in capsys.readouterr().err
