"""From a gateway's POST to somebody's webhook, through the whole system; a silence rings nobody."""

import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from deploy.local.machine import wait_until
from deploy.local.system import System
from tests.integration.webhook_sink import SECRET, Sink, running_sink

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(300)]

PAIRS, APART_S, WITHIN_S = 20, 0.5, 60
PAIR = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 0.2, "threshold": 0.5}],
    "sensors": "different",
    "areas": ["told"],
}


@contextmanager
def arrivals(system: System, query: str) -> Iterator[dict[str, float]]:
    """When the live stream told of each match, by its first member's id, in seconds of the monotonic clock."""
    told: dict[str, float] = {}
    is_open = threading.Event()
    client = httpx.Client(timeout=httpx.Timeout(10, read=None))

    def read() -> None:
        url = f"{system.layout.url('alerting')}/v1/live"
        try:
            with client.stream("GET", url, params={"query": query, "kind": "matches"}) as answer:
                is_open.set()
                for line in answer.iter_lines():
                    if line.startswith("data:") and '"members"' in line:
                        told[json.loads(line[5:])["members"][0]["id"]] = time.monotonic()
        except httpx.HTTPError:
            return  # it was closed

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert is_open.wait(10)
    try:
        yield told
    finally:
        client.close()


@pytest.fixture
def told(system: System) -> Iterator[Sink]:
    """A webhook that hears of the query `told`, set as a new user would: by curl."""
    with running_sink() as sink:
        for name in ("told-a", "told-b"):
            sensor = {"area": "told", "streams": {"noise": {"uniform": [-0.01, 0.01]}}}
            assert system.ingest.put(f"/v1/sensors/{name}", json=sensor).status_code == 201
        receiver = {"webhook": {"url": sink.url, "secret": SECRET}, "system": False}
        assert system.alerting.put("/v1/receivers/told", json=receiver).status_code == 201
        query = {**PAIR, "alert": {"title": "Heard in {area}", "to": ["told"], "max_per_hour": 1000}}
        assert system.alerting.put("/v1/queries/told", json=query).status_code == 201
        yield sink
        assert system.alerting.delete("/v1/queries/told", headers={"If-Match": "*"}).status_code == 204
        assert system.alerting.delete("/v1/receivers/told").status_code == 204


def post_pair(system: System, name: str) -> float:
    """Post a pair of now; return when, in seconds of the monotonic clock."""
    at_us = time.time_ns() // 1000
    pair = [{"sensor": f"told-{which}", "detected_at": at_us, "id": name} for which in "ab"]
    answer = httpx.post(f"{system.layout.url('ingest')}/v1/detections", json=pair, timeout=30)
    assert answer.status_code == 202
    return time.monotonic()


def subjects(system: System) -> dict[str, str]:
    """The first member's id of each match, by the match."""
    page = system.alerting.get("/v1/matches", params={"query": "told", "limit": 1000}).json()
    return {match["id"]: match["members"][0]["id"] for match in page["items"]}


def test_a_webhook_rings_for_each_match_and_a_silence_rings_nobody(system: System, told: Sink) -> None:
    rang: dict[str, float] = {}
    posted: dict[str, float] = {}

    def ring(event: dict[str, Any]) -> None:
        rang.setdefault(event["data"]["source"], time.monotonic())

    told.on_event = ring
    with arrivals(system, "told") as live:
        assert wait_until(lambda: post_pair(system, "first") > 0 and len(rang) > 0, WITHIN_S, every_s=1)
        for nth in range(PAIRS):
            posted[f"n{nth}"] = post_pair(system, f"n{nth}")
            time.sleep(APART_S)
        assert wait_until(lambda: set(posted) <= set(live), WITHIN_S)
        assert wait_until(lambda: len(rang) >= len(subjects(system)), WITHIN_S)
        name_of = subjects(system)
        webhook_s = [at_s - posted[name] for id_, at_s in rang.items() if (name := name_of[id_]) in posted]
        live_s = [live[name] - at_s for name, at_s in posted.items()]
    assert len(webhook_s) == len(live_s) == PAIRS
    assert told.faults == []
    medians = statistics.median(webhook_s), statistics.median(live_s)
    print(f"POST to webhook p50 {medians[0]:.3f} s, to the live stream {medians[1]:.3f} s")

    until = datetime.now(UTC) + timedelta(hours=1)
    silence = {"matchers": {"area": "told"}, "until": until.isoformat(), "by": "ann", "why": "drill"}
    made = system.alerting.post("/v1/silences", json=silence)
    assert made.status_code == 201
    rung = len(told.events)
    post_pair(system, "unheard")
    assert wait_until(lambda: "unheard" in subjects(system).values(), WITHIN_S)
    alerts = "/v1/alerts?query=told&state=firing"
    assert wait_until(lambda: system.alerting.get(alerts).json()["items"][0].get("withheld") == "silence", WITHIN_S)
    assert [each for each in told.events[rung:] if each["type"].endswith("firing")] == []
    assert system.alerting.delete(f"/v1/silences/{made.json()['id']}").status_code == 204
    unheard = next(id_ for id_, name in subjects(system).items() if name == "unheard")
    assert wait_until(lambda: unheard in rang, WITHIN_S)  # it still fires, and nobody is silenced any more
    firing = [each["data"]["source"] for each in told.events if each["type"].endswith("firing")]
    assert len(set(firing)) == len(firing)
