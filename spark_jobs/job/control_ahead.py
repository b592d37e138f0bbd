"""ControlAhead: which queries a person has stopped by now, though Spark has not yet brought the record of it.

Spark plans a micro-batch before it runs, and repeats it as planned after a restart. So a record that pauses or removes
a query would wait until the batch at work has ended, however long that takes. The processor therefore looks ahead.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError

from coincide.wire.declarations.query_record import QueryRecord, decode_query
from coincide.wire.fields import UNREADABLE
from services.common.engine.fusion_settings import FusionSettings
from services.common.log.reader import StoppedError
from spark_jobs.job.status_follower import KafkaReader

logger = logging.getLogger(__name__)

PATIENCE_S = 1.0  # most batches are over by then, and cost nothing
READ_S = 2.0
POLL_S = 0.1


class ControlAhead:
    """Follows the queries topic beside Spark: before the first batch of a process, and in every batch that lasts."""

    def __init__(
        self,
        settings: FusionSettings,
        connect: Callable[[FusionSettings], KafkaReader] = KafkaReader,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._connect, self._clock_s = settings, connect, clock_s
        self._topic = settings.topic("queries")
        self._reader: KafkaReader | None = None
        self._newest: dict[str, QueryRecord] = {}
        self._looks_at_s = -float("inf")  # before the first batch at once

    def begin(self) -> None:
        """Tell that a batch begins; unless it is the first, it is given some time before anybody looks ahead."""
        if self._looks_at_s > 0:
            self._looks_at_s = self._clock_s() + PATIENCE_S

    def stopped(self) -> Mapping[str, int]:
        """Return the version by which each query was paused or removed, of those whose newest version says so."""
        if self._clock_s() >= self._looks_at_s:
            try:
                self._read()
            except KafkaError as error:
                self._leave()
                logger.warning("cannot look ahead for paused and removed queries (%s)", error)
            self._looks_at_s = self._clock_s() + PATIENCE_S
        return {id_: newest.version for id_, newest in self._newest.items() if newest.paused or newest.removed}

    def _read(self) -> None:
        """Read to the end of the topic, but not for long."""
        if self._reader is None:
            self._reader = self._connect(self._settings)
            self._reader.follow(self._topic)
        deadline_s = self._clock_s() + READ_S
        ends = self._reader.end_offsets([self._topic])
        with suppress(StoppedError):
            for records in self._reader.up_to(ends, lambda: self._clock_s() >= deadline_s, POLL_S):
                self._take(records)

    def _leave(self) -> None:
        """Close the connection; the next look makes another."""
        if self._reader is not None:
            with suppress(KafkaError):
                self._reader.__exit__(None, None, None)
        self._reader = None

    def _take(self, records: Iterable[ConsumerRecord]) -> None:
        for record in records:
            try:
                change = decode_query(record.value or b"")
            except UNREADABLE:
                continue
            if change.id not in self._newest or self._newest[change.id].version < change.version:
                self._newest[change.id] = change
