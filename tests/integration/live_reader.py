"""Reads the live stream as a page does, coming back with the last id it has."""

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx

DEADLINE_S = 60.0


class Event(NamedTuple):
    kind: str
    data: dict[str, Any]


class LiveReader:
    """What has been read so far, over however many connections; `wanted` is the query string of /v1/live."""

    def __init__(self, wanted: str, last_event_id: str | None = None) -> None:
        self.events: list[Event] = []
        self._wanted = wanted
        self._last_event_id = last_event_id
        self._kind = ""

    def read(self, service: str, until: Callable[[list[Event]], bool]) -> None:
        """Read on from alerting's URL until the events so far are as asked for; fails when they never are."""
        deadline_s = time.monotonic() + DEADLINE_S
        headers = {"Last-Event-ID": self._last_event_id} if self._last_event_id else {}
        url = f"{service}/v1/live?{self._wanted}"
        with httpx.stream("GET", url, headers=headers, timeout=30, trust_env=False) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                assert time.monotonic() < deadline_s, f"read {DEADLINE_S} s in vain"
                self._take(line)
                if line == "" and until(self.events):
                    return

    def _take(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name == "id":
            self._last_event_id = value
        elif name == "event":
            self._kind = value
        elif name == "data":
            self.events.append(Event(self._kind, json.loads(value)))
