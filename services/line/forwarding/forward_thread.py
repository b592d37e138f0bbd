"""ForwardThread: follows what is to be forwarded, posts it in order, and keeps in the log how far it came.

The log is the buffer: what waits is as much as its topic keeps. A position is kept once the line above has everything
before it. A kill in between has some detections posted again, and the line above knows them by their ids.
"""

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from coincide.wire.fields import UNREADABLE
from coincide.wire.results.match_record import MatchRecord
from services.common.backoff import Backoff
from services.common.log.faults import LogError
from services.common.log.follower_thread import FollowerThread
from services.common.log.log import Log
from services.common.log.reader import LogReader, StoppedError
from services.common.log.records import NewRecord, Record, TopicPartition
from services.common.topics.line_topics import FORWARDED
from services.common.topics.topic_names import TopicNames
from services.line.forwarding.forward_metrics import ForwardMetrics
from services.line.forwarding.forward_settings import ForwardSettings
from services.line.forwarding.upward_items import as_detection, detections_in, match_in
from services.line.forwarding.upward_poster import Refusal, UpwardError, UpwardPoster

MOST_RECORDS, MOST_BYTES = 500, 4 * 2**20  # of the topic at once
MOST_ITEMS, MOST_ITEM_BYTES = 500, 2**20  # of a POST
MOST_HELD = 5_000  # records that wait for their turn; the oldest go before it
PAUSES_S = (0.5, 60.0)
APPEND_TIMEOUT_S = 30.0
NOT_BEGUN = "forwarding has not begun"

logger = logging.getLogger(__name__)


_decode = msgspec.json.Decoder(dict[int, int]).decode  # offsets to go on from, by partition


class Held(NamedTuple):
    """A record that is to be forwarded: from when on, as which detections, and which match it is."""

    record: Record
    due_s: float
    items: Sequence[bytes]
    match: str | None = None
    supersedes: Sequence[str] = ()


