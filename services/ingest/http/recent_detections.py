"""GET /v1/detections: what this process took last, for whoever looks on; nobody's archive."""

import math
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from services.ingest.http.sensors_api import PlaceBody
from services.ingest.publishing.frame import Frame

LIMIT_MAX = 5000
MOST_BYTES = 16 * 1024 * 1024


class KeptFrame(NamedTuple):
    """A frame and the numbers of its detections: [first, last]."""

    first: int
    last: int
    value: bytes


class RecentDetections:
    """The frames that Kafka acknowledged last, undecoded: at most `most` detections, and `MOST_BYTES`.

    Detections are numbered from 1 on in the order in which they were acknowledged, anew in each process.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._frames: deque[KeptFrame] = deque()
        self._bytes = 0
        self.newest = 0

    def keep(self, frame: Frame) -> None:
        """Take a frame; the oldest give way."""
        first, self.newest = self.newest + 1, self.newest + len(frame.indices)
        self._frames.append(KeptFrame(first, self.newest, frame.value))
        self._bytes += len(frame.value)
        while self._frames and (self._frames[0].last <= self.newest - self._most or self._bytes > MOST_BYTES):
            self._bytes -= len(self._frames.popleft().value)

    def after(self, number: int, limit: int) -> "RecentBody":
        """Return the detections after `number`, evenly thinned out to `limit`; the newest is always one of them."""
        number = number if number <= self.newest else 0  # of a process that is no more
        stride = max(1, math.ceil((self.newest - number) / limit))
        first = number + 1 + (self.newest - number - 1) % stride
        rows = [row for frame in self._frames if frame.last >= first for row in _rows_of(frame, first, stride)]
        templates = {each.template: each.histogram for each in rows}
        return RecentBody(
            items=[each.body for each in rows],
            templates=templates,
            newest=self.newest,
            left_out=self.newest - number - len(rows),
        )


class _Row(NamedTuple):
    body: "RecentDetection"
    template: str
    histogram: Any


def _rows_of(frame: KeptFrame, first: int, stride: int) -> Iterator[_Row]:
    """Yield every `stride`-th detection from number `first` on."""
    begin = first if first >= frame.first else frame.first + (first - frame.first) % stride
    wanted = range(begin, frame.last + 1, stride)
    if not wanted:
        return
    content = msgspec.json.decode(frame.value)
    columns, stamps = content["detections"], content["stamps"]
    for each in wanted:
        at = each - frame.first
        stamp = stamps[columns["stamp"][at]]
        body = RecentDetection(
            number=each,
            area=content["area"],
            sensor=stamp["sensor"],
            stream=stamp["stream"],
            id=columns["id"][at],
            detected_at_us=columns["detected_at_us"][at],
            received_at_us=content["received_at_us"],
            template=stamp["template"],
            place=stamp.get("place"),
            attributes=columns["attributes"][at] if "attributes" in columns else {},
        )
        yield _Row(body, stamp["template"], content["templates"][stamp["template"]])


class RecentDetection(BaseModel):
    """A detection that was taken."""

    number: int = Field(description="grows by 1 with each that this process took")
    area: str
    sensor: str
    stream: str
    id: str
    detected_at_us: int
    received_at_us: int
    template: str = Field(description="id of its template")
    place: PlaceBody | None = Field(None, description="where its sensor was; null where that is not known")
    attributes: dict[str, Any]


class RecentBody(BaseModel):
    """What was taken last, the newest last."""

    items: list[RecentDetection]
    templates: dict[str, Any] = Field(description="edges_s and mass of every template named, by its id")
    newest: int = Field(description="number of the newest detection taken: ask with it as `after` for what comes next")
    left_out: int = Field(description="how many after `after` are not listed: too many at once, or kept no longer")


class RecentParameters(BaseModel):
    """Which detections."""

    model_config = ConfigDict(extra="forbid")

    after: int = Field(0, ge=0, le=2**63 - 1, description="Only detections with a greater number.")
    limit: int = Field(1000, ge=1, le=LIMIT_MAX, description="If there are more, every second, third, ... is listed.")


def recent_detections_router(recent: RecentDetections) -> APIRouter:
    """Return the route that shows what was taken last."""
    router = APIRouter(prefix="/v1/detections", tags=["detections"])

    @router.get("", summary="Detections that were taken last")
    async def list_recent(wanted: Annotated[RecentParameters, Query()]) -> RecentBody:
        """Return the detections that this process handed to Kafka last; another replica, or a restart, has others.

        For looking on, not for counting: the archive keeps all.
        """
        return recent.after(wanted.after, wanted.limit)

    return router
