"""Frames that ingest would not write: each is refused with its reason, and the rest goes on."""

import json
from typing import Any

import pytest

from coincide import Histogram
from coincide.arrays.instants import LATEST_TIME_US
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord, Output
from tests.coincide.fusion.inputs import MICROSECONDS, Row, frame, frame_json, put, query_json, record, started
from tests.coincide.fusion.outputs import letters, pairs, reasons, status

GOOD = [Row("p1", 1000.0), Row("s1", 1001.0, stream="s")]
AT_US = 1000 * MICROSECONDS
NO_ROWS = b'{"stamp":[],"detected_at_us":[],"id":[]}'
NO_ATTRIBUTES: tuple[object, ...] = ([], None, {"x": "y" * 5000})
UNUSABLE: list[tuple[object, list[float]]] = [([0, 1], [2]), ([1, 0], [1]), ([0], []), ([], []), ([0, 1e10], [1])]
UNUSABLE += [("01", [1]), (list(range(1002)), [1 / 1001] * 1001)]


def push(*records: InputRecord, limits: Limits | None = None) -> Output:
    return started(put(0, query_json()), limits=limits).push(records)


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"\x00", b"null", b"[]", b"{}", b'"frame"', b'{"v":2,"area":"bay"', b"\xff\xfe", b"[" * 100_000),
        b'{"v":2,"area":"\\ud800","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"bay\xff","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":1,"area":"bay","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":true,"area":"bay","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"hill","received_at_us":0,"templates":{},"stamps":[],"detections":NONE}',  # keyed by bay
        b'{"v":2,"area":"bay","received_at_us":1e3,"templates":{},"stamps":[],"detections":[]}',
        b'{"v":2,"area":"bay","received_at_us":NaN,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"bay","received_at_us":18446744073709551616,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"bay","received_at_us":9223372036854775807,"templates":{},"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"bay","received_at_us":0,"templates":[],"stamps":[],"detections":NONE}',
        b'{"v":2,"area":"bay","received_at_us":0,"templates":{},"stamps":[],"detections":NONE} x',
    ],
)
def test_a_record_that_is_no_frame_is_a_dead_letter_and_stops_nothing(value: bytes) -> None:
    output = push(record(0, value.replace(b"NONE", NO_ROWS)), frame(1, GOOD))
    assert reasons(output) == ["malformed_frame"]
    assert pairs(output) == [("p1", "s1")]
    assert status(output)["totals"]["malformed"] == 1


def test_a_record_without_a_value_is_a_dead_letter() -> None:
    [letter] = letters(push(InputRecord("detections", 0, 0, b"bay", None)))
    assert (letter["reason"], letter["record"]) == ("malformed_frame", None)


NOT_TIMES: tuple[object, ...] = ("1000", 1000.5, True, None, 2**63, -(2**62))
NOT_STAMPS: tuple[object, ...] = (-1, 3, 2**40, "0", 0.5, None)
UNUSABLE_ELEMENTS = [
    *(("id", value) for value in (None, "", 7, "x" * 201)),
    *(("detected_at_us", value) for value in NOT_TIMES),
    *(("stamp", value) for value in NOT_STAMPS),
    *(("attributes", value) for value in NO_ATTRIBUTES),
]


def with_a_bad_row() -> dict[str, Any]:
    """Return a frame of three rows, of which the first is yet to be made bad; it has a stamp of its own."""
    return frame_json([Row("bad", 1000.0, sensor="south", attributes=(("x", "here"),)), *GOOD])


@pytest.mark.parametrize(("column", "value"), UNUSABLE_ELEMENTS)
def test_a_row_that_cannot_be_used_is_refused_alone(column: str, value: object) -> None:
    bad = with_a_bad_row()
    bad["detections"][column][0] = value
    output = push(record(0, bad))
    [letter] = letters(output)
    assert letter["reason"] == "malformed_detection"
    assert letter["detail"].startswith(column)
    assert pairs(output) == [("p1", "s1")]
    totals = status(output)["totals"]
    assert (totals["detections"], totals["accepted"], totals["malformed"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        *(({"sensor": value}, "malformed_detection") for value in (None, "", 7, "x" * 201)),
        ({"stream": "x"}, "unknown_stream"),
        ({"template": "t-0000000000000000"}, "unknown_template"),
    ],
)
def test_a_stamp_that_cannot_be_used_spoils_only_its_rows(change: dict[str, Any], reason: str) -> None:
    bad = with_a_bad_row()
    bad["stamps"][0] |= change
    output = push(record(0, bad))
    assert reasons(output) == [reason]
    assert pairs(output) == [("p1", "s1")]


@pytest.mark.parametrize("stamp", [None, [], {}, {"sensor": "south", "stream": "p"}])
def test_a_stamp_that_is_none_spoils_only_its_rows(stamp: object) -> None:
    bad = with_a_bad_row()
    bad["stamps"][0] = stamp
    output = push(record(0, bad))
    [letter] = letters(output)
    assert (letter["reason"], letter["sensor"], letter["id"]) == ("malformed_detection", None, "bad")
    assert pairs(output) == [("p1", "s1")]


