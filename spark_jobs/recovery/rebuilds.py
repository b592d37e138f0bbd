"""Rebuilds: which were asked for, and how far the one at work is; each is the newest record of its key on a topic.

Alerting writes a rebuild that a person asks for, and fusion what becomes of it. Both may run anywhere: they share
coincide.status, which fusion follows from before Spark starts, and which alerting stores.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from coincide.wire.fields import UNREADABLE
from coincide.wire.rebuild_record import KEY_PREFIX, RebuildRecord, State, decode_rebuild
from services.common.clock import Clock, system_clock_us

MOST_KEPT = 100  # of those that are done; beyond it the oldest are forgotten

Places = Mapping[tuple[str, int], int]
"""Offsets by topic and partition."""
Write = Callable[[Sequence[tuple[bytes, bytes | None]]], None]


def _place(rebuild: RebuildRecord) -> tuple[int, int]:
    """Return how far it has come, for a comparison with what was told of it before."""
    return int(rebuild.state != "asked"), rebuild.told_at_us or 0


class Rebuilds:
    """What the topic says of rebuilds, as far as it was followed; thread-safe.

    `write` takes records of the topic, and may fail. All rebuilds that are not done are the same one: the next.
    """

    def __init__(self, write: Write, clock_us: Clock = system_clock_us) -> None:
        self._write, self._clock_us = write, clock_us
        self._lock = threading.Lock()
        self._known: dict[bytes, RebuildRecord] = {}
        self._is_asked = False

    def take(self, key: bytes, value: bytes | None) -> bool:
        """Take over a record if it is of a rebuild, and return whether it is; one that is unusable is ignored."""
        if not key.startswith(KEY_PREFIX.encode()):
            return False
        with self._lock:
            if value is None:
                self._known.pop(key, None)
                return True
            try:
                told = decode_rebuild(value)
            except UNREADABLE:
                return True
            known = self._known.get(key)
            if known is None or _place(known) <= _place(told):  # what was told before is read, too, and read again
                self._known[key] = told
        return True

    def all_taken(self) -> None:
        """Take note that the topic was read to its end: what is still asked for now has not begun."""
        with self._lock:
            self._is_asked = any(each.state == "asked" for each in self._known.values())

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for one to begin."""
        return self._is_asked

    @property
    def is_running(self) -> bool:
        """Whether one reads what was there when it began."""
        return bool(self._those("running"))

    def begin(self, begins: Places, ends: Places) -> None:
        """Tell that fusion begins anew: it reads these offsets of detections, from `begins` up to (open) `ends`."""
        now_us = self._clock_us()
        began = {
            "state": "running",
            "began_at_us": now_us,
            "told_at_us": now_us,
            "records": sum(max(0, end - begins[place]) for place, end in ends.items()),
            "read": 0,
            "ends": {str(partition): end for (_, partition), end in ends.items()},
            "failure": None,
        }
        waiting = self._those("asked", "running")
        waiting = waiting or [RebuildRecord(id=f"b-{uuid.uuid4().hex}", state="asked")]
        self._tell([replace(each, **began) for each in waiting], self._forgotten())
        self._is_asked = False

    def reached(self, unread: Callable[[Mapping[str, int]], int | None]) -> None:
        """Tell how far the one at work is; `unread` says how many records before these ends are still to be read.

        It says None where it does not know that yet.
        """
        told = []
        for each in self._those("running", "failed"):  # which went on, if it was the last that began
            if each.began_at_us != self._last_began_at_us() or (left := unread(each.ends)) is None:
                continue
            state = "running" if left else "done"
            read = min(each.records, max(each.read, each.records - left))
            told.append(replace(each, state=state, read=read, told_at_us=self._clock_us(), failure=None))
        if told:
            self._tell(told)

    def failed(self, failure: str) -> None:
        """Tell that the one at work has failed: fusion waits for a person, who may ask for another one."""
        now_us = self._clock_us()
        if failing := self._those("running"):
            self._tell([replace(each, state="failed", told_at_us=now_us, failure=failure) for each in failing])

    def _those(self, *states: State) -> list[RebuildRecord]:
        with self._lock:
            return [each for each in self._known.values() if each.state in states]

    def _last_began_at_us(self) -> int | None:
        with self._lock:
            return max((each.began_at_us or 0 for each in self._known.values()), default=None)

    def _forgotten(self) -> list[bytes]:
        done = self._those("done", "failed")
        done.sort(key=lambda each: each.began_at_us or 0)
        return [each.key for each in done[: max(0, len(done) - MOST_KEPT + 1)]]

    def _tell(self, told: Sequence[RebuildRecord], forgotten: Sequence[bytes] = ()) -> None:
        tombstones: list[tuple[bytes, bytes | None]] = [(key, None) for key in forgotten]
        self._write([*((each.key, msgspec.json.encode(each)) for each in told), *tombstones])
        with self._lock:
            self._known.update({each.key: each for each in told})
            for key in forgotten:
                self._known.pop(key, None)
