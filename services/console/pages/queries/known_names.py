"""KnownNames: what a query may name, so that its editor offers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer, ReceiverListAnswer, SensorAnswer
from services.console.rest.sensor_answers import StreamAnswer, StreamListAnswer
from services.console.rest.services import Parameters, RestError, Service

SENSORS_MOST = 1000
T = TypeVar("T")


@dataclass(frozen=True)
class KnownNames:
    """The declared streams, the one that most sensors report (of several the fastest), and what else has a name."""

    streams: tuple[str, ...] = ()
    busiest_stream: str = ""
    sensors: tuple[str, ...] = ()  # the first of them
    areas: tuple[str, ...] = ()  # of these sensors
    receivers: tuple[str, ...] = ()

    def by_kind(self) -> dict[str, Sequence[str]]:
        """Return the names by what they name."""
        return {"streams": self.streams, "sensors": self.sensors, "areas": self.areas, "receivers": self.receivers}


async def read_known_names(viewer: Viewer) -> KnownNames:
    """Ask the services; what one of them does not tell now is not offered, and can be typed all the same."""
    most: Parameters = {"limit": SENSORS_MOST}
    streams = (await _answer(viewer, StreamListAnswer, "ingest", "/v1/streams") or StreamListAnswer([])).items
    page = await _answer(viewer, PageAnswer[SensorAnswer], "ingest", "/v1/sensors", most)
    receivers = await _answer(viewer, ReceiverListAnswer, "alerting", "/v1/receivers") or ReceiverListAnswer([])
    sensors = [] if page is None else page.items
    busiest = max(streams, key=lambda each: (each.sensors, -each.longest_template_s), default=StreamAnswer(name=""))
    return KnownNames(
        tuple(each.name for each in streams),
        busiest.name,
        tuple(each.id for each in sensors),
        tuple(sorted({each.area for each in sensors})),
        tuple(each.id for each in receivers.items),
    )


async def _answer(
    viewer: Viewer, kind: type[T], service: Service, path: str, asked: Parameters | None = None
) -> T | None:
    try:
        return await viewer.rest.get(kind, service, path, asked)
    except RestError:
        return None
