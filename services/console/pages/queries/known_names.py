"""KnownNames: what a query may name, so that its editor offers it."""

from __future__ import annotations

from dataclasses import dataclass

from services.console.pages.viewer import Viewer
from services.console.rest.answers import ReceiverListAnswer
from services.console.rest.sensor_answers import StreamAnswer, StreamListAnswer
from services.console.rest.services import RestError


@dataclass(frozen=True)
class KnownNames:
    """The declared streams, the one that most sensors report (of several the fastest), and who can be told."""

    streams: tuple[str, ...] = ()
    busiest_stream: str = ""
    receivers: tuple[str, ...] = ()


async def read_known_names(viewer: Viewer) -> KnownNames:
    """Ask the services; what one of them does not tell now is not offered, and can be typed all the same."""
    streams, receivers = StreamListAnswer([]), ReceiverListAnswer([])
    try:
        streams = await viewer.rest.get(StreamListAnswer, "ingest", "/v1/streams")
        receivers = await viewer.rest.get(ReceiverListAnswer, "alerting", "/v1/receivers")
    except RestError:
        pass
    busiest = max(
        streams.items, key=lambda each: (each.sensors, -each.longest_template_s), default=StreamAnswer(name="")
    )
    names = tuple(each.name for each in streams.items)
    return KnownNames(names, busiest.name, tuple(each.id for each in receivers.items))
