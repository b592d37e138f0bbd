"""Frames become one row for each detection that can be used; nothing else is lost or invented."""

import json

from coincide import Histogram
from coincide.places import FramePlace
from services.history.archiving.frame_rows import ROW_SCHEMA, FrameRows
from tests.coincide.fusion.inputs import Row, frame, frame_json, heartbeat, record
from tests.reference.frames import rows_of

UNIFORM, EXACT = Histogram.uniform(-1, 2), Histogram.point()
ROWS = (
    Row("a", 1.5, UNIFORM, "p", "north", (("db", 3), ("name", "größe")), FramePlace(3, 4)),
    Row("b", 2.5, EXACT, "undeclared", "south"),
    Row("c", 3.5, UNIFORM, "p", "north"),
)


def test_every_detection_is_a_row_whatever_its_stream() -> None:
    rows = FrameRows()
    rows.add(frame(7, ROWS, "bay", 3, received_at_s=9.0))
    rows.add(heartbeat(8, 10.0, 3))
    rows.add(frame(9, ROWS[:1], "quay", 3))
    assert len(rows) == 4
    table, templates = rows.take()
    assert table.schema == ROW_SCHEMA
    first = table.slice(0, 3).to_pylist()
    written = rows_of(frame_json(ROWS, "bay", 9.0))
    for nth, (row, expected) in enumerate(zip(first, written, strict=True)):
        assert {**row, "attributes": json.loads(row["attributes"])} == {
            "area": "bay",
            "stream": expected["stream"],
            "sensor_id": expected["sensor"],
            "id": expected["id"],
            "detected_at_us": expected["detected_at_us"],
            "received_at_us": 9_000_000,
            "template": expected["template"],
            "place": '{"x_m":3.0,"y_m":4.0,"z_m":0.0}' if nth == 0 else None,
            "attributes": dict(ROWS[nth].attributes),
            "partition": 3,
            "offset": 7,
            "position": nth,
        }
    assert table.slice(3)["area"].to_pylist() == ["quay"]
    assert {id_: Histogram.from_json(content).id for id_, content in templates.items()} == {
        each.id: each.id for each in (UNIFORM, EXACT)
    }
    assert rows.unusable == 0


def test_taking_begins_anew() -> None:
    rows = FrameRows()
    rows.add(frame(0, ROWS))
    rows.take()
    assert len(rows) == 0
    table, templates = rows.take()
    assert (len(table), templates) == (0, {})
    rows.add(frame(1, ROWS[:1]))
    table, templates = rows.take()
    assert table["offset"].to_pylist() == [1]
    assert list(templates) == [UNIFORM.id]


def test_what_cannot_be_used_is_counted_and_the_rest_is_kept() -> None:
    rows = FrameRows()
    rows.add(record(0, b"{not json"))
    bad = frame_json(ROWS)
    bad["detections"]["detected_at_us"][0] = "noon"
    bad["templates"].pop(EXACT.id)
    rows.add(record(1, bad))
    table, _ = rows.take()
    assert table["id"].to_pylist() == ["c"]
    assert rows.unusable == 3
