"""The frames of a POST: its detections in columns, at most 500 and 256 KiB each."""

from msgspec import Raw, json

from services.ingest.kafka.frame import VERSION, Frame
from services.ingest.registry.snapshot import StreamStamp
from services.ingest.stamping.posted import NO_ATTRIBUTES

MOST_DETECTIONS = 500
LONGEST_BYTES = 256 * 1024

_encode = json.Encoder().encode


class FrameDraft:
    """The detections of one POST that share an area, in order."""

    __slots__ = ("_area", "_attributes", "_ids", "_indices", "_stamps", "_times_us")

    def __init__(self, area: str) -> None:
        self._area = area
        self._indices: list[int] = []
        self._stamps: list[StreamStamp] = []
        self._times_us: list[int] = []
        self._ids: list[str] = []
        self._attributes: list[bytes] = []

    def add(self, index: int, stamp: StreamStamp, detected_at_us: int, identity: str, attributes: bytes) -> None:
        """Append the detection at position `index` of the POST, with attributes as they stand in the frame."""
        self._indices.append(index)
        self._stamps.append(stamp)
        self._times_us.append(detected_at_us)
        self._ids.append(identity)
        self._attributes.append(attributes)

    def frames(self, received_at_us: int) -> list[Frame]:
        """Return the frames, sized and encoded; nothing is sent before every frame of a POST is known to fit."""
        starts = range(0, len(self._ids), MOST_DETECTIONS)
        return [frame for start in starts for frame in self._fitting(start, start + MOST_DETECTIONS, received_at_us)]

    def _fitting(self, start: int, stop: int, received_at_us: int) -> list[Frame]:
        """Return the frame of [start, stop), halved while too long; one detection, of some 6 KiB at most, fits."""
        stop = min(stop, len(self._ids))
        head = {"v": VERSION, "area": self._area, "received_at_us": received_at_us}
        value = _encode({**head, **self._columns(slice(start, stop))})
        if len(value) <= LONGEST_BYTES:
            return [Frame(self._area.encode(), value, self._indices[start:stop])]
        middle = (start + stop) // 2
        return self._fitting(start, middle, received_at_us) + self._fitting(middle, stop, received_at_us)

    def _columns(self, rows: slice) -> dict[str, object]:
        """Return the members of a frame that hold these detections: templates, stamps and columns."""
        stamps, attributes = self._stamps[rows], self._attributes[rows]
        position = {stamp: nth for nth, stamp in enumerate(dict.fromkeys(stamps))}
        columns: dict[str, object] = {
            "stamp": [*map(position.__getitem__, stamps)],
            "detected_at_us": self._times_us[rows],
            "id": self._ids[rows],
        }
        if attributes.count(NO_ATTRIBUTES) < len(attributes):
            columns["attributes"] = Raw(b"[%b]" % b",".join(attributes))
        templates = {stamp.template.id: stamp.template.json for stamp in position}
        return {"templates": templates, "stamps": [*map(_shared, position)], "detections": columns}


def _shared(stamp: StreamStamp) -> dict[str, str]:
    return {"sensor": stamp.sensor, "stream": stamp.stream, "template": stamp.template.id}
