"""coincide coalesce on real files: every format, against the slow twin."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide.coalescing import Bounded, Decreasing, Equal, Equivalence, Increasing, Predicate, Quantised
from coincide.command import coalesce as command
from coincide.command.main import main
from tests.coincide.command.files import FORMATS, read_values, text, write
from tests.reference import central_italy
from tests.reference.coalescing import Fact, Reading, coalesced_facts, coalesced_readings, coalesced_trends

EPOCH_US = 541_064_135_000_000
TIME = "1987-02-23T07:35:{:02}Z"
EQUIVALENCES: dict[str, Equivalence] = {
    "equal": Equal(),
    "any": Predicate(lambda _previous, _following: True),
    "bounded:1": Bounded(1),
    "increasing": Increasing(),
    "decreasing": Decreasing(),
    "quantised:2": Quantised(2),
}
GROUPS = [("bay", 9), ("bay", 10), ("hill", 9)]  # 10 goes before 9: groups come in the order of their text
IN_ORDER = [("bay", 10), ("bay", 9), ("hill", 9)]

STATIONS = ["IV.CAMP", "YR.ED14"]
Row = dict[str, Any]
readings = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(GROUPS), st.integers(-3, 6)), min_size=1, max_size=14
).flatmap(st.permutations)
facts = st.lists(
    st.tuples(st.integers(0, 20), st.none() | st.integers(0, 5), st.sampled_from(GROUPS), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


def coalesce(*arguments: object, out: Path) -> list[Row]:
    """Run ``coincide coalesce ... --out``; it has to end well. Return the answer."""
    assert main(["coalesce", *map(str, arguments), "--out", str(out)]) == 0
    return read_values(out)


@dataclass(frozen=True)
class Question:
    """What is asked, in half seconds."""

    equivalence: str
    gap: int
    hold: int | None
    above: int | None
    below: int | None

    @property
    def options(self) -> list[str]:
        given = {"gap": self.gap / 2, "hold": self.hold and self.hold / 2, "above": self.above, "below": self.below}
        return [f"--{name}={value}" for name, value in given.items() if value is not None] + [
            f"--equivalence={self.equivalence}"
        ]

    def keeps(self, value: Any) -> bool:
        return (self.above is None or value > self.above) and (self.below is None or value < self.below)


questions = st.builds(
    Question,
    st.sampled_from(list(EQUIVALENCES)),
    st.integers(0, 5),
    st.none() | st.integers(1, 6),
    st.none() | st.integers(-3, 2),
    st.none() | st.integers(1, 6),
)


def united(pieces: list[Fact], question: Question) -> list[tuple[int, int, int, Any, int]]:
    """Facts to (group, start, end, value of the first, count), by the definition."""
    if question.equivalence == "equal":
        return coalesced_facts(pieces, question.gap)
    return coalesced_trends(pieces, EQUIVALENCES[question.equivalence], question.gap)


def expected_of_readings(rows: list[Reading], question: Question) -> list[tuple[Any, ...]]:
    """First each reading gets its interval, then some are left out, then neighbours and what the gap spans unite."""
    alone = coalesced_readings(rows, Predicate(lambda _previous, _following: False), question.hold)
    pieces = [Fact(run.start_us, run.end_us, int(run.group), run.value) for run in alone if question.keeps(run.value)]
    newest = {run.group: run.value for run in alone if run.is_open and question.keeps(run.value)}
    found: list[tuple[Any, ...]] = []
    runs = united(pieces, question)
    for run in runs:
        group, start, end, value, count = run
        rivals = [each for each in runs if each[0] == group and (question.equivalence != "equal" or each[3] == value)]
        has_newest = group in newest and (question.equivalence != "equal" or newest[group] == value)
        found.append((group, value, start, end, count, has_newest and run == max(rivals, key=lambda each: each[1:3])))
    return found


def shown(answer: list[Row]) -> list[tuple[Any, ...]]:
    """Rows of an answer as the slow twin has them, in half seconds."""
    found = []
    for row in answer:
        group, start = IN_ORDER.index((row["site"], int(row["mast"]))), half_seconds(row["start"])
        end = None if row["end"] is None else half_seconds(row["end"])
        assert row["duration_s"] == (None if end is None else (end - start) / 2)
        found.append((group, float(row["value"]), start, end, row["count"], row["open"]))
    return found


def half_seconds(at: str) -> int:
    return round((float(at[17:-1]) + 60 * int(at[14:16]) - 2135) * 2)


def test_half_seconds() -> None:
    assert half_seconds("1987-02-23T07:35:37.500000Z") == 5


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(readings, questions, st.sampled_from(FORMATS), st.sampled_from(FORMATS))
def test_readings_as_the_slow_twin_has_them(
    tmp_path: Path,
    rows: list[tuple[int, tuple[str, int], int]],
    question: Question,
    source: str,
    target: str,
) -> None:
    ids = range(10, 10 + len(rows))  # two digits: in one order as numbers and as text
    written = [
        {"site": site, "mast": mast, "id": id_, "detected_at_us": EPOCH_US + at * 500_000, "celsius": value}
        for id_, (at, (site, mast), value) in zip(ids, rows, strict=True)
    ]
    written = [written[n] for n in sorted(range(len(rows)), key=lambda n: (n * 7) % 5)]  # ids are not in order
    file = write(tmp_path / f"a.{source}", written)
    columns = ["--by", "site", "--by", "mast", "--value", "celsius"]
    answer = coalesce(file, *columns, *question.options, out=tmp_path / f"out.{target}")
    slow = [Reading(at, IN_ORDER.index(group), id_, value) for id_, (at, group, value) in zip(ids, rows, strict=True)]
    found = shown(answer)
    assert Counter(found) == Counter(expected_of_readings(slow, question))
    assert [(run[0], run[2]) for run in found] == sorted((run[0], run[2]) for run in found)
    if (question.gap, question.above, question.below) == (0, None, None):
        plain = coalesced_readings(slow, EQUIVALENCES[question.equivalence], question.hold)
        assert found == [(run.group, run.value, run.start_us, run.end_us, run.count, run.is_open) for run in plain]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts, st.integers(0, 4), st.sampled_from(["equal", "any", "increasing"]), st.sampled_from(FORMATS))
def test_facts_as_the_slow_twin_has_them(
    tmp_path: Path,
    rows: list[tuple[int, int | None, tuple[str, int], int]],
    gap: int,
    equivalence: str,
    source: str,
) -> None:
    def at(half: int | None) -> str | None:
        return None if half is None else f"1987-02-23T07:35:{35 + half / 2:09.6f}Z"

    written = [
        {"site": site, "mast": mast, "from": at(start), "to": None if lasting is None else at(start + lasting),
         "celsius": value}
        for start, lasting, (site, mast), value in rows
    ]  # fmt: skip
    file = write(tmp_path / f"a.{source}", written)
    columns = ["--by", "site", "--by", "mast", "--value", "celsius", "--start", "from", "--end", "to"]
    question = Question(equivalence, gap, None, None, None)
    answer = coalesce(file, *columns, *question.options, out=tmp_path / f"out.{source}")
    never = 1000
    pieces = [
        Fact(start, never if lasting is None else start + lasting, IN_ORDER.index(group), value)
        for start, lasting, group, value in rows
    ]
    expected = [
        (group, value, start, None if end == never else end, count, end == never)
        for group, start, end, value, count in united(pieces, question)
    ]
    assert Counter(shown(answer)) == Counter(expected)
    assert [row["duration_s"] is None for row in answer] == [row["open"] for row in answer]


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


def test_more_blocks_than_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"detected_at_us": EPOCH_US + n, "n": n} for n in range(50)]
    file = write(tmp_path / "a.parquet", rows)
    for target in FORMATS:
        monkeypatch.setattr(command, "BLOCK", 1000)
        whole = coalesce(file, "--value", "n", out=tmp_path / f"whole.{target}")
        monkeypatch.setattr(command, "BLOCK", 7)
        assert coalesce(file, "--value", "n", out=tmp_path / f"parts.{target}") == whole
        assert len(whole) == 50


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_a_real_hour_as_the_slow_twin_has_it(tmp_path: Path) -> None:
    """When was each station busy: picks of either phase at most 20 s apart."""
    picks = central_italy.picks()
    file = write(tmp_path / "picks.csv", [
        {"station": pick.station, "phase": pick.phase, "detected_at_us": pick.detected_at_us} for pick in picks
    ])  # fmt: skip
    answer = coalesce(file, "--by", "station", "--hold", 20, out=tmp_path / "busy.parquet")
    times = {station: {pick.detected_at_us for pick in picks if pick.station == station} for station in STATIONS}
    assert sum(row["count"] for row in answer) == len({(pick.station, pick.detected_at_us) for pick in picks})
    for station, each in times.items():
        slow = coalesced_readings([Reading(at, 0, 0) for at in each], EQUIVALENCES["any"], 20_000_000)
        assert len(slow) > 5
        busy = [row for row in answer if row["station"] == station]
        assert [(row["duration_s"], row["count"], row["open"]) for row in busy] == [
            ((run.end_us - run.start_us) / 1e6, run.count, run.is_open) for run in slow
        ]


def test_bars_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    coalesce(write(tmp_path / "a.csv", [{"detected_at": TIME.format(1)}]), out=tmp_path / "out.csv")
    said = capsys.readouterr().err
    assert "reading a.csv" in said
    assert "coalescing" in said
    assert "100%" in said
