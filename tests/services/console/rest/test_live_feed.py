"""The live stream is read once for all pages of a key, goes on where it broke off, and is bounded."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from services.alerting.settings import AlertingSettings
from services.console.metrics import ConsoleMetrics
from services.console.rest import live_feed
from services.console.rest.live_feed import EventLines, LiveEvent, LiveFeeds, LiveReader
from services.console.rest.services import Services
from services.console.settings import ConsoleSettings

TEXT = (
    b": open\nid: 7\nretry: 1000\n\nid: 8\nevent: match\ndata: {1}\n\n: quiet\n\n"
    b"event: alert\ndata: {2\ndata: 3}\nid: 9\n\n"
)


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_events_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    lines, at, events = EventLines(), 0, []
    for cut in [*sorted(cuts), len(TEXT)]:
        events += lines.feed(TEXT[at:cut])
        at = cut
    assert events == [("match", b"{1}"), ("alert", b"{2\n3}")]
    assert lines.last_id == "9"


def test_a_stream_is_quiet_too_long_once_three_comments_are_missed() -> None:
    assert 3 * AlertingSettings.model_fields["live_heartbeat_s"].default == live_feed.QUIET_S


def test_an_event_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "LONGEST_EVENT_BYTES", 10)
    with pytest.raises(ValueError, match="longer than 10 bytes"):
        EventLines().feed(b"data: 12345678901")


def test_a_slow_page_loses_the_oldest_and_knows_how_many() -> None:
    lost: list[int] = []
    reader = LiveReader(3, lost.append)
    for nth in range(5):
        reader.offer(LiveEvent("match", nth))
    assert [each.body for each in reader.take()] == [2, 3, 4]
    assert (reader.left_out, len(lost), reader.take()) == (2, 2, [])


def gone(id_: str) -> bytes:
    return f"event: superseded\ndata: {json.dumps({'id': id_, 'superseded_by': 'm'})}\nid: {id_}\n\n".encode()


def feeds(stream: Callable[[str | None], AsyncIterator[bytes]], asked: list[str | None]) -> LiveFeeds:
    """Return feeds over an alerting that streams what `stream` yields after a last id; ingest knows nothing."""

    async def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path != "/v1/live":
            return httpx2.Response(200, json={"items": [], "templates": {}, "newest": 0, "left_out": 0})
        asked.append(request.headers.get("last-event-id"))
        return httpx2.Response(200, content=stream(asked[-1]))

    metrics = ConsoleMetrics(CollectorRegistry())
    return LiveFeeds(Services(ConsoleSettings(), metrics, httpx2.MockTransport(answer)), metrics)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - it is not ours to set an event
            await asyncio.sleep(0.005)


def test_two_pages_share_one_connection_and_it_goes_on_after_its_last_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "FIRST_PAUSE_S", 0.01)
    asked: list[str | None] = []

    async def stream(after: str | None) -> AsyncIterator[bytes]:
        if after is None:
            yield gone("1") + gone("2")[:20]  # it breaks off in the midst of an event
        else:
            yield gone("2") + gone("3")
            await asyncio.sleep(60)

    async def run() -> None:
        some = feeds(stream, asked)
        first, second = some.of_key("k"), some.of_key("k")
        assert first is second
        readers = [first.join(), second.join()]
        first.hold()
        second.hold()
        heard: list[list[Any]] = [[], []]

        def have_all() -> bool:
            for nth, reader in enumerate(readers):
                heard[nth] += [each.body.id for each in reader.take()]
            return all(len(each) == 3 for each in heard)

        await until(have_all)
        assert heard == [["1", "2", "3"]] * 2
        assert asked == [None, "1"]
        assert first.is_connected
        await some.close()

    asyncio.run(run())


def test_a_key_that_is_refused_is_known_as_such_and_unused_feeds_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "LINGER_S", 0.0)

    async def run() -> None:
        metrics = ConsoleMetrics(CollectorRegistry())
        refuse = httpx2.MockTransport(lambda _: httpx2.Response(401, json={"detail": "this key was revoked"}))
        some = LiveFeeds(Services(ConsoleSettings(), metrics, refuse), metrics)
        feed = some.of_key("k")
        feed.hold()
        await until(lambda: feed.is_refused)
        assert feed.why_away == "this key was revoked"
        assert some.open_pages == 1
        await some.close_unused()
        assert some.of_key("k") is feed
        feed.release()
        await asyncio.sleep(0.01)
        await some.close_unused()
        assert some.of_key("k") is not feed
        await some.close()

    asyncio.run(run())
