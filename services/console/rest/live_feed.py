"""The live stream, read once for each key and handed to every page that this key has open."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import httpx2
import msgspec

from services.console.metrics import ConsoleMetrics
from services.console.rest.documents import AlertAnswer, EpisodeAnswer, MatchAnswer, RecentAnswer, SupersededAnswer
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.services import Rest, RestError, Services, problem_sentence, reason_of

KINDS: dict[str, type[Any]] = {
    "match": MatchAnswer,
    "evidence": EvidenceAnswer,
    "superseded": SupersededAnswer,
    "episode": EpisodeAnswer,
    "episode_retracted": EpisodeAnswer,
    "alert": AlertAnswer,
}
DETECTIONS = "detections"  # the kind of what is not told live, but looked at: a `RecentAnswer`
MOST_AT_ONCE = 500
QUIET_S = 15.0  # alerting sends a comment every 5 s
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0
LINGER_S = 30.0  # a page that is opened anew finds the connection still there
LONGEST_EVENT_BYTES = 4 * 2**20

log = logging.getLogger(__name__)


class LiveEvent(NamedTuple):
    """One event: its kind, one of `KINDS` or `DETECTIONS`, and what it tells of."""

    kind: str
    body: Any


class LiveReader:
    """One page's queue; the oldest events beyond `most` are left out and counted in `left_out`."""

    def __init__(self, most: int, on_left_out: Callable[[int], object]) -> None:
        self._most, self._on_left_out = most, on_left_out
        self._waiting: deque[LiveEvent] = deque()
        self.left_out = 0

    def offer(self, event: LiveEvent) -> None:
        """Queue `event`."""
        self._waiting.append(event)
        if len(self._waiting) > self._most:
            self._waiting.popleft()
            self.left_out += 1
            self._on_left_out(1)

    def take(self) -> list[LiveEvent]:
        """Return everything that waits."""
        taken = list(self._waiting)
        self._waiting.clear()
        return taken


class EventLines:
    """Server-sent events out of bytes, a piece at a time; `last_id` is that of the newest whole event."""

    def __init__(self, last_id: str | None = None) -> None:
        self.last_id = last_id
        self._rest = b""

    def feed(self, piece: bytes) -> list[tuple[str, bytes]]:
        """Return (kind, data) of the events that end in `piece`; a `ValueError` where one is too long."""
        *whole, self._rest = (self._rest + piece.replace(b"\r\n", b"\n")).split(b"\n\n")
        if len(self._rest) > LONGEST_EVENT_BYTES:
            raise ValueError(f"an event of the live stream is longer than {LONGEST_EVENT_BYTES} bytes")
        return [event for block in whole if (event := self._read(block)) is not None]

    def _read(self, block: bytes) -> tuple[str, bytes] | None:
        fields: dict[bytes, bytes] = {}
        for line in block.split(b"\n"):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            fields[name] = fields[name] + b"\n" + value if name == b"data" and name in fields else value
        if b"id" in fields:
            self.last_id = fields[b"id"].decode()
        if b"data" not in fields:
            return None
        return fields.get(b"event", b"message").decode(), fields[b"data"]


