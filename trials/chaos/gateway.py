"""A gateway: it hears events, keeps what is not acknowledged, and posts it again in order, now and then twice."""

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx2

from services.common.clock import system_clock_us
from trials.chaos.ledger import Ledger

Item = dict[str, Any]

MICROPHONES = "abc"
EVERY_S = 0.5
MOST_A_POST = 500
SPREAD_US = 70_000  # of what the microphones of one area report of one event
MOST_AHEAD_US = 300_000_000  # what ingest accepts unless its settings say otherwise
ODD_ONE_IN = 20  # POSTs that are sent twice, and others that change places with the next one
PATIENCE_S = 60.0  # with what is left at the end
_TIMEOUT_S = 10.0
_PAUSE_S = 1.0


def microphone(area: str, letter: str, group: int = 0) -> str:
    """Return the name of a microphone; those of an area's first group have no number."""
    return f"{area}-{letter}{group or ''}"


@dataclass
class Gateway:
    """The microphones of one area; `run` until `ended` is set and all that was heard is acknowledged."""

    url: str
    area: str
    ledger: Ledger
    random: Random
    events_hz: float
    groups: int = 1  # of microphones; one of them hears an event
    headers: Mapping[str, str] = field(default_factory=dict)  # its key, where ingest asks for one
    clock_us: int = 0  # how far its clock is ahead
    ended: threading.Event = field(default_factory=threading.Event)
    backlog: deque[list[Item]] = field(default_factory=deque)
    _heard: int = 0

    def run(self) -> None:
        """Hear and post until the end; then post what is left."""
        with httpx2.Client(base_url=self.url, timeout=_TIMEOUT_S, headers=self.headers) as client:
            due_s = time.monotonic()
            while not self.ended.is_set():
                self.backlog.append(self.hear(EVERY_S))
                self._swap_now_and_then()
                self._post_backlog(client)
                due_s = max(due_s + EVERY_S, time.monotonic() - EVERY_S)
                self.ended.wait(max(0.0, due_s - time.monotonic()))
            give_up_s = time.monotonic() + PATIENCE_S
            while self.backlog and time.monotonic() < give_up_s:
                self._post_backlog(client)

    def hear(self, seconds: float) -> list[Item]:
        """Return what the microphones report of the events of the last ``seconds``."""
        whole, part = divmod(self.events_hz * seconds, 1)
        count = int(whole) + (self.random.random() < part)
        long_us = round(seconds * 1e6)
        begun_us = system_clock_us() - long_us
        return [item for _ in range(count) for item in self._event(begun_us + self.random.randrange(long_us))]

    def _event(self, at_us: int) -> list[Item]:
        self._heard += 1
        group = self.random.randrange(self.groups)
        heard_by = self.random.sample(MICROPHONES, k=self.random.choice((2, 3)))
        return [
            {
                "sensor": microphone(self.area, each, group),
                "detected_at": at_us + self.clock_us + round(self.random.gauss(0, SPREAD_US)),
                "id": f"{self._heard}",
            }
            for each in heard_by
        ]

    def _swap_now_and_then(self) -> None:
        if len(self.backlog) > 1 and self.random.randrange(ODD_ONE_IN) == 0:
            self.backlog[0], self.backlog[1] = self.backlog[1], self.backlog[0]

    def _post_backlog(self, client: httpx2.Client) -> None:
        while self.backlog:
            batch = self.backlog.popleft()
            while self.backlog and len(batch) + len(self.backlog[0]) <= MOST_A_POST:
                batch = batch + self.backlog.popleft()
            if left := self.posted(client, batch):
                self.backlog.appendleft(left)
                time.sleep(_PAUSE_S)
                return
            if self.random.randrange(ODD_ONE_IN) == 0:
                self.posted(client, batch)

    def posted(self, client: httpx2.Client, batch: list[Item]) -> list[Item]:
        """Post once and return what must be posted again."""
        try:
            answer = client.post("/v1/detections", json=batch) if batch else None
        except httpx2.HTTPError:
            self.ledger.answer("no answer")
            return batch
        if answer is None:
            return []
        self.ledger.answer(str(answer.status_code))
        if answer.status_code not in {202, 422}:
            return batch
        return [batch[each["index"]] for each in answer.json()["detections"] if not self._is_settled(batch, each)]

    def _is_settled(self, batch: list[Item], verdict: Item) -> bool:
        item = batch[verdict["index"]]
        if verdict["status"] == "accepted":
            self.ledger.acknowledge(item)
            return True
        is_own_fault = item["detected_at"] > system_clock_us() + MOST_AHEAD_US
        if is_own_fault or not verdict["retryable"]:
            self.ledger.refuse(verdict["reason"])
        return is_own_fault or not verdict["retryable"]
