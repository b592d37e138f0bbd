"""Alerts of the live stream: as they change, and for who was away as they are now."""

import pytest

from services.alerting.live.hub import LiveFilter
from tests.services.alerting.clients import Live, is_open
from tests.services.alerting.sample_records import episode_record, ruled

pytestmark = pytest.mark.anyio

ALERTS = LiveFilter(kind="alerts")


async def test_alerts_are_told_as_they_change(live: Live) -> None:
    live.store(ruled(severity=[[0, "low"], [0.9, "high"]]))
    client = await is_open(live.client(filter_=ALERTS))
    live.store(episode_record("e-1", 1))
    live.store(episode_record("e-1", 2, best_probability=0.95))
    live.store(episode_record("e-1", 3, "retracted"))
    await client.until(lambda c: len(c.all_events) == 3)
    assert {event.kind for event in client.all_events} == {"alert"}
    assert [(event.data["state"], event.data["severity"]) for event in client.all_events] == [
        ("firing", "low"),
        ("firing", "high"),
        ("resolved", "high"),
    ]


async def test_who_was_away_hears_how_each_is_now_and_who_asks_for_matches_nothing(live: Live) -> None:
    seen = live.store(ruled(), episode_record("e-0"))[-1].sequence
    live.store(episode_record("e-1", 1))
    live.store(episode_record("e-0", 2, "retracted"))
    client = live.client(after=seen, filter_=ALERTS)
    await client.until(lambda c: len(c.all_events) == 2)
    assert [(event.data["source"], event.data["state"]) for event in client.all_events] == [
        ("e-1", "firing"),
        ("e-0", "resolved"),
    ]
    every = live.client(after=0, filter_=LiveFilter(kind="all"))
    await every.until(lambda c: len(c.all_events) == 4)
    assert sorted(event.kind for event in every.all_events) == ["alert", "alert", "episode", "episode_retracted"]


async def test_a_filter_holds_for_alerts(live: Live) -> None:
    live.store(ruled("a", 1), ruled("b", 1))
    client = live.client(after=0, filter_=LiveFilter(("b",), kind="alerts"))
    live.store(*(episode_record(f"e-{q}", query=q, query_version=1) for q in "ab"))
    await client.until(lambda c: len(c.all_events) == 1)
    assert client.all_events[0].data["query"] == "b"
