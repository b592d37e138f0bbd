"""coincide replay of queries that ask where sensors are: rows say it, or else a file of stations does."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from coincide.command.main import main
from coincide.command.playback import replay as replaying
from coincide.places import form_of_place
from coincide.places.place import Place
from coincide.places.place_forms import EARTH, FRAME
from tests.coincide.command.files import EPOCH_US, FORMATS, join, text, write
from tests.coincide.command.playback.test_replay import NAMED, Event, alive, arriving, ids, replay, saved, slow_replay
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.coincide.fusion.matching.test_distance_laws import HALL, TOWN, queries, sound
from tests.coincide.fusion.matching.test_source_joins import BANG, MICROPHONES, STRANGER, live, shot
from tests.coincide.fusion.outputs import matches
from tests.examples import examples

STANDS = {"north": 0, "south": 1, "east": 2}
NAMES = ("id", "sensor", "area", "stream", "detected_at_us", "template")


def cells(place: Place | None) -> dict[str, float | None]:
    return {**dict.fromkeys((*EARTH, *FRAME)), **(form_of_place(place) if place else {})}


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=arriving,
    moved=st.lists(st.integers(0, 9), min_size=14, max_size=14),
    stand=st.sampled_from([HALL, HALL, TOWN]),
    query=queries(),
    form=st.sampled_from(FORMATS),
    at_once=st.sampled_from([1, 3, 1000]),
    known=st.sets(st.sampled_from(list(STANDS))),
)
def test_equals_the_definition_however_rows_come_together(
    tmp_path: Path,
    rows: list[Event],
    moved: list[int],
    stand: Sequence[Place | None],
    query: dict[str, Any],
    form: str,
    at_once: int,
    known: set[str],
) -> None:
    own = [stand[to] if to < len(stand) else None for to in moved[: len(rows)]]
    of_station = [stand[STANDS[row["sensor"]]] if row["sensor"] in known else None for row in rows]
    asked = [{**{name: row[name] for name in NAMES}, **cells(place)} for row, place in zip(rows, own, strict=True)]
    file = write(tmp_path / f"rows.{form}", asked)
    options: list[object] = ["--templates", text(tmp_path / "named", json.dumps(NAMED)), "--max-delay", 1e6]
    if known:
        stations = [{"sensor": name, **cells(stand[STANDS[name]])} for name in sorted(known)]
        options += ["--places", write(tmp_path / "stations.csv", stations)]
    with patch.object(replaying, "ROWS_AT_ONCE", at_once):
        found = alive(replay(saved(tmp_path, query), file, *options, out=tmp_path / "out.ndjson"))
    tuples = join(file, "--query", tmp_path / "near.json", *options[:2], *options[4:], out=tmp_path / "join.ndjson")
    told = [frozenset((role, row[f"id_{role}"]) for role in query["from"] if row[f"id_{role}"]) for row in tuples]
    assert len(told) == len(found["near"])
    assert set(told) == {frozenset((role, name) for role, _, name in each) for each in found["near"]}
    facts = []
    for row, *places in zip(rows, own, of_station, strict=True):
        at = places[0] or places[1]
        facts.append({**row, **({"place": form_of_place(at)} if at else {})})
    assert found["near"] == slow_replay([query], facts, 1e6)["near"]
    event(f"some match: {bool(found['near'])}, roles: {len(query['from'])}")


def shots(*rows: Row) -> list[Event]:
    return [
        {"id": row.id, "sensor": row.sensor, "detected_at_us": EPOCH_US + row.at_us, "place": form_of_place(row.place)}
        for row in rows
        if row.place
    ]


def test_one_source_of_posted_detections_is_what_the_engine_finds(tmp_path: Path) -> None:
    rows = [*BANG[:4], STRANGER, BANG[4]]
    wanted = live(matches(started(put(0, shot())).push([frame(0, rows)])))
    file = write(tmp_path / "p.ndjson", shots(*rows))
    lines = replay(saved(tmp_path, shot()), file, "--uncertainty", "uniform:-0.01,0.01", out=tmp_path / "out.ndjson")
    found = {frozenset(name for _, _, name in each) for each in alive(lines)["shot"]}
    assert found == wanted
    assert any(len(each) == 5 for each in found)


def test_join_finds_one_source_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    rows = [*BANG[:4], STRANGER, BANG[4]]
    wanted = live(matches(started(put(0, shot())).push([frame(0, rows)])))
    file = write(tmp_path / "p.ndjson", shots(*rows[::-1]))
    [query] = saved(tmp_path, shot())
    tuples = join(file, "--query", query, "--uncertainty", "uniform:-0.01,0.01", out=tmp_path / "out.ndjson")
    assert {frozenset(row[f"id_{role}"] for role in shot()["from"] if row[f"id_{role}"]) for row in tuples} == wanted
    assert len(tuples) == len(wanted)


def test_stations_of_a_file_place_the_rows_and_those_without_a_place_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stations = [{"sensor": f"mic-{nth}", "x_m": at.x_m, "y_m": at.y_m} for nth, at in enumerate(MICROPHONES)]
    rows = [{**row, "place": None} for row in shots(*BANG, STRANGER)]
    rows.append({**rows[0], "id": "lost", "sensor": "mic-9"})
    arguments = [write(tmp_path / "p.ndjson", rows), "--uncertainty", "uniform:-0.01,0.01"]
    queries_asked = saved(tmp_path, shot())
    assert replay(queries_asked, *arguments, out=tmp_path / "out.ndjson") == []
    assert "7 detections have no place" in capsys.readouterr().err
    placed = [*arguments, "--places", write(tmp_path / "mics.csv", stations)]
    lines = replay(queries_asked, *placed, out=tmp_path / "out.ndjson")
    assert max(len(each) for each in alive(lines)["shot"]) == 5
    assert "1 detection has no place" in capsys.readouterr().err


def test_a_place_that_cannot_be_is_a_bad_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "a", "stream": "p", "detected_at_us": EPOCH_US, "lat": 54, "lon": 8},
        {"id": "b", "stream": "s", "detected_at_us": EPOCH_US, "lat": 154, "lon": 8},
        {"id": "c", "stream": "s", "detected_at_us": EPOCH_US, "lat": "north", "lon": 8},
        {"id": "d", "stream": "s", "detected_at_us": EPOCH_US, "lat": 54},
        {"id": "e", "stream": "s", "detected_at_us": EPOCH_US, "lat": 54, "lon": 8, "height_m": 30},
    ]
    arguments = [write(tmp_path / "all.ndjson", rows), "--uncertainty", "point"]
    asked = saved(tmp_path, sound())
    assert main(["replay", str(arguments[0]), *map(str, arguments[1:]), "--query", str(asked[0])]) == 1
    said = capsys.readouterr().err
    assert "line 2: lat is 154.0: decimal degrees north, from -90 to 90; are latitude and longitude swapped?" in said
    assert "line 3: lat: 'north': a number" in said
    assert "line 4: place is {'lat': 54.0}: lat, lon" in said
    [line] = replay(asked, *arguments, "--skip-bad", out=tmp_path / "out.ndjson")
    assert ids(line) == ["a", "e"]


def test_a_file_of_stations_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, stations = write(tmp_path / "p.ndjson", shots(*BANG)), text(tmp_path / "mics.csv", "sensor,lat\nmic-1,5\n")
    [query] = saved(tmp_path, shot())
    assert main(["replay", str(rows), "--query", str(query), "--places", str(stations)]) == 1
    assert "mics.csv: its columns are sensor, lat: needed are " in capsys.readouterr().err
