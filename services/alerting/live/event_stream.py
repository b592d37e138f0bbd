"""One live stream: first the missed rows from the database, then new ones from the hub; no gap, and no row twice."""

import json
from collections.abc import AsyncIterator, Sequence

from sqlalchemy import Engine
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from services.alerting.live.hub import LiveFilter, LiveHub, Reader
from services.alerting.metrics import Metrics
from services.alerting.store.alert_rows import StoredAlert
from services.alerting.store.episode_rows import StoredEpisode, episode_body
from services.alerting.store.evidence_rows import StoredEvidence
from services.alerting.store.live_rows import StoredRow, newest_sequence, read_page
from services.alerting.store.match_rows import StoredMatch, match_body
from services.common.access.caller import caller_in


def events_of(match: StoredMatch, is_shown: bool) -> str:
    """Return the events of `match`, at least one: first those that take back other matches, then the match itself.

    The id stands with the last event, so that a reader who was cut off before it gets all of them again.
    """
    taken_back = [
        f"event: superseded\ndata: {json.dumps({'id': id_, 'superseded_by': match.id})}\n\n" for id_ in match.supersedes
    ]
    if is_shown:
        body = match_body(match.body, match.superseded_by, match.evidence)
        return f"{''.join(taken_back)}id: {match.sequence}\nevent: match\ndata: {body}\n\n"
    return f"{''.join(taken_back[:-1])}id: {match.sequence}\n{taken_back[-1]}"


def event_of(row: StoredEvidence | StoredEpisode | StoredAlert) -> str:
    """Return the event of evidence, of an episode or alert as it is now, or of the episode's retraction."""
    body = episode_body(row.body, row.evidence) if isinstance(row, StoredEpisode) else row.body
    return f"id: {row.sequence}\nevent: {_kind(row)}\ndata: {body}\n\n"


def _kind(row: StoredEvidence | StoredEpisode | StoredAlert) -> str:
    if isinstance(row, StoredEpisode):
        return "episode_retracted" if row.is_retracted else "episode"
    return "alert" if isinstance(row, StoredAlert) else "evidence"


RETRY_MS = 1_000
STOP_GRACE_S = 2.0


class TooSlowError(Exception):
    """A reader let too much wait."""


class LiveStream(EventSourceResponse):
    """The response to a reader who has all up to the sequence `after` (None: who begins now)."""

    def __init__(
        self,
        filter_: LiveFilter,
        after: int | None,
        hub: LiveHub,
        engine: Engine,
        metrics: Metrics,
        *,
        heartbeat_s: float,
        send_timeout_s: float,
    ) -> None:
        super().__init__(
            self._pieces(),
            ping=heartbeat_s,
            ping_message_factory=lambda: ServerSentEvent(comment="quiet", sep="\n"),
            send_timeout=send_timeout_s,
            data_sender_callable=self._raise_when_too_slow,
            shutdown_grace_period=STOP_GRACE_S,  # without it the stream may be cut off before the hub has ended it
        )
        self._filter = filter_
        self._after = after
        self._hub = hub
        self._engine = engine
        self._metrics = metrics
        self._reader: Reader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the reader leaves, is too slow, or the service stops."""
        self._reader = self._hub.seat(self._filter, caller_in(scope).peer)
        try:
            await super().__call__(scope, receive, send)
        except (TooSlowError, SendTimeoutError):
            self._metrics.live_dropped.inc()  # it comes back with its Last-Event-ID and misses nothing
        finally:
            self._hub.leave(self._reader)

    async def _raise_when_too_slow(self) -> None:
        await self._reader.too_slow.wait()
        raise TooSlowError

    async def _pieces(self) -> AsyncIterator[bytes]:
        after = self._hub.newest_sequence if self._after is None else self._after
        if self._after is None:
            self._hub.join(self._reader, after)
        yield f": open\nid: {after}\nretry: {RETRY_MS}\n\n".encode()  # no data: sets the reader's id, is no event
        if self._after is not None:
            async for rows in self._catch_up():
                yield self._encoded(rows)
        while rows := await self._reader.next():
            yield self._encoded(rows)

    async def _catch_up(self) -> AsyncIterator[list[StoredRow]]:
        after = self._after or 0
        while True:
            async with self._hub.replays:  # those who wait have their turns one after the other, a page each
                if self._reader.has_ended:
                    return
                rows, upto = await run_in_threadpool(self._read, after)
            self._metrics.live_replayed.inc(len(rows))
            if rows:
                yield rows
            after = upto
            if upto >= self._hub.newest_sequence and not rows:
                self._hub.join(self._reader, upto)  # nothing was awaited since the comparison
                return

    def _read(self, after: int) -> tuple[list[StoredRow], int]:
        """Return what comes next after `after`, and the sequence up to which there is nothing else."""
        handed_over = self._hub.newest_sequence  # all up to there was stored, though it may be too old by now
        with self._engine.connect() as connection:
            newest = max(handed_over, newest_sequence(connection))
            if after > newest:
                after = 0  # an id of another database: rather send again than miss one
            return read_page(connection, self._filter.row_filters(), after, newest)

    def _encoded(self, rows: Sequence[StoredRow]) -> bytes:
        wanted = [each for each in rows if self._filter.wants(each)]
        shown = [isinstance(each, StoredMatch) and self._filter.shows(each) for each in wanted]
        self._metrics.live_sent.inc(sum(shown))
        self._metrics.live_evidence_sent.inc(sum(isinstance(each, StoredEvidence) for each in wanted))
        self._metrics.live_episodes_sent.inc(sum(isinstance(each, StoredEpisode) for each in wanted))
        self._metrics.live_alerts_sent.inc(sum(isinstance(each, StoredAlert) for each in wanted))
        texts = (
            events_of(each, is_shown) if isinstance(each, StoredMatch) else event_of(each)
            for each, is_shown in zip(wanted, shown, strict=True)
        )
        return "".join(texts).encode()