def test_columns_must_have_one_length() -> None:
    for column in ("stamp", "detected_at_us", "id", "attributes"):
        bad = with_a_bad_row()
        bad["detections"][column].pop()
        [letter] = letters(push(record(0, bad)))
        assert letter["reason"] == "malformed_frame"
        assert f"{column} 2" in letter["detail"]


def test_a_frame_of_another_version_is_refused_by_its_version() -> None:
    old = {"v": 1, "area": "bay", "received_at_us": 0, "templates": {}, "detections": [{"id": "p1"}]}
    [letter] = letters(push(record(0, old)))
    assert letter["detail"] == "the frame has version 1: this job reads version 2"


def test_times_beyond_what_can_be_stored_are_refused() -> None:
    template = Histogram.uniform(0, 5)
    output = push(frame(0, [Row("last", LATEST_TIME_US / MICROSECONDS - 1, template), *GOOD]))
    assert reasons(output) == ["time_out_of_range"]


@pytest.mark.parametrize("number", [b"1e999", b"-1e400"])
def test_numbers_that_overflow_in_attributes_are_refused(number: bytes) -> None:
    value = json.dumps(with_a_bad_row()).encode()
    output = push(record(0, value.replace(b'"here"', number)))
    assert reasons(output) == ["malformed_detection"]
    assert pairs(output) == [("p1", "s1")]


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ({"edges_s": [0, 1], "mass": [1]}, "template_mismatch"),
        *(({"edges_s": edges_s, "mass": mass}, "malformed_template") for edges_s, mass in UNUSABLE),
        ({"edges_s": [0, 1], "mass": [1], "more": 1}, "malformed_template"),
        ([], "malformed_template"),
    ],
)
def test_a_template_that_is_not_what_its_id_says_spoils_only_its_rows(template: object, reason: str) -> None:
    own = Histogram.uniform(-1, 0)
    bad = frame_json([Row("bad", 1000.0, own), *GOOD])
    bad["templates"][own.id] = template
    output = push(record(0, bad))
    assert reasons(output) == [reason]
    assert pairs(output) == [("p1", "s1")]


def test_a_frame_must_carry_its_templates_even_if_they_are_known() -> None:
    again = {**frame_json([Row("p2", 1000.0)]), "templates": {}}
    assert reasons(push(frame(0, GOOD), record(1, again))) == ["unknown_template"]


def test_a_template_longer_than_declared_is_refused() -> None:
    just, longer = Histogram.uniform(-8, 0), Histogram.uniform(-8.00001, 0)
    output = push(frame(0, [Row("just", 1000.0, just), Row("longer", 1000.0, longer)]))
    assert [(letter["id"], letter["reason"]) for letter in letters(output)] == [("longer", "template_too_long")]


def test_sizes_are_bounded() -> None:
    rows = [Row(f"p{n}", 1000.0) for n in range(3)]
    assert reasons(push(frame(0, rows), limits=Limits(max_frame_detections=2))) == ["malformed_frame"]
    assert reasons(push(frame(0, rows), limits=Limits(max_frame_bytes=100))) == ["malformed_frame"]


def test_a_dead_letter_holds_what_the_contract_says() -> None:
    bad = frame_json([Row("bad", 1000.0, stream="x", attributes=(("k", 1),))], received_at_s=1005.0)
    (letter,) = letters(push(record(0, bad)))
    assert letter.pop("dead_id").startswith("d-")
    template = Histogram.point().id
    shown: dict[str, Any] = {"id": "bad", "sensor": "north", "stream": "x", "template": template}
    shown |= {"detected_at_us": AT_US, "attributes": {"k": 1}}
    expected = {"v": 1, "source": "fusion", "reason": "unknown_stream", "detail": "the stream is not declared"}
    expected |= {"area": "bay", "stream": "x", "sensor": "north", "id": "bad", "received_at_us": 1_005_000_000}
    assert letter == {**expected, "late_by_us": None, "record": shown}


def test_a_dead_letter_is_bounded_and_its_id_depends_on_its_content() -> None:
    one, same, other = (push(record(0, value)).dead_letters[0] for value in (b"x" * 9000, b"x" * 9000, b"y" * 9000))
    assert one == same
    first, second = json.loads(one.value), json.loads(other.value)
    assert len(first["record"]) == 2048
    assert first["dead_id"] != second["dead_id"]


def test_letters_come_in_the_order_of_frames_and_rows() -> None:
    first = frame_json([Row("a", 1000.0, stream="x"), *GOOD, Row("b", 1000.0, stream="x")])
    output = push(record(0, first), record(1, b"{"), frame(2, [Row("c", 900.0)]))
    assert reasons(output) == ["unknown_stream", "unknown_stream", "malformed_frame", "late"]
    assert [letter["id"] for letter in letters(output)] == ["a", "b", None, "c"]
