"""coincide.keys: a compacted topic of one partition, keyed by key id, which every component follows; null revokes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from services.common.access.access_keys import KEYS, AccessKey, KeyRing, key_in
from services.common.log.records import Record
from services.common.topics.compacted_topic import read_whole
from services.common.topics.log_clients import LogClients

log = logging.getLogger(__name__)


def present_keys(clients: LogClients) -> dict[str, AccessKey]:
    """Return every valid key by its id; raises what the reader raises."""
    return _valid(read_whole(clients.reader, clients.names.full(KEYS)))


def _valid(records: Iterable[list[Record]]) -> dict[str, AccessKey]:
    changes: dict[str, AccessKey | None] = {}
    for some in records:
        changes |= changes_in(some)
    return {id_: key for id_, key in changes.items() if key is not None}


def changes_in(records: Iterable[Record]) -> dict[str, AccessKey | None]:
    """Return the newest of each key, None for a revoked one; a record that is no key revokes the one of its id."""
    newest: dict[str, AccessKey | None] = {}
    for record in records:
        id_ = (record.key or b"").decode("utf-8", "replace")
        newest[id_] = None
        if record.value is not None:
            try:
                key = key_in(record.value)
            except (ValueError, RecursionError) as error:
                log.warning("a record of the keys is no key", extra={"offset": record.offset, "fault": str(error)})
            else:
                newest[id_] = key if key.id == id_ else None
    return newest


class KeysView:
    """Keeps `ring` equal to the topic; `on_none` is called when the topic was read and there is no key."""

    def __init__(self, ring: KeyRing, on_none: Callable[[], object]) -> None:
        self._ring, self._on_none = ring, on_none

    def replace(self, records: Iterable[list[Record]]) -> None:
        """Begin anew with all keys that there are."""
        keys = _valid(records)
        self._ring.replace(keys)
        if not keys:
            self._on_none()

    def apply(self, records: list[Record]) -> None:
        """Take what came since."""
        self._ring.apply(changes_in(records))
