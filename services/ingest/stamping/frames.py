"""The frames of a POST: its detections in columns, at most 500 and 256 KiB each."""

from msgspec import UNSET, Raw, json

from coincide.wire.detection_record import FRAME_VERSION, DetectionColumns, FrameRecord, Stamp
from coincide.wire.fields import MOST_DETECTIONS
from coincide.wire.payload import frame_columns
from services.ingest.publishing.frame import Frame
from services.ingest.registry.snapshot import StreamStamp

LONGEST_BYTES = 256 * 1024

_encode = json.Encoder().encode


class FrameDraft:
    """The detections of one POST that share an area, in order."""

    __slots__ = ("_area", "_ids", "_indices", "_payloads", "_stamps", "_times_us")

    def __init__(self, area: str) -> None:
        self._area = area
        self._indices: list[int] = []
        self._stamps: list[StreamStamp] = []
        self._times_us: list[int] = []
        self._ids: list[str] = []
        self._payloads: list[bytes] = []

    def add(self, index: int, stamp: StreamStamp, detected_at_us: int, identity: str, payload: bytes) -> None:
        """Append the detection at position `index` of the POST."""
        self._indices.append(index)
        self._stamps.append(stamp)
        self._times_us.append(detected_at_us)
        self._ids.append(identity)
        self._payloads.append(payload)

    def frames(self, received_at_us: int) -> list[Frame]:
        """Return the frames, sized and encoded; nothing is sent before every frame of a POST is known to fit."""
        starts = range(0, len(self._ids), MOST_DETECTIONS)
        return [frame for start in starts for frame in self._fitting(start, start + MOST_DETECTIONS, received_at_us)]

    def _fitting(self, start: int, stop: int, received_at_us: int) -> list[Frame]:
        """Return the frame of [start, stop), halved while too long; one detection, of some 6 KiB at most, fits."""
        stop = min(stop, len(self._ids))
        value = _encode(self._record(slice(start, stop), received_at_us))
        if len(value) <= LONGEST_BYTES:
            return [Frame(self._area.encode(), value, self._indices[start:stop])]
        middle = (start + stop) // 2
        return self._fitting(start, middle, received_at_us) + self._fitting(middle, stop, received_at_us)

    def _record(self, rows: slice, received_at_us: int) -> FrameRecord:
        stamps, payload = self._stamps[rows], frame_columns(self._payloads[rows])
        position = {stamp: nth for nth, stamp in enumerate(dict.fromkeys(stamps))}
        places = [*map(position.__getitem__, stamps)]
        columns = DetectionColumns(places, self._times_us[rows], self._ids[rows], **payload)
        return FrameRecord(
            FRAME_VERSION,
            self._area,
            received_at_us,
            templates=Raw(_encode({stamp.template.id: stamp.template.json for stamp in position})),
            stamps=Raw(_encode([*map(_wire_stamp, position)])),
            detections=columns,
        )


def _wire_stamp(stamp: StreamStamp) -> Stamp:
    place = UNSET if stamp.place is None else stamp.place
    return Stamp(stamp.sensor, stamp.stream, stamp.template.id, place)
