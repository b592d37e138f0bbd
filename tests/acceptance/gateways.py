"""Gateways: several clients that post at the same time, and send again what was not acknowledged."""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx2

COUNT = 4
AGAIN_S = 0.1  # after which a batch is sent again that nobody answered
ROUND = 40  # detections that the gateways post together before any goes on: so far they may drift apart,
ROUND_SPAN_US = 90_000_000  # and so far in time: which of a round's POSTs is first decides nothing about lateness


class Answer(NamedTuple):
    """What a POST was answered: the HTTP status and the items' (sensor, id, status) as far as they were listed."""

    status: int
    items: list[tuple[str, str | None, str]]


@dataclass
class Gateways:
    url: str
    times: int = 1  # that each batch is posted, answers notwithstanding
    patience_s: float = 90.0  # for which a batch is sent again before the test fails
    answers: list[Answer] = field(default_factory=list)  # so far, refusals included

    def post(self, items: Sequence[dict[str, Any]]) -> list[str]:
        """Post everything and return the accepted ids, in the order of ``items``."""
        with ExitStack() as stack, ThreadPoolExecutor(COUNT) as pool:
            clients = [stack.enter_context(httpx2.Client(base_url=self.url, timeout=60.0)) for _ in range(COUNT)]
            return [id_ for together in rounds(items) for id_ in self._round(pool, clients, together)]

    def _round(self, pool: ThreadPoolExecutor, clients: list[httpx2.Client], items: list[dict[str, Any]]) -> list[str]:
        """Deal the items out to the gateways, which post their batches at the same time."""
        batches = [items[i::COUNT] for i in range(COUNT) if items[i::COUNT]]
        answered = list(pool.map(self._deliver, clients, batches))
        return [answered[i % COUNT][i // COUNT] for i in range(len(items))]

    def _deliver(self, client: httpx2.Client, batch: list[dict[str, Any]]) -> list[str]:
        answers = [self._until_accepted(client, batch) for _ in range(self.times)]
        assert all(ids == answers[0] for ids in answers), "the same batch was given other ids the second time"
        return answers[0]

    def _until_accepted(self, client: httpx2.Client, batch: list[dict[str, Any]]) -> list[str]:
        give_up_s = time.monotonic() + self.patience_s
        while True:
            assert time.monotonic() < give_up_s, f"not accepted within {self.patience_s} s: {self.answers[-1:]}"
            try:
                response = client.post("/v1/detections", json=batch)
            except httpx2.TransportError:  # ingest is just being restarted
                time.sleep(AGAIN_S)
                continue
            verdicts = response.json().get("detections", [])
            items = [(batch[each["index"]]["sensor"], each.get("id"), each["status"]) for each in verdicts]
            self.answers.append(Answer(response.status_code, items))
            if response.status_code == 202:
                assert [each["status"] for each in verdicts] == ["accepted"] * len(batch), verdicts
                return [each["id"] for each in verdicts]
            assert response.status_code == 503, response.text
            time.sleep(float(response.headers["Retry-After"]))


def rounds(items: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Cut the items into rounds of at most ``ROUND`` that span at most ``ROUND_SPAN_US``."""
    together: list[dict[str, Any]] = []
    for item in items:
        times_us = [each["detected_at"] for each in (*together, item)]
        if len(together) == ROUND or max(times_us) - min(times_us) > ROUND_SPAN_US:
            yield together
            together = []
        together.append(item)
    if together:
        yield together
