"""From a gateway's POST to somebody's webhook, through the whole system; a silence rings nobody."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx2
import pytest

from deploy.local.system import System
from services.demo.programme import applied_query
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.on_lines import on_both_whole
from tests.patience import until

pytestmark = on_both_whole

PAIRS = 20
APART_US = 500_000  # so that each pair matches alone
PAIR = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 0.2, "threshold": 0.5}],
    "sensors": "different",
    "areas": ["told"],
}


@contextmanager
def arrivals(system: System, query: str) -> Iterator[list[str]]:
    """Of which matches the live stream told, by their first members' ids, in its order."""
    told: list[str] = []
    is_open = threading.Event()
    client = httpx2.Client(timeout=httpx2.Timeout(10, read=None))

    def read() -> None:
        url = f"{system.layout.url('alerting')}/v1/live"
        try:
            with client.stream("GET", url, params={"query": query, "kind": "matches"}) as answer:
                is_open.set()
                data = (json.loads(line[5:]) for line in answer.iter_lines() if line.startswith("data:"))
                told.extend(each["members"][0]["id"] for each in data if "members" in each)
        except httpx2.HTTPError:
            return  # it was closed

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    assert is_open.wait(10)
    try:
        yield told
    finally:
        client.close()


@pytest.fixture
def told(whole: System) -> Iterator[Sink]:
    """A webhook that hears of the query `told`, set as a new user would: by curl."""
    with running_sink() as sink:
        for name in ("told-a", "told-b"):
            sensor = {"area": "told", "streams": {"noise": {"uniform": [-0.01, 0.01]}}}
            assert whole.ingest.put(f"/v1/sensors/{name}", json=sensor).status_code == 201
        receiver = {"webhook": {"url": sink.url, "secret": SECRET}, "system": False}
        assert whole.alerting.put("/v1/receivers/told", json=receiver).status_code == 201
        query = {**PAIR, "alert": {"title": "Heard in {area}", "to": ["told"], "max_per_hour": 1000}}
        assert whole.alerting.put("/v1/queries/told", json=query).status_code == 201
        applied_query(whole, "told")
        yield sink
        assert whole.alerting.delete("/v1/queries/told", headers={"If-Match": "*"}).status_code == 204
        assert whole.alerting.delete("/v1/receivers/told", headers={"If-Match": "*"}).status_code == 204


def post_pair(system: System, name: str, at_us: int) -> None:
    pair = [{"sensor": f"told-{which}", "detected_at": at_us, "id": name} for which in "ab"]
    answer = httpx2.post(f"{system.layout.url('ingest')}/v1/detections", json=pair, timeout=30)
    assert answer.status_code == 202


def subjects(system: System) -> dict[str, str]:
    """The first member's id of each match, by the match."""
    page = system.alerting.get("/v1/matches", params={"query": "told", "limit": 1000}).json()
    return {match["id"]: match["members"][0]["id"] for match in page["items"]}


def test_a_webhook_rings_for_each_match_and_a_silence_rings_nobody(whole: System, told: Sink) -> None:
    def rang() -> list[str]:
        return [each["data"]["source"] for each in told.events if each["type"].endswith("firing")]

    names = [f"n{nth}" for nth in range(PAIRS)]
    times_us = count(time.time_ns() // 1000 - (PAIRS + 1) * APART_US, APART_US)
    with arrivals(whole, "told") as live:
        for name in names:
            post_pair(whole, name, next(times_us))
        until(lambda: live == names)
        until(lambda: len(rang()) == PAIRS)
    name_of = subjects(whole)
    assert [name_of[id_] for id_ in rang()] == names
    assert told.faults == []

    ends = datetime.now(UTC) + timedelta(hours=1)
    silence = {"matchers": {"area": "told"}, "until": ends.isoformat(), "by": "ann", "why": "drill"}
    made = whole.alerting.post("/v1/silences", json=silence)
    assert made.status_code == 201
    post_pair(whole, "unheard", next(times_us))
    until(lambda: "unheard" in subjects(whole).values())
    alerts = "/v1/alerts?query=told&state=firing"
    until(lambda: whole.alerting.get(alerts).json()["items"][0].get("withheld") == "silence")
    assert len(rang()) == PAIRS
    assert whole.alerting.delete(f"/v1/silences/{made.json()['id']}", headers={"If-Match": "*"}).status_code == 204
    unheard = next(id_ for id_, name in subjects(whole).items() if name == "unheard")
    until(lambda: unheard in rang())  # it still fires, and nobody is silenced any more
    assert len(set(rang())) == len(rang())
