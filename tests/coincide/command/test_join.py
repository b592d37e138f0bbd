"""coincide join on real files: every format, against the library and against the slow twin."""

import itertools
import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Window, match_probability, timing_join
from coincide.command.main import main
from coincide.constraints import SensorRule
from deploy.host.machine import ROOT
from tests.coincide.command.files import EPOCH_US, FORMATS, join, text, write
from tests.examples import examples
from tests.reference.timing_join import Row
from tests.reference.timing_join import timing_join as slow_timing_join

SN1987A = ROOT / "config" / "examples" / "sn1987a"
TEMPLATES = {"x": {"uniform": [-2, 1]}, "y": {"latency": [[0, 1, 0.6], [1, 4, 0.4]]}, "z": {"point": True}}
LATE = Histogram.from_latency([(0, 1, 0.6), (1, 4, 0.4)])
HISTOGRAMS = {"x": Histogram.uniform(-2, 1), "y": LATE, "z": Histogram.point()}
WINDOWS = {"2": Window(2), "0.5": Window(0.5), "-1:3": Window(lo_s=-1, hi_s=3), "1:1.5": Window(lo_s=1, hi_s=1.5)}

Event = dict[str, Any]
events = st.lists(
    st.fixed_dictionaries(
        {
            "sensor": st.sampled_from("xyz"),
            "area": st.sampled_from(["bay", "hill"]),
            "detected_at_us": st.integers(0, 16).map(lambda half: EPOCH_US + half * 500_000),
        }
    ),
    max_size=12,
).map(lambda rows: [{"id": number, **row} for number, row in enumerate(rows)])


def slow_rows(rows: list[Event], stream: str, first: int) -> list[Row]:
    return [
        Row(first + row["id"], stream, row["detected_at_us"], HISTOGRAMS[row["sensor"]], row["area"], row["sensor"], 0)
        for row in rows
    ]


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return text(tmp_path_factory.mktemp("templates") / "templates.json", json.dumps(TEMPLATES))


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    a=events.filter(bool),
    b=events.filter(bool),
    window=st.sampled_from(list(WINDOWS)),
    threshold=st.sampled_from([0.05, 0.3, 0.6, 1.0]),
    sensors=st.sampled_from(["different", "same", "any"]),
    forms=st.tuples(st.sampled_from(FORMATS), st.sampled_from(FORMATS)),
)
def test_equals_the_slow_twin(
    tmp_path: Path,
    templates: Path,
    a: list[Event],
    b: list[Event],
    window: str,
    threshold: float,
    sensors: SensorRule,
    forms: tuple[str, str],
) -> None:
    source, target = forms
    files = [write(tmp_path / f"{name}.{source}", rows) for name, rows in (("a", a), ("b", b))]
    options = [f"--window={window}", "--threshold", threshold, "--sensors", sensors]
    answer = join(*files, *options, "--templates", templates, out=tmp_path / f"out.{target}")
    both = slow_rows(a, "a", 0) + slow_rows(b, "b", 100)
    expected = slow_timing_join(both, "a", "b", WINDOWS[window], threshold, sensors)
    assert {(int(row["id_a"]), 100 + int(row["id_b"])) for row in answer} == expected
    assert len(answer) == len(expected)
    for row in answer:
        one, other = a[int(row["id_a"])], b[int(row["id_b"])]
        offset_s = (other["detected_at_us"] - one["detected_at_us"]) / 1e6
        assert row["offset_s"] == offset_s
        u, v = HISTOGRAMS[one["sensor"]], HISTOGRAMS[other["sensor"]]
        assert row["probability"] == pytest.approx(match_probability(u, v, offset_s, WINDOWS[window]), abs=6e-7)
        assert (row["area"], row["sensor_a"], row["sensor_b"]) == (one["area"], one["sensor"], other["sensor"])


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    a=events.filter(bool).flatmap(st.permutations),
    window=st.sampled_from(list(WINDOWS)),
    sensors=st.sampled_from(["different", "any"]),
)
def test_one_file_is_joined_with_itself(
    tmp_path: Path, templates: Path, a: list[Event], window: str, sensors: SensorRule
) -> None:
    # the roles of a tie go by sensor, then id, wherever its rows stand; two digits are in one order as numbers and text
    file = write(tmp_path / "a.csv", [{**row, "id": 10 + row["id"]} for row in a])
    options = [f"--window={window}", "--threshold", 0.3, "--sensors", sensors]
    answer = join(file, *options, "--templates", templates, out=tmp_path / "out.csv")
    expected = slow_timing_join(slow_rows(a, "a", 10), "a", "a", WINDOWS[window], 0.3, sensors)
    assert {(int(row["id_a"]), int(row["id_b"])) for row in answer} == expected


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("shift_s", [0.0, 1.0])
def test_the_roles_of_a_tie_do_not_depend_on_the_order_of_rows(tmp_path: Path, source: str, shift_s: float) -> None:
    # reported at one time; what they say of their own uncertainty must not decide either. As text 10 goes before 9.
    reported = {"detected_at": "2020-01-01T00:00:00Z", "latest": "2020-01-01T00:00:02Z"}
    rows = [
        {"id": number, "sensor": sensor, **reported, "earliest": f"2020-01-01T00:00:0{shift_s * at}Z"}
        for at, (sensor, number) in enumerate([("s", 10), ("s", 9), ("r", 8)])
    ]
    for order in itertools.permutations(rows):
        file = write(tmp_path / f"a.{source}", list(order))
        answer = join(file, "--window", 3, "--threshold", 0.1, "--sensors", "any", out=tmp_path / "out.csv")
        assert {(row["id_a"], row["id_b"]) for row in answer} == {("8", "10"), ("8", "9"), ("10", "9")}


