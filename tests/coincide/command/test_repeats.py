"""Detections that a file tells again: they count once at every command, as they do where a gateway posts them again."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from coincide.command.main import main
from coincide.command.playback import replay as replaying
from tests.coincide.command.files import EPOCH_US, FORMATS, join, text, write
from tests.coincide.command.playback.test_replay import pair, replay, saved

Row = dict[str, Any]
ALONE = ["--window", "1", "--threshold", "0.5", "--uncertainty", "point"]


def heard(sensor: str, at_s: float, **more: Any) -> Row:
    return {"sensor": sensor, "detected_at_us": EPOCH_US + round(at_s * 1e6), **more}


def again(rows: list[Row]) -> list[Row]:
    """All rows, each with what makes it no repeat to a careless reader: another time of reception."""
    later = [{**row, "received_at_us": EPOCH_US + 10**7} for row in rows]
    return [{**row, "received_at_us": EPOCH_US + 5 * 10**6} for row in rows] + later


NAMED = [heard("north", 0, id="n1"), heard("south", 0.5, id="s1")]
NAMELESS = [heard("north", 0, db=3), heard("south", 0.5, db=3)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [NAMED, NAMELESS], ids=["named", "nameless"])
def test_it_counts_once_and_is_told(
    tmp_path: Path, form: str, rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / f"p.{form}", again(rows))
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p"))})
    assert len(join(file, *ALONE, out=tmp_path / "out.ndjson")) == 1
    assert len(join(file, "--query", *queries, "--uncertainty", "point", out=tmp_path / "of.ndjson")) == 1
    assert len(replay(queries, file, "--uncertainty", "point", out=tmp_path / "replayed.ndjson")) == 1
    assert main(["explain", str(queries[0]), str(file), "--uncertainty", "point"]) == 0
    assert capsys.readouterr().err.count("coincide: 2 detections came again: each counts once\n") == 4


@pytest.mark.parametrize("form", FORMATS)
def test_what_differs_in_any_column_is_no_repeat(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [heard("north", 0, db=3), heard("south", 0.5, db=3), heard("south", 0.5, db=4)]
    assert len(join(write(tmp_path / f"p.{form}", rows), *ALONE, out=tmp_path / "out.ndjson")) == 2
    assert "again" not in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMATS)
def test_lines_without_sensor_and_id_are_events_of_their_own(tmp_path: Path, form: str) -> None:
    rows = [{"detected_at_us": EPOCH_US} for _ in range(3)]
    assert len(join(write(tmp_path / f"p.{form}", rows), *ALONE, out=tmp_path / "out.ndjson")) == 3


def test_of_one_id_the_first_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [heard("north", 0, id="n1"), heard("north", 0.2, id="n1"), heard("south", 0.5, id="s1")]
    [found] = join(write(tmp_path / "p.csv", rows), *ALONE, out=tmp_path / "out.ndjson")
    assert found["offset_s"] == 0.5
    said = "coincide: 1 detection has the sensor and id of an earlier one, but another time: the first counts\n"
    assert said in capsys.readouterr().err


def test_other_streams_and_other_files_may_use_the_same_ids(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.csv", [heard("north", 0, id="1")]) for name in "ps"]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "sensors": "any"})
    assert len(join(*files, "--query", *queries, "--uncertainty", "point", out=tmp_path / "of.ndjson")) == 1
    assert len(join(*files, *ALONE, "--sensors", "any", out=tmp_path / "out.ndjson")) == 1


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_replay_knows_repeats_across_files_in_the_order_of_arrival(
    tmp_path: Path, at_once: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**heard(*each), "received_at_us": EPOCH_US + n * 10**6} for n, each in enumerate(EVENTS)]
    resent = [{**row, "received_at_us": EPOCH_US + 10**9} for row in rows]  # by then two of them are late
    files = [write(tmp_path / f"{name}.ndjson", part) for name, part in (("old", rows), ("new", resent))]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p"))})
    with patch.object(replaying, "ROWS_AT_ONCE", at_once):
        lines = replay(queries, *files, "--uncertainty", "point", "--max-delay", 1, out=tmp_path / "out.ndjson")
    assert len(lines) == 1
    assert capsys.readouterr().err == (
        "coincide: 2 detections came again: each counts once\n"
        "coincide: 2 detections came too late and left out: more than 1 s (--max-delay) behind their area\n"
    )


EVENTS = [("north", 0.0), ("south", 0.5), ("north", 900.0), ("south", 905.0)]


@pytest.mark.parametrize("at_once", [1, 1000])
def test_replay_takes_an_id_anew_once_its_first_detection_would_be_late(tmp_path: Path, at_once: int) -> None:
    """A gateway that restarts may count from 1 again."""
    rows = [heard(sensor, at_s, id="1") for at_s in (0, 1000) for sensor in ("north", "south")]
    queries = saved(tmp_path, {"id": "q", **pair(("p", "p"))})
    with patch.object(replaying, "ROWS_AT_ONCE", at_once):
        lines = replay(
            queries, write(tmp_path / "p.ndjson", rows), "--uncertainty", "point", out=tmp_path / "out.ndjson"
        )
    assert [{each["detected_at"][14:19] for each in line["members"]} for line in lines] == [{"35:35"}, {"52:15"}]


def test_replay_takes_a_sensors_id_on_another_stream_for_another_detection_by_its_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first stands, as in the running system; a join of files cannot tell, and takes both."""
    file = write(tmp_path / "both.ndjson", [heard("north", 0, id="1", stream=name) for name in "ps"])
    queries = saved(tmp_path, {"id": "q", **pair(("p", "s")), "sensors": "any"})
    assert replay(queries, file, "--uncertainty", "point", out=tmp_path / "out.ndjson") == []
    assert "1 detection has the sensor and id of an earlier one" in capsys.readouterr().err


def test_learning_counts_an_error_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**heard("north", n * 10 + n % 5 / 10), "area": "bay"} for n in range(60)]
    log = write(tmp_path / "noise.ndjson", again(rows))
    known = text(tmp_path / "known.csv", "t\n" + "".join(f"{EPOCH_US + n * 10**7}\n" for n in range(60)))
    words = [log, "--reference", known, "--reference-time", "t", "--within", "3", "--out", tmp_path / "out.yaml"]
    assert main(["learn", *map(str, words)]) == 0
    said = capsys.readouterr().err
    assert "coincide: 60 detections came again: each counts once\n" in said
    assert [line.split()[2] for line in said.splitlines() if line.startswith("north")] == ["60"]


def test_order_of_fields_makes_no_other_line(tmp_path: Path) -> None:
    row = heard("north", 0, attributes={"a": 1, "b": 2})
    other = dict(reversed([*row.items()])) | {"attributes": {"b": 2, "a": 1}}
    lines = [row, other, heard("south", 0.5)]
    file = text(tmp_path / "p.ndjson", "".join(json.dumps(each) + "\n" for each in lines))
    assert len(join(file, *ALONE, out=tmp_path / "out.ndjson")) == 1
