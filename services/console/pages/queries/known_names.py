"""KnownNames: what a query may name, so that its editor offers it."""

from __future__ import annotations

from dataclasses import dataclass

from services.console.pages.viewer import Viewer
from services.console.rest.answers import ReceiverListAnswer
from services.console.rest.sensor_answers import StreamListAnswer
from services.console.rest.services import RestError


@dataclass(frozen=True)
class KnownNames:
    """The declared streams, and who can be told."""

    streams: tuple[str, ...] = ()
    receivers: tuple[str, ...] = ()


async def read_known_names(viewer: Viewer) -> KnownNames:
    """Ask the services; what one of them does not tell now is not offered, and can be typed all the same."""
    streams, receivers = StreamListAnswer([]), ReceiverListAnswer([])
    try:
        streams = await viewer.rest.get(StreamListAnswer, "ingest", "/v1/streams")
        receivers = await viewer.rest.get(ReceiverListAnswer, "alerting", "/v1/receivers")
    except RestError:
        pass
    return KnownNames(tuple(each.name for each in streams.items), tuple(each.id for each in receivers.items))