def test_every_format_gives_the_same_answer(tmp_path: Path) -> None:
    rows = [
        {"id": f"e{n}", "sensor": 'a "b", c' if n % 2 else "ü\nd", "detected_at": f"1987-02-23T07:35:{n:02}.5+00:00"}
        for n in range(30)
    ]
    answers = [
        join(
            write(tmp_path / f"a.{source}", rows),
            "--window",
            3,
            "--threshold",
            0.4,
            "--uncertainty",
            "normal:1",
            out=tmp_path / f"{source}.{target}",
        )
        for source, target in itertools.product(FORMATS, FORMATS)
    ]
    assert len(answers[0]) > 30
    assert answers[0][0]["sensor_a"] in {rows[0]["sensor"], rows[1]["sensor"]}
    assert answers[0][0]["detected_at_a"] == "1987-02-23T07:35:00.500000Z"
    assert all(answer == answers[0] for answer in answers)


BY_TEMPLATES = ["--templates", SN1987A / "templates.json"]
AS_THE_HELP = ["--uncertainty-a", "uniform:-0.05,0.05", "--uncertainty-b", "uniform:-54,2"]


@pytest.mark.parametrize(
    ("a", "b", "options", "probability", "offset_s"),
    [
        ("imb", "baksan", ["--threshold", "0.3", *BY_TEMPLATES], 0.357143, 30.444),
        ("imb", "baksan", ["--threshold", "0.3", *AS_THE_HELP], 0.357143, 30.444),
        ("kamiokande-ii", "imb", ["--threshold", "0.15", *BY_TEMPLATES], 0.166667, 6.374),
    ],
)
def test_sn1987a(tmp_path: Path, a: str, b: str, options: list[Any], probability: float, offset_s: float) -> None:
    files = [SN1987A / f"{name}.ndjson" for name in (a, b)]
    first = join(*files, "--window", 10, *options, out=tmp_path / "pairs.csv")[0]
    assert (first["id_a"], first["id_b"]) == (f"{a}-1", f"{b}-1")
    assert (first["probability"], first["offset_s"]) == (probability, offset_s)


def test_without_ids_rows_are_numbered_as_in_the_file(tmp_path: Path) -> None:
    a = text(tmp_path / "a.csv", "detected_at_us\nnonsense\n541064135000000\n\n541064136000000\n")
    answer = join(a, "--window", 1, "--threshold", 1, "--skip-bad", out=tmp_path / "out.ndjson")
    assert [(row["row_a"], row["row_b"]) for row in answer] == [(2, 3)]


