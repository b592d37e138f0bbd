"""coincide explain: figures by hand and by `chance_rate`; and what coincide join says before an empty answer."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Window, chance_rate
from coincide.command.main import main
from coincide.queries.language import grammar
from coincide.thresholds import SensorRate
from tests.coincide.command.files import EPOCH_US, join, read, text, write
from tests.coincide.command.playback.test_replay import SN1987A, saved
from tests.reference import central_italy

PAIR = {"from": {"a": "imb", "b": "baksan"}, "within": [{"between": ["a", "b"], "window_s": 10, "threshold": 0.4}]}
NAMED = ["--templates", SN1987A / "templates.json"]


def said(*words: object, out: Path | None = None) -> Any:
    assert main(["explain", *map(str, words), *(["--out", str(out)] if out else [])]) == 0
    return json.loads(out.read_text()) if out else None


def test_templates_alone_say_what_can_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [query] = saved(tmp_path, {"id": "q", **PAIR})
    said(query, *NAMED)
    answer = capsys.readouterr().out
    assert "a and b are to happen within 10 s of each other: the probability is 0.357 at most (imb" in answer
    assert "So the query can find nothing: a threshold is out of reach." in answer
    figures = said(query, *NAMED, out=tmp_path / "out.json")
    assert figures["edges"][0]["greatest"] == pytest.approx(20 / 56)
    assert (figures["is_reachable"], figures["chance"]) == (False, None)
    assert figures["sentences"] == answer.splitlines()


def test_a_query_may_be_sql_and_is_called_as_its_file_is(tmp_path: Path) -> None:
    [query] = saved(tmp_path, {"id": "q", **PAIR})
    written = "SELECT * FROM imb a, baksan b -- as in 1987\nWHERE WINDOW(a, b) = 10000 WITH THRESHOLD 0.4"
    as_sql = text(tmp_path / "q.SQL", written)
    figures = said(query, *NAMED, out=tmp_path / "out.json")
    assert said(as_sql, *NAMED, out=tmp_path / "out.json") == figures


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"SELECT * FROM imb a,\n baksan b WHEN", "q.sql: line 2, column 11 is 'WHEN': expected "),
        (
            b"SELECT * FROM imb a, baksan b WHERE WINDOW(a, b) = 1 WITH THRESHOLD 0",
            "q.sql: within[0].threshold is 0.0: ",
        ),
        (b"SELECT \xff", "q.sql: no UTF-8: "),
        (b"SELECT t.SENSOR, VALID(t.c) FROM t WHERE CAST(VALID(t.c) AS INTERVAL HOUR) >= 1", "q tells spells"),
    ],
)
def test_sql_that_cannot_be_used_is_told_with_its_place(
    tmp_path: Path, written: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = tmp_path / "q.sql"
    query.write_bytes(written)
    assert main(["explain", str(query), *map(str, NAMED)]) == 1
    assert message in capsys.readouterr().err


def test_without_lark_json_is_explained_and_sql_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lark", None)
    monkeypatch.setattr(grammar, "_parser", grammar._parser.__wrapped__)
    query = text(tmp_path / "q.sql", "SELECT * FROM imb a, baksan b WHERE WINDOW(a, b) = 10 s WITH THRESHOLD 0.4")
    assert main(["explain", str(query), *map(str, NAMED)]) == 1
    assert "to read queries as SQL, install lark: pip install 'coincide[cli]'" in capsys.readouterr().err
    said(*saved(tmp_path, {"id": "q", **PAIR}), *NAMED)


def test_detections_tell_sensors_rates_and_the_threshold_that_gives_few_chance_matches(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    edge = {"between": ["a", "b"], "window_s": 1, "threshold": 0.05}
    [query] = saved(tmp_path, {"id": "q", "from": {"a": "bang", "b": "flash"}, "within": [edge]})
    files, span_s = [], 20_000
    for stream, count in (("bang", 400), ("flash", 300)):
        times_us = EPOCH_US + np.concatenate(([0, span_s * 10**6], rng.integers(0, span_s * 10**6, count - 2)))
        rows = [{"detected_at": each, "sensor": f"{stream}-1", "sigma_s": 2.0} for each in times_us.tolist()]
        files.append(write(tmp_path / f"{stream}.csv", rows))
    figures = said(query, *files, "--chance-per-day", 100, out=tmp_path / "out.json")
    assert [role["sensors"] for role in figures["roles"]] == [1, 1]
    bang, flash = (
        [SensorRate(name, Histogram.normal(2.0), count / span_s)] for name, count in (("bang", 400), ("flash", 300))
    )
    assert figures["chance"]["per_hour"] == pytest.approx(3600 * chance_rate(bang, flash, Window(1), 0.05), rel=1e-6)
    least = figures["least_threshold"]
    assert 86_400 * chance_rate(bang, flash, Window(1), least) <= 100
    assert 86_400 * chance_rate(bang, flash, Window(1), least - 0.001) > 100


def test_a_short_file_tells_no_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [query] = saved(tmp_path, {"id": "q", **PAIR})
    rows = [{"detected_at": EPOCH_US, "sensor": name, "stream": name} for name in ("imb", "baksan")]
    file = write(tmp_path / "both.csv", rows)
    said(query, file, *NAMED)
    assert "How often chance gives a match is not known" in capsys.readouterr().out
    assert main(["explain", str(query), str(file), *map(str, NAMED), "--chance-per-day", "1"]) == 1
    assert "not known without rates" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--templates", "t.json", "--chance-per-day", "0"]])
def test_what_is_missing_or_makes_no_sense_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "q.json", *words])
    assert "coincide explain: error: " in capsys.readouterr().err


def test_a_file_that_is_read_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [query] = saved(tmp_path, {"id": "q", **PAIR})
    assert main(["explain", str(query), *map(str, NAMED), "--out", str(query)]) == 1
    assert "is read and cannot be written as well" in capsys.readouterr().err


@pytest.mark.parametrize(("threshold", "is_said"), [("0.4", True), ("0.35", False)])
def test_an_empty_join_says_that_its_threshold_is_out_of_reach(
    tmp_path: Path, threshold: str, is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    far = [{"detected_at": EPOCH_US + hours * 3_600_000_000, "sensor": name} for hours, name in enumerate("xy")]
    files = [str(write(tmp_path / f"{row['sensor']}.csv", [row])) for row in far]
    sides = ["--uncertainty-a", "uniform:-0.05,0.05", "--uncertainty-b", "uniform:-54,2"]
    out = tmp_path / "out.csv"
    assert main(["join", *files, "--window", "10", "--threshold", threshold, *sides, "--out", str(out)]) == 0
    assert read(out) == []
    expected = f"coincide: the threshold {threshold} is out of reach: the probability is at most 0.357"
    assert (expected in capsys.readouterr().err) is is_said


def test_a_join_by_query_says_it_too_and_writes_the_note_before_the_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    [query] = saved(tmp_path, {"id": "q", **PAIR})
    files = [SN1987A / f"{name}.ndjson" for name in ("imb", "baksan")]
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    both = text(tmp_path / "both.ndjson", "".join(json.dumps({**row, "stream": row["sensor"]}) + "\n" for row in rows))
    assert main(["join", "--query", str(query), str(both), *map(str, NAMED)]) == 0
    captured = capfd.readouterr()
    assert "the threshold 0.4 between a and b is out of reach: the probability is at most 0.357" in captured.err
    assert len(captured.out.splitlines()) == 1


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
@pytest.mark.parametrize("window_s", [0.05, 0.15])
def test_no_real_pair_is_more_probable_than_it_says_and_some_nearly_is(tmp_path: Path, window_s: float) -> None:
    """P picks of one moment at two stations: among 100,000 pairs of an hour some come within a hundredth of it."""
    forms = {name: {"edges_s": each.edges_s, "mass": each.mass} for name, each in central_italy.templates().items()}
    picks = [pick for pick in central_italy.picks() if pick.phase == "P"]
    rows = [
        {"stream": "P", "template": "P", "sensor": pick.station, "detected_at_us": pick.detected_at_us}
        for pick in picks
    ]
    file, named = write(tmp_path / "picks.csv", rows), text(tmp_path / "templates", json.dumps(forms))
    edge = {"between": ["a", "b"], "window_s": window_s, "threshold": 0.05}
    [query] = saved(tmp_path, {"id": "moment", "from": {"a": "P", "b": "P"}, "within": [edge]})
    figures = said(query, file, "--templates", named, out=tmp_path / "out.json")
    answer = join(file, "--query", query, "--templates", named, out=tmp_path / "joined.csv")
    stations = {pick.station for pick in picks}
    [edge_figures] = figures["edges"]
    assert edge_figures["sensor_pairs"] == len(stations) * (len(stations) - 1)
    most = max(row["probability"] for row in answer)
    assert edge_figures["greatest"] - 0.01 < most <= edge_figures["greatest"] + 1e-6
    assert figures["chance"]["per_hour"] < len(answer) / 4  # quakes


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_chance_is_what_remains_of_a_real_hour_whose_stations_are_moved_against_each_other(tmp_path: Path) -> None:
    forms = {name: {"edges_s": each.edges_s, "mass": each.mass} for name, each in central_italy.templates().items()}
    rng, counts = np.random.default_rng(4), []
    named = text(tmp_path / "templates", json.dumps(forms))
    edge = {"between": ["a", "b"], "window_s": 0.15, "threshold": 0.05}
    [query] = saved(tmp_path, {"id": "moment", "from": {"a": "P", "b": "P"}, "within": [edge]})
    picks = [pick for pick in central_italy.picks() if pick.phase == "P"]
    for _ in range(4):
        shift_us = {station: int(rng.integers(3_600_000_000)) for station in {pick.station for pick in picks}}
        rows = [
            {
                "stream": "P",
                "template": "P",
                "sensor": pick.station,
                "detected_at_us": EPOCH_US + (pick.detected_at_us + shift_us[pick.station]) % 3_600_000_000,
            }
            for pick in picks
        ]
        file = write(tmp_path / "picks.csv", rows)
        counts.append(len(join(file, "--query", query, "--templates", named, out=tmp_path / "joined.csv")))
    figures = said(query, file, "--templates", named, out=tmp_path / "out.json")
    assert np.mean(counts) == pytest.approx(figures["chance"]["per_hour"], rel=0.15)


def test_files_tell_how_many_detections_pass_a_filter(tmp_path: Path) -> None:
    rng, span_s = np.random.default_rng(3), 20_000
    loud = {"stream": "bang", "where": {"attributes.db": {"above": 100}}}
    edge = {"between": ["a", "b"], "window_s": 1, "threshold": 0.05}
    queries = (("filtered", loud), ("whole", "bang"))
    filtered, whole = saved(
        tmp_path, *({"id": name, "from": {"a": bang, "b": "flash"}, "within": [edge]} for name, bang in queries)
    )
    rows = [
        {
            "detected_at": EPOCH_US + at_us,
            "sensor": f"{stream}-1",
            "stream": stream,
            "attributes.db": db,
            "sigma_s": 2.0,
        }
        for stream, dbs in (("bang", [101] * 100 + [99] * 300), ("flash", [0] * 400))
        for at_us, db in zip([0, span_s * 10**6, *rng.integers(0, span_s * 10**6, 398).tolist()], dbs, strict=True)
    ]
    file = write(tmp_path / "rows.csv", rows)
    some = said(filtered, file, out=tmp_path / "some.json")
    every = said(whole, file, out=tmp_path / "every.json")
    assert some["roles"][0]["passing"] == 0.25
    assert some["chance"]["per_hour"] == pytest.approx(every["chance"]["per_hour"] / 4)
    assert some["chance"]["is_upper_bound"] is False
    assert any("Its filter on attributes.db lets 25 % of these detections pass." in each for each in some["sentences"])
