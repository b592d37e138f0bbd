"""What becomes of the rows of a frame, written from the definition: one row at a time, one value at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from coincide import Histogram, Stream
from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US
from coincide.errors import HistogramError

MOST_ATTRIBUTES_BYTES = 4096
LONGEST_SHOWN_BYTES = 2048
STAMP_FIELDS = ("sensor", "stream", "template")  # and perhaps its place


def rows_of(frame: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the detections of a frame, one object each, without what follows from their templates."""
    columns = frame["detections"]
    for nth, id_ in enumerate(columns["id"]):
        stamp, attributes = frame["stamps"][columns["stamp"][nth]], columns.get("attributes")
        named = {"id": id_, **stamp, "detected_at_us": columns["detected_at_us"][nth]}
        yield {**named, "attributes": attributes[nth] if attributes else {}}


def reason_of(frame: dict[str, Any], nth: int, streams: Mapping[str, Stream]) -> str | None:
    """Return why a row of a frame with columns of one length cannot be used; None if it can."""
    columns, stamps = frame["detections"], frame["stamps"]
    at, at_us, id_ = (columns[name][nth] for name in ("stamp", "detected_at_us", "id"))
    attributes = columns["attributes"][nth] if "attributes" in columns else {}
    is_read = (
        _is_whole(at, 0, len(stamps) - 1)
        and _is_whole(at_us, EARLIEST_TIME_US, LATEST_TIME_US)
        and _is_name(id_)
        and isinstance(attributes, dict)
        and len(as_json(attributes)) <= MOST_ATTRIBUTES_BYTES
        and _is_stamp(stamps[at])
    )
    return _reason_of_stamp(frame, stamps[at], streams) if is_read else "malformed_detection"


def _reason_of_stamp(frame: dict[str, Any], stamp: dict[str, str], streams: Mapping[str, Stream]) -> str | None:
    if stamp["stream"] not in streams:
        return "unknown_stream"
    if stamp["template"] not in frame["templates"]:
        return "unknown_template"
    try:
        template = Histogram.from_json(frame["templates"][stamp["template"]])
    except HistogramError:
        return "malformed_template"
    if template.id != stamp["template"]:
        return "template_mismatch"
    is_short = template.edges_s[-1] - template.edges_s[0] <= streams[stamp["stream"]].longest_template_s
    return None if is_short else "template_too_long"


def letter_of(frame: dict[str, Any], nth: int) -> dict[str, Any]:
    """Return how a letter shows a row: null, or {}, for what is long, and for a stamp that cannot be read."""
    columns, stamps = frame["detections"], frame["stamps"]
    at, attributes = columns["stamp"][nth], columns["attributes"][nth] if "attributes" in columns else {}
    stamp: dict[str, Any] = stamps[at] if _is_whole(at, 0, len(stamps) - 1) else {}
    if not _is_stamp(stamp):
        stamp = dict.fromkeys(STAMP_FIELDS)
    named = {"id": columns["id"][nth], **{name: stamp[name] for name in STAMP_FIELDS}}
    is_short = len(as_json(attributes)) <= LONGEST_SHOWN_BYTES
    return {**named, "detected_at_us": columns["detected_at_us"][nth], "attributes": attributes if is_short else {}}


def as_json(value: object) -> bytes:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def _is_whole(value: object, least: int, greatest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= greatest


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 200


def _is_stamp(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_name(value.get(name)) for name in STAMP_FIELDS)
