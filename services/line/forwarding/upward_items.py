"""Records of a line as the line above takes them: the detections of a frame, or a match as one detection."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET, Raw, json

from coincide.wire.detection_record import FrameRecord, Stamp
from coincide.wire.results.match_record import MatchRecord

CENTRAL = 0.9  # of an occurrence lies between p05_us and p95_us

_frame = json.Decoder(FrameRecord)
_match = json.Decoder(MatchRecord)
_stamps = json.Decoder(list[Stamp])
_templates = json.Decoder(dict[str, Raw])


def detections_in(value: bytes) -> Iterator[bytes]:
    """Yield each detection of a frame, with the template that it had here as its own uncertainty.

    So the line above needs its sensor, and joins it as this line does. Raises `coincide.wire.fields.UNREADABLE`.
    """
    frame = _frame.decode(value)
    stamps, templates, columns = _stamps.decode(frame.stamps), _templates.decode(frame.templates), frame.detections
    attributes: Sequence[Any] = columns.attributes or [UNSET] * len(columns.id)
    rows = zip(columns.stamp, columns.detected_at_us, columns.id, attributes, strict=True)
    for position, detected_at_us, id_, carried in rows:
        stamp = stamps[position]
        detection = {
            "sensor": stamp.sensor,
            "stream": stamp.stream,
            "detected_at": detected_at_us,
            "id": id_,
            "uncertainty": templates[stamp.template],
        }
        further = {"attributes": carried, "place": stamp.place}
        yield json.encode(detection | {name: each for name, each in further.items() if each is not UNSET})


def match_in(value: bytes) -> MatchRecord:
    """Return a match; raises `coincide.wire.fields.UNREADABLE`."""
    return _match.decode(value)


def as_detection(match: MatchRecord, sensor: str) -> bytes:
    """Return a match as a detection of the sensor above that this pattern names; it has the id of the match.

    It was detected at the expected time. Its uncertainty has the central 90 % of `occurred`, and the rest of it up to
    the bounds of the match; without `occurred` it lies anywhere between these.
    """
    at_us, edges_us, mass = _spread(match)
    carried = {"probability": match.probability, "members": len(match.members), "chance_rate_hz": match.chance_rate_hz}
    detection = {
        "sensor": sensor.replace("{query}", match.query).replace("{area}", match.area),
        "detected_at": at_us,
        "id": match.id,
        "attributes": {name: each for name, each in carried.items() if each is not None},
        "uncertainty": {"edges_s": [(each - at_us) / 1e6 for each in edges_us], "mass": mass},
    }
    return json.encode(detection)


def _spread(match: MatchRecord) -> tuple[int, list[int], list[float]]:
    """Return when a match is said to have been, and edges and masses of when it was; two equal edges are one moment."""
    occurred = match.occurred
    if occurred is None:
        return (match.earliest_us + match.latest_us) // 2, [match.earliest_us, match.latest_us], [1.0]
    rest = (1 - CENTRAL) / 2
    low, high = min(match.earliest_us, occurred.p05_us), max(match.latest_us, occurred.p95_us)
    return occurred.mean_us, [low, occurred.p05_us, occurred.p95_us, high], [rest, CENTRAL, rest]
