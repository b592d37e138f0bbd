"""A gateway of the fault suite: what it writes into the ledger, and what it posts again."""

import threading
from random import Random
from typing import Any

import httpx2
import pytest

from services.common.clock import system_clock_us
from trials.chaos.gateway import Gateway
from trials.chaos.ledger import Ledger

HOUR_US = 3_600_000_000


def item(id_: str, ahead_us: int = 0) -> dict[str, Any]:
    return {"sensor": "yard-a", "detected_at": system_clock_us() + ahead_us, "id": id_}


def verdict(index: int, reason: str | None = None, *, retryable: bool = False) -> dict[str, Any]:
    status = "accepted" if reason is None else "refused"
    return {"index": index, "status": status, "reason": reason, "retryable": retryable}


@pytest.fixture
def gateway() -> Gateway:
    return Gateway("http://ingest", "yard", Ledger(), Random(1), events_hz=10.0)


def answered(gateway: Gateway, batch: list[dict[str, Any]], answer: httpx2.Response | Exception) -> list[str]:
    """Post once, and return the ids of what the gateway keeps."""

    def answer_with(_: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with httpx2.Client(base_url=gateway.url, transport=httpx2.MockTransport(answer_with)) as client:
        return [each["id"] for each in gateway.posted(client, batch)]


@pytest.mark.parametrize("answer", [httpx2.ConnectError("away"), httpx2.ReadTimeout("slow"), httpx2.Response(503)])
def test_what_is_not_acknowledged_is_kept_and_not_in_the_ledger(
    gateway: Gateway, answer: httpx2.Response | Exception
) -> None:
    assert answered(gateway, [item("1"), item("2")], answer) == ["1", "2"]
    assert gateway.ledger.acknowledged == {}


def test_each_item_is_acknowledged_kept_or_given_up(gateway: Gateway) -> None:
    batch = [item("good"), item("unknown"), item("wrong"), item("own fault", HOUR_US), item("clock of the host")]
    verdicts = [
        verdict(0),
        verdict(1, "unknown_sensor", retryable=True),
        verdict(2, "bad_time"),
        verdict(3, "in_the_future", retryable=True),
        verdict(4, "in_the_future", retryable=True),
    ]
    kept = answered(gateway, batch, httpx2.Response(202, json={"detections": verdicts}))
    assert kept == ["unknown", "clock of the host"]
    assert gateway.ledger.acknowledged == {("yard-a", "good"): batch[0]["detected_at"]}
    assert gateway.ledger.refused == {"bad_time": 1, "in_the_future": 1}


def test_it_posts_until_all_that_it_heard_is_acknowledged(monkeypatch: pytest.MonkeyPatch, gateway: Gateway) -> None:
    """Every second POST fails after it was taken, as when the answer is lost."""
    taken: list[list[dict[str, Any]]] = []

    def posted(_: httpx2.Client, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        taken.append(batch)
        if len(taken) % 2:
            return batch
        for each in batch:
            gateway.ledger.acknowledge(each)
        return []

    monkeypatch.setattr("trials.chaos.gateway.EVERY_S", 0.01)
    monkeypatch.setattr("trials.chaos.gateway._PAUSE_S", 0.0)
    monkeypatch.setattr(gateway, "posted", posted)
    gateway.events_hz = 1_000.0
    thread = threading.Thread(target=gateway.run)
    thread.start()
    while len(taken) < 20:
        thread.join(0.01)
    gateway.ended.set()
    thread.join(30)
    heard = {(each["sensor"], each["id"]): each["detected_at"] for batch in taken for each in batch}
    assert gateway.ledger.acknowledged == heard
    assert not gateway.backlog
