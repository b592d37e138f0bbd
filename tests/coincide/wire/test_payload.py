"""A payload goes from a frame through rows to results, and stays what it was."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from coincide.wire.detection_record import DetectionColumns
from coincide.wire.payload import NO_PAYLOAD, frame_columns, packed, payload_json, payload_of, reader
from coincide.wire.results.match_record import MatchMember

MOST_BYTES = 1024
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)
ATTRIBUTES = st.dictionaries(st.text(max_size=5), SCALARS | st.lists(SCALARS, max_size=2), max_size=3)


@given(st.lists(ATTRIBUTES, max_size=5))
def test_rows_have_what_was_put_into_a_frame(attributes: list[dict[str, Any]]) -> None:
    payloads, rows = [json.encode(each) for each in attributes], len(attributes)
    columns = DetectionColumns([0] * rows, [0] * rows, ["d"] * rows, **frame_columns(payloads))
    written = json.encode(columns)
    assert packed(json.decode(written, type=DetectionColumns), rows, MOST_BYTES) == payloads
    assert (b"attributes" in written) == any(attributes)


@given(ATTRIBUTES)
def test_results_show_it_and_queries_read_it(attributes: dict[str, Any]) -> None:
    payload = json.encode(attributes)
    member = MatchMember("a", "north", "d", "p", 0, 0, 0, "t", **payload_json(payload))
    shown = json.decode(json.encode(member))
    assert list(shown)[-1] == "attributes"
    assert shown["attributes"] == attributes
    assert payload_of(json.decode(json.encode(member), type=MatchMember)) == payload
    assert {name: reader(payload)(f"attributes.{name}") for name in attributes} == attributes


def test_without_attributes_a_payload_is_none() -> None:
    assert json.encode({}) == NO_PAYLOAD
    assert reader(NO_PAYLOAD)("attributes.db") is None
