"""The records of coincide.detections: frames, at most 500 detections of one area and 256 KiB each, and heartbeats."""

from dataclasses import dataclass

import msgspec

from services.ingest.registry.sensors import Template
from services.ingest.stamping.stamp import StampedDetection

VERSION = 1
MOST_DETECTIONS = 500
LONGEST_BYTES = 256 * 1024

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Frame:
    """One record ready to be sent, and the positions in the POST of the detections in it."""

    key: bytes
    value: bytes
    indices: list[int]


class FrameDraft:
    """The detections of one POST that share an area, in order."""

    __slots__ = ("_detections", "_indices", "_templates", "area")

    def __init__(self, area: str) -> None:
        self.area = area
        self._indices: list[int] = []
        self._templates: list[Template] = []
        self._detections: list[StampedDetection] = []

    def add(self, index: int, template: Template, detection: StampedDetection) -> None:
        """Append the detection at position `index` of the POST."""
        self._indices.append(index)
        self._templates.append(template)
        self._detections.append(detection)

    def frames(self, received_at_us: int) -> list[Frame]:
        """Return the frames, sized and encoded; nothing is sent before every frame of a POST is known to fit."""
        starts = range(0, len(self._detections), MOST_DETECTIONS)
        return [frame for start in starts for frame in self._fitting(start, start + MOST_DETECTIONS, received_at_us)]

    def _fitting(self, start: int, stop: int, received_at_us: int) -> list[Frame]:
        """Return the frame of [start, stop), halved while too long; one detection, of some 6 KiB at most, fits."""
        stop = min(stop, len(self._detections))
        templates = {template.id: template.json for template in self._templates[start:stop]}
        head = {"v": VERSION, "area": self.area, "received_at_us": received_at_us}
        value = _encode({**head, "templates": templates, "detections": self._detections[start:stop]})
        if len(value) <= LONGEST_BYTES:
            return [Frame(self.area.encode(), value, self._indices[start:stop])]
        middle = (start + stop) // 2
        return self._fitting(start, middle, received_at_us) + self._fitting(middle, stop, received_at_us)


def heartbeat(received_at_us: int) -> bytes:
    """Return an empty frame for every partition: by it fusion knows silence from standing still.

    It says what time it is, and with that, that ingest has been listening: POSTs that were answered have landed before
    it, or land within the publisher's bounded time after it. Several replicas may all send heartbeats.
    """
    return _encode({"v": VERSION, "heartbeat": True, "received_at_us": received_at_us})