class ForwardThread(FollowerThread[LogReader]):
    """Forwards from one topic of `log`; whatever fails, it goes on from the position that the log has."""

    expected = (LogError, OSError)

    def __init__(
        self,
        log: Log,
        names: TopicNames,
        settings: ForwardSettings,
        poster: UpwardPoster,
        metrics: ForwardMetrics,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        super().__init__("forwarding")
        self._log, self._names, self._settings, self._poster = log, names, settings, poster
        self._metrics, self._clock_s = metrics, clock_s
        self._topic = names.full(settings.what)
        self._key = f"{settings.what} {settings.to}".encode()
        self._problem: str | None = NOT_BEGUN
        self._told: set[str] = set()  # reasons of refusals

    def why_not_ready(self) -> str | None:
        """Return why nothing is forwarded now; None where all goes well."""
        return self._problem if self.is_alive() else NOT_BEGUN

    def run(self) -> None:
        """Follow until stopped."""
        super().run()
        self._poster.close()

    def _connect(self) -> LogReader:
        return self._log.reader(MOST_RECORDS, MOST_BYTES)

    def _begin(self, reader: LogReader) -> None:
        """Go on from the position that is kept, or else from the first record that there is."""
        known = self._kept(reader)
        begins = reader.beginnings(reader.partitions_of(self._topic))
        self._positions = {each: max(begin, known.get(each.partition, begin)) for each, begin in begins.items()}
        self._count_expired({each: known.get(each.partition, begin) for each, begin in begins.items()})
        reader.read_from(self._positions)
        self._held: dict[TopicPartition, deque[Held]] = {each: deque() for each in begins}
        self._superseded: set[str] = set()
        self._problem = None

    def _kept(self, reader: LogReader) -> dict[int, int]:
        kept: dict[int, int] = {}
        for records in reader.whole(self._names.full(FORWARDED)):
            for each in records:
                if each.key == self._key and each.value is not None:
                    kept = _decode(each.value)
        return kept

    def _count_expired(self, wanted: dict[TopicPartition, int]) -> None:
        expired = sum(self._positions[each] - offset for each, offset in wanted.items())
        if expired:
            self._metrics.expired.inc(expired)
            logger.warning("the log deleted records before they were forwarded", extra={"records": expired})

    def _take(self, reader: LogReader, records: list[Record]) -> None:
        for each in records:
            partition = TopicPartition(each.topic, each.partition)
            self._held[partition].append(self._held_of(each))
        while batch := self._due():
            self._forward(reader, batch)

    def _held_of(self, record: Record) -> Held:
        """Return what a record is above: nothing, where it is a heartbeat, or of another query, or unreadable."""
        try:
            if self._settings.what == "detections":
                return Held(record, 0.0, [] if record.key is None else list(detections_in(record.value or b"")))
            return self._held_match(record, match_in(record.value or b""))
        except UNREADABLE:
            self._refuse([Refusal("unreadable", "a record of the log cannot be read")])
            return Held(record, 0.0, [])

    def _held_match(self, record: Record, match: MatchRecord) -> Held:
        if self._settings.queries is not None and match.query not in self._settings.queries:
            return Held(record, 0.0, [])
        item = as_detection(match, self._settings.sensor)
        if match.supersedes is msgspec.UNSET:
            return Held(record, 0.0, [item], match.id)
        self._superseded.update(match.supersedes)
        final_s = match.received_at_us / 1e6 + self._settings.final_after_s
        return Held(record, final_s, [item], match.id, match.supersedes)

    def _due(self) -> list[Held]:
        """Take what may go now, as much as a POST has; of each partition in its order."""
        now_s, batch, items = self._clock_s(), list[Held](), 0
        spare = sum(map(len, self._held.values())) - MOST_HELD
        for waiting in self._held.values():
            while waiting and items < MOST_ITEMS and (waiting[0].due_s <= now_s or len(batch) < spare):
                batch.append(waiting.popleft())
                items += len(batch[-1].items)
        return batch

    def _forward(self, reader: LogReader, batch: Sequence[Held]) -> None:
        left_out = [each for each in batch if each.match in self._superseded]
        items = [item for each in batch if each.match not in self._superseded for item in each.items]
        for some in in_posts(items):
            self._post(reader, some)
        self._metrics.superseded.inc(len(left_out))
        for each in batch:
            self._superseded.difference_update(each.supersedes)  # they stood before it
            self._positions[TopicPartition(each.record.topic, each.record.partition)] = each.record.offset + 1
        self._keep()
        self._measure(reader)

    def _post(self, reader: LogReader, items: Sequence[bytes]) -> None:
        """Post until it is answered; what waits meanwhile waits in the log. Raises `StoppedError`."""
        backoff = Backoff(*PAUSES_S)
        while True:
            try:
                refusals = self._poster.post(items)
            except UpwardError as error:
                self._note(error)
                pause_s = max(error.retry_after_s, backoff.next_s() * (0.5 + 0.5 * random.random()))  # noqa: S311
                self._measure(reader)
                if self.stopping.wait(pause_s):
                    raise StoppedError from error
                continue
            self._problem, self._fault = None, ""
            self._metrics.forwarded.inc(len(items) - len(refusals))
            self._refuse(refusals)
            return

    def _note(self, error: UpwardError) -> None:
        self._metrics.failures.inc()
        self._problem = str(error)
        if self._fault != self._problem:
            logger.warning("forwarding waits: %s", error)
        self._fault = self._problem

    def _refuse(self, refusals: Sequence[Refusal]) -> None:
        """Count what is lost above, and tell of each reason once."""
        for each in refusals:
            self._metrics.refused.labels(each.reason).inc()
            if each.reason not in self._told:
                self._told.add(each.reason)
                logger.warning("the line above refuses a detection: %s", each.detail, extra={"reason": each.reason})

    def _keep(self) -> None:
        offsets = msgspec.json.encode({each.partition: offset for each, offset in self._positions.items()})
        record = NewRecord(self._names.full(FORWARDED), self._key, offsets)
        self._log.append([record]).result(APPEND_TIMEOUT_S)

    def _measure(self, reader: LogReader) -> None:
        ends = reader.ends(self._positions)
        self._metrics.waiting.set(sum(end - self._positions[each] for each, end in ends.items()))

    def _look(self, reader: LogReader) -> None:
        self._measure(reader)

    def _lose(self, error: Exception) -> None:
        super()._lose(error)
        self._problem = str(error) if isinstance(error, LogError) else "forwarding has failed: the log says why"


def in_posts(items: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Yield detections in their order, as many as one POST has."""
    post, size = list[bytes](), 0
    for each in items:
        if post and (len(post) == MOST_ITEMS or size + len(each) > MOST_ITEM_BYTES):
            yield post
            post, size = [], 0
        post.append(each)
        size += len(each)
    if post:
        yield post