@pytest.mark.parametrize(
    "content",
    [
        "id,detected_at\n1,1987-02-23T07:35:35Z\n2,1987-02-23T07:35:36Z\n",
        "\ufeffid,detected_at\r\n1,1987-02-23T07:35:35Z\r\n2,1987-02-23T16:35:36+09:00\r\n",
        "id;detected_at\n1;541064135000000\n2;541064136000000",
        'note\tid\tdetected_at\n"two\nlines"\t1\t541064135000000\n\n"a ""b"""\t2\t541064136000000\n',
        "id, detected_at, other\n1, 1987-02-23T07:35:35.0000009Z, \n2, 1987-02-23T07:35:36Z, ü\n",
        "id ,detected_at\n 1 ,1987-02-23T07:35:35Z \n 2, 1987-02-23T07:35:36Z\t \n",
    ],
    ids=["plain", "bom-crlf-zones", "semicolons-numbers", "tabs-quotes-blank-line", "spaces-nanoseconds", "spaces"],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_as_people_write_it(tmp_path: Path, content: str, name: str) -> None:
    answer = join(text(tmp_path / name, content), "--window", 1, "--threshold", 1, out=tmp_path / "out.csv")
    assert [(row["id_a"], row["id_b"], row["offset_s"]) for row in answer] == [("1", "2", 1.0)]


@pytest.mark.parametrize("target", FORMATS)
def test_files_without_events_have_an_empty_answer(tmp_path: Path, target: str) -> None:
    a = text(tmp_path / "a.csv", "id,detected_at\n")
    b = text(tmp_path / "b.ndjson", "")
    assert join(a, b, "--window", 1, "--threshold", 0.5, out=tmp_path / f"out.{target}") == []
    if target == "csv":
        header = (tmp_path / "out.csv").read_text().strip()
        assert header == "id_a,detected_at_a,row_b,detected_at_b,offset_s,probability"


def test_more_blocks_than_one_give_what_the_library_gives(tmp_path: Path) -> None:
    rows = [{"detected_at_us": EPOCH_US + 1000 * n} for n in range(3000)]
    files = [write(tmp_path / f"{name}.parquet", rows) for name in "ab"]
    out, options = tmp_path / "out.parquet", ["--window", "0.05", "--threshold", "0.5", "--uncertainty", "point"]
    assert main(["join", *map(str, files), *options, "--out", str(out)]) == 0
    answer = pq.read_table(out)
    events = Detections([row["detected_at_us"] for row in rows], [Histogram.point()])
    pairs = timing_join(events, events, Window(0.05), 0.5)
    assert len(pairs) > 4 * 65_536
    assert (answer["row_a"].to_numpy() - 1).tolist() == pairs.left.tolist()
    assert (answer["row_b"].to_numpy() - 1).tolist() == pairs.right.tolist()


def test_the_file_itself_says_how_uncertain_each_event_is(tmp_path: Path, templates: Path) -> None:
    a = text(tmp_path / "a.csv", "id,detected_at_us,template,sigma_s\n1,541064135000000,,2.5\n2,541064135000000,y,\n")
    b = text(
        tmp_path / "b.ndjson",
        '{"id": 7, "detected_at": 541064136000000, "uncertainty": {"earliest": '
        '"1987-02-23T07:35:35Z", "latest": "1987-02-23T07:35:38Z"}}\n'
        '{"detected_at": 541064137000000}\n',
    )
    options = ["--window", 1, "--threshold", "1e-6", "--templates", templates, "--uncertainty-b", "x"]
    answer = join(a, b, *options, out=tmp_path / "out.ndjson")
    u = {"1": Histogram.normal(sigma_s=2.5), "2": HISTOGRAMS["y"]}
    v = {7: Histogram.uniform(-1, 2), None: HISTOGRAMS["x"]}
    expected = {(i, j): match_probability(u[i], v[j], 1.0 if j else 2.0, Window(1)) for i in u for j in v}
    got = {(row["id_a"], row["id_b"]): row["probability"] for row in answer}
    assert got == {pair: pytest.approx(p, abs=6e-7) for pair, p in expected.items() if p >= 1e-6}
    assert {row["offset_s"] for row in answer} <= {1.0, 2.0}


def test_standard_output_is_csv_and_nobody_sees_bars(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    a = write(tmp_path / "a.csv", [{"detected_at_us": EPOCH_US}, {"detected_at_us": EPOCH_US}])
    options = ["--window", "1", "--threshold", "1", "--uncertainty", "point"]
    join(a, *options, out=tmp_path / "out.csv")
    assert capfdbinary.readouterr() == (b"", b"")
    assert main(["join", str(a), *options]) == 0
    assert capfdbinary.readouterr() == ((tmp_path / "out.csv").read_bytes(), b"")


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson.gz"])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, name: str) -> None:
    rows = [{"id": each, "detected_at": "1987-02-23T07:35:35Z"} for each in ("x", "y")]
    whole = write(tmp_path / name.removesuffix(".gz"), rows).read_text()
    pipe = tmp_path / f"pipe-{name}"
    os.mkfifo(pipe)
    writer = Thread(target=text, args=(pipe, whole))
    writer.start()
    [pair] = join(pipe, "--window", "1", "--threshold", "1", out=tmp_path / "out.csv")
    writer.join()
    assert (pair["id_a"], pair["id_b"]) == ("x", "y")


def test_numbers_count_what_time_unit_says(tmp_path: Path) -> None:
    seconds = text(tmp_path / "a.csv", f"detected_at,earliest,latest\n{EPOCH_US / 1e6},541064134,541064136.5\n")
    exact = write(tmp_path / "b.csv", [{"detected_at": EPOCH_US // 1_000_000 + 1}])
    options = ("--window", "2", "--threshold", "0.5", "--time-unit", "s")
    [pair] = join(seconds, exact, *options, out=tmp_path / "pairs.ndjson")
    assert (pair["detected_at_a"], pair["offset_s"]) == ("1987-02-23T07:35:35.000000Z", 1.0)
    assert main(["join", str(seconds), str(exact), "--window", "2", "--threshold", "0.5"]) == 1  # it is said which unit
