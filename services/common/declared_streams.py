"""DeclaredStreams: the streams as they are declared now, by the file of streams and by the records that change it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from coincide import Stream
from coincide.errors import QueryError
from coincide.queries import query_from_json
from coincide.wire.declarations.stream_records import StreamRecord, StreamRecordError, is_stream_key, stream_record
from services.common.log.records import Record
from services.common.settings import Streams

logger = logging.getLogger(__name__)


def _nobody(_changed: frozenset[str]) -> None:
    """Tell nobody."""


class DeclaredStreams(Mapping[str, Stream]):
    """Streams by name, and a view of the queries topic: it also knows which queries read each.

    One thread changes it, any may read it. Without a topic to follow it is what the file says.
    """

    def __init__(self, file: Streams, *, follows: bool = False) -> None:
        self._file = dict(file)
        self._declared = dict(file)
        self._records: dict[str, StreamRecord] = {}
        self._reads: dict[str, frozenset[str]] = {}  # streams by the query that reads them
        self.is_caught_up = not follows
        self.on_change: Callable[[frozenset[str]], None] = _nobody  # called with the names of changed streams

    def __getitem__(self, name: str) -> Stream:
        return self._declared[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)

    def record(self, name: str) -> StreamRecord | None:
        """Return the record that declared or removed a stream; None if the file is all that says of it."""
        return self._records.get(name)

    def version(self, name: str) -> int:
        """Return the version of the newest record of a stream; 0 if it has none."""
        known = self._records.get(name)
        return 0 if known is None else known.version

    def readers(self, name: str) -> list[str]:
        """Return the queries that read a stream, paused ones too."""
        return sorted(query for query, streams in self._reads.items() if name in streams)

    def replace(self, records: Iterable[Sequence[Record]]) -> None:
        """Begin anew with all records that there are."""
        self._records, self._reads = {}, {}
        for some in records:
            self._take(some)
        self._declare(frozenset({*self._file, *self._declared, *self._records}))
        self.is_caught_up = True

    def apply(self, records: Sequence[Record]) -> None:
        """Take what came since."""
        changed = self._take(records)
        if changed:
            self._declare(changed)

    def _take(self, records: Iterable[Record]) -> frozenset[str]:
        changed = set()
        for record in records:
            try:
                if is_stream_key(record.key):
                    changed |= self._take_stream(record)
                elif record.value is not None:
                    self._take_query(record.value)
            except (StreamRecordError, QueryError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                logger.warning("skipped a record", extra={"topic": record.topic, "fault": str(error)})
        return frozenset(changed)

    def _take_stream(self, record: Record) -> set[str]:
        if record.value is None:
            return set()
        change = stream_record(record.key, record.value)
        if change.version <= self.version(change.stream):
            return set()
        self._records = {**self._records, change.stream: change}
        return {change.stream}

    def _take_query(self, value: bytes) -> None:
        change: dict[str, Any] = msgspec.json.decode(value, type=dict[str, Any])
        reads = {id_: streams for id_, streams in self._reads.items() if id_ != change.get("id")}
        if not change.get("removed"):
            reads[str(change.get("id"))] = frozenset(query_from_json(change.get("query")).streams)
        self._reads = reads

    def _declare(self, changed: frozenset[str]) -> None:
        declared = dict(self._file)
        for name, change in self._records.items():
            declared.pop(name, None)
            if not change.removed:
                declared[name] = change.declared()
        self._declared = declared
        self.on_change(changed)