class LiveFeed:
    """The live stream as one key sees it, kept up as long as somebody reads it. Lives on the event loop."""

    def __init__(self, rest: Rest, metrics: ConsoleMetrics, kept: int) -> None:
        self._rest, self._metrics, self._kept = rest, metrics, kept
        self._readers: set[LiveReader] = set()
        self._holders = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._lines = EventLines()
        self.is_connected = False
        self.is_refused = False  # the key is no longer valid
        self.why_away: str | None = None
        self.why_ingest_away: str | None = None
        self.unused_since_s = time.monotonic()

    @property
    def holders(self) -> int:
        """How many pages are open."""
        return self._holders

    def hold(self) -> None:
        """Keep the connection up until `release`; a page does so that says whether the services are there."""
        self._holders += 1
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._follow(), name="live stream"),
                asyncio.create_task(self._look(), name="detections"),
            ]

    def release(self) -> None:
        """Let the connection go as soon as nobody holds it."""
        self._holders -= 1
        self.unused_since_s = time.monotonic()

    def join(self) -> LiveReader:
        """Return a new reader of what comes from now on."""
        reader = LiveReader(self._kept, self._metrics.left_out.inc)
        self._readers.add(reader)
        return reader

    def leave(self, reader: LiveReader) -> None:
        """Offer nothing more to `reader`."""
        self._readers.discard(reader)

    async def close(self) -> None:
        """Disconnect."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async for kind, data in self._events():
                    pause_s = FIRST_PAUSE_S
                    self._hand_out(kind, data)
                self.why_away = "alerting ended the live stream"
            except (httpx2.HTTPError, ValueError) as error:
                self.why_away = f"alerting does not answer ({reason_of(error)})"
            except RestError as error:
                self.why_away, self.is_refused = str(error), error.status == httpx2.codes.UNAUTHORIZED
            self.is_connected = False
            self._metrics.reconnects.inc()
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311 - no secret
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _events(self) -> AsyncIterator[tuple[str, bytes]]:
        request = self._rest.request("GET", "alerting", "/v1/live", {"kind": "all"})
        request.extensions["timeout"] = httpx2.Timeout(10.0, read=QUIET_S).as_dict()
        if self._lines.last_id is not None:
            request.headers["Last-Event-ID"] = self._lines.last_id
        self._lines = EventLines(self._lines.last_id)
        answer = await self._rest.services.http.send(request, stream=True)
        try:
            if answer.status_code != httpx2.codes.OK:
                detail = problem_sentence("alerting", answer.status_code, await answer.aread())
                raise RestError(detail, answer.status_code)
            self.is_connected, self.is_refused, self.why_away = True, False, None
            async for piece in answer.aiter_bytes():
                for event in self._lines.feed(piece):
                    yield event
        finally:
            await answer.aclose()

    async def _look(self) -> None:
        """Look at what ingest took, again and again; a page that joins has asked for what was before."""
        newest: int | None = None
        while True:
            try:
                newest = await self._look_after(newest)
                self.why_ingest_away = None
            except RestError as error:
                self.why_ingest_away = str(error)
            await asyncio.sleep(self._rest.services.settings.look_every_s)

    async def _look_after(self, newest: int | None) -> int:
        wanted = {"after": newest or 0, "limit": MOST_AT_ONCE if newest is not None else 1}
        recent = await self._rest.get(RecentAnswer, "ingest", "/v1/detections", wanted)
        if newest is not None and recent.items:
            for reader in self._readers:
                reader.offer(LiveEvent(DETECTIONS, recent))
        return recent.newest

    def _hand_out(self, kind: str, data: bytes) -> None:
        self._metrics.events.inc()
        type_ = KINDS.get(kind)
        if type_ is None:
            return
        try:
            event = LiveEvent(kind, msgspec.json.decode(data, type=type_))
        except msgspec.MsgspecError as error:
            log.warning("an event of the live stream cannot be read", extra={"kind": kind, "fault": str(error)})
            return
        for reader in self._readers:
            reader.offer(event)


class LiveFeeds:
    """A feed for each key that is in use."""

    def __init__(self, services: Services, metrics: ConsoleMetrics) -> None:
        self._services, self._metrics = services, metrics
        self._feeds: dict[str | None, LiveFeed] = {}
        metrics.feeds.set_function(lambda: len(self._feeds))
        metrics.viewers.set_function(lambda: self.open_pages)

    def of_key(self, key: str | None) -> LiveFeed:
        """Return the feed of `key`."""
        feed = self._feeds.get(key)
        if feed is None:
            rest = self._services.with_key(key)
            feed = self._feeds[key] = LiveFeed(rest, self._metrics, self._services.settings.live_kept)
        return feed

    @property
    def open_pages(self) -> int:
        """How many pages are open, of all keys."""
        return sum(feed.holders for feed in self._feeds.values())

    async def close_unused(self) -> None:
        """Disconnect the feeds that nobody has read for `LINGER_S`."""
        now_s = time.monotonic()
        unused = [key for key, feed in self._feeds.items() if not feed.holders]
        for key in unused:
            if now_s - self._feeds[key].unused_since_s > LINGER_S:
                await self._feeds.pop(key).close()

    async def close(self) -> None:
        """Disconnect all."""
        for feed in self._feeds.values():
            await feed.close()
