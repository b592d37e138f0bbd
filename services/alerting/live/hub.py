"""The live hub: it hands new matches, evidence, episodes and alerts to the readers whose filters they pass."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from services.alerting.metrics import Metrics
from services.alerting.store.alert_rows import AlertFilter, StoredAlert
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.evidence_rows import EvidenceFilter, StoredEvidence
from services.alerting.store.live_rows import RowFilters, StoredRow
from services.alerting.store.match_rows import MatchFilter, StoredMatch
from services.common.http.shares import Shares

Kind = Literal["matches", "episodes", "alerts", "all"]


@dataclass(frozen=True)
class LiveFilter:
    """Which matches, episodes and alerts a reader wants; None asks for all, and so does naming no query.

    Who wants matches wants their evidence.
    """

    queries: tuple[str, ...] = ()
    area: str | None = None
    with_superseded: bool = False
    kind: Kind = "matches"

    def wants(self, row: StoredRow) -> bool:
        """Whether `row` makes an event; a match that is not shown itself may still take back others."""
        if (self.queries and row.query not in self.queries) or self.area not in (None, row.area):
            return False
        if isinstance(row, StoredMatch):
            return self.kind in ("matches", "all") and (self.shows(row) or bool(row.supersedes))
        if isinstance(row, StoredEvidence):
            return self.kind in ("matches", "all")
        return self.kind in ("alerts" if isinstance(row, StoredAlert) else "episodes", "all")

    def shows(self, match: StoredMatch) -> bool:
        """Whether `match` itself is sent, if it passes the filter."""
        return self.with_superseded or match.superseded_by is None

    def row_filters(self) -> list[RowFilters]:
        """Return the filters for the database, of each query."""
        return [self._filters_of(query) for query in self.queries or (None,)]

    def _filters_of(self, query: str | None) -> RowFilters:
        with_matches = self.kind in ("matches", "all")
        return RowFilters(
            MatchFilter(query=query, area=self.area) if with_matches else None,
            EvidenceFilter(query=query, area=self.area) if with_matches else None,
            EpisodeFilter(query=query, area=self.area) if self.kind in ("episodes", "all") else None,
            AlertFilter(query=query, area=self.area) if self.kind in ("alerts", "all") else None,
        )


class Reader:
    """One reader of the live stream; the hub offers it new rows once it has caught up with the database."""

    def __init__(self, filter_: LiveFilter, queue_max: int, peer: str | None = None) -> None:
        self.filter, self.peer = filter_, peer
        self._queue_max = queue_max
        self._queue: list[StoredRow] = []
        self._woken = asyncio.Event()
        self.has_until = 0
        self.has_ended = False
        self.too_slow = asyncio.Event()

    def offer(self, rows: Sequence[StoredRow]) -> None:
        """Queue the `rows` that pass the filter; a full queue marks the reader as too slow."""
        self._queue.extend(each for each in rows if each.sequence > self.has_until and self.filter.wants(each))
        if len(self._queue) > self._queue_max:
            self._queue.clear()
            self.too_slow.set()
        self._woken.set()

    def end(self) -> None:
        """Let the stream end after the queued rows."""
        self.has_ended = True
        self._woken.set()

    async def next(self) -> list[StoredRow]:
        """Return everything queued, waiting for the first; empty when the stream ends."""
        while not self._queue and not self.has_ended:
            self._woken.clear()
            await self._woken.wait()
        queued, self._queue = self._queue, []
        return queued


class LiveHub:
    """The readers of the live stream; lives on the event loop, so that nothing here needs a lock.

    `newest_sequence` is that of the last thing handed over. A reader who has read the database up to there can
    join without missing any, as long as nothing is awaited between the comparison and `join`; what it read before
    it was handed over is left out, so that nothing comes twice. Whoever reads a page of the database holds one of
    `replays` meanwhile: however many catch up, lists and changes find threads, connections and time.
    """

    def __init__(self, metrics: Metrics, readers_max: int, queue_max: int, replays_max: int = 1) -> None:
        self._metrics = metrics
        self._seats = Shares(readers_max, "readers of the live stream")
        self._queue_max = queue_max
        self._seated: set[Reader] = set()
        self._joined: set[Reader] = set()
        self._closed = False
        self.replays = asyncio.Semaphore(replays_max)
        self.newest_sequence = 0

    def publish(self, rows: Sequence[StoredRow]) -> None:
        """Offer `rows`, in order of sequence, to every reader who has joined."""
        self.newest_sequence = rows[-1].sequence
        for reader in self._joined:
            reader.offer(rows)

    def seat(self, filter_: LiveFilter, peer: str | None = None) -> Reader:
        """Return a new reader, who is offered nothing before it joins, or raise `NoPlaceError`."""
        self._seats.take(peer)
        reader = Reader(filter_, self._queue_max, peer)
        if self._closed:
            reader.end()
        self._seated.add(reader)
        self._metrics.live_readers.set(len(self._seated))
        return reader

    def join(self, reader: Reader, has_until: int) -> None:
        """Offer to `reader` all rows from now on; it already has those up to the sequence `has_until`."""
        reader.has_until = has_until
        self._joined.add(reader)

    def leave(self, reader: Reader) -> None:
        """Offer nothing more to `reader` and give its seat to another."""
        self._joined.discard(reader)
        if reader in self._seated:
            self._seated.remove(reader)
            self._seats.leave(reader.peer)
        self._metrics.live_readers.set(len(self._seated))

    def close(self) -> None:
        """End every stream, present and future: the service is stopping."""
        self._closed = True
        for reader in self._seated:
            reader.end()
