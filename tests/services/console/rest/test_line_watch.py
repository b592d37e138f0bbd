"""The watch of the line: one look for all pages of a key, and nothing kept that is old."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from services.console.metrics import ConsoleMetrics
from services.console.rest import line_watch
from services.console.rest.component_readings import ComponentReading, ComponentTrend, Samples
from services.console.rest.line_watch import LineWatch, LineWatches
from services.console.rest.services import Services
from services.console.settings import ConsoleSettings

TAKEN = "coincide_ingest_detections_accepted_total"


class Components:
    """What the components answer: the routes that are `away` break off, those that are `faulty` answer 503."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.away: set[int] = set()
        self.not_ready: dict[int, httpx2.Response] = {}
        self.taken = 0

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        port, path = request.url.port or 0, request.url.path
        self.asked[f"{port}{path}"] += 1
        if port in self.away:
            raise httpx2.ConnectError("nobody")
        if path == "/readyz":
            return self.not_ready.get(port, httpx2.Response(200, json={"status": "ready"}))
        if path == "/v1/alerts":
            one = {"id": "a", "title": "t", "severity": "s", "state": "firing", "fired_at_us": 1, "kind": "system"}
            return httpx2.Response(200, json={"items": [one] if request.url.params["state"] == "firing" else []})
        self.taken += 10
        text = f'# TYPE {TAKEN} counter\n{TAKEN} {self.taken}.0\npython_info{{a="b"}} 1.0\n'
        return httpx2.Response(200, text=text)


def watched(components: Components, look: Callable[[LineWatches], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def run() -> None:
        services = Services(ConsoleSettings(**settings), ConsoleMetrics(CollectorRegistry()), transport)
        watches = LineWatches(services)
        await look(watches)
        await watches.close()
        await services.close()

    transport = httpx2.MockTransport(components.answer)
    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_watch, "LOOK_EVERY_S", 0.02)


def rate(watch: LineWatch) -> float | None:
    grew = watch.reading().of("ingest").increase(TAKEN, 15.0)
    return grew.rate_hz if grew else None


def test_pages_of_a_key_share_the_looks_and_the_last_one_ends_them() -> None:
    components = Components()

    async def look(watches: LineWatches) -> None:
        first, second = watches.of_key("k"), watches.of_key("k")
        assert first is second
        first.hold()
        second.hold()
        await until(lambda: (rate(first) or 0) > 0)
        assert len(first.reading().alerts or ()) == 1
        first.release()
        await until(lambda: (rate(first) or 0) > 0)
        second.release()
        assert first.reading().of("ingest").newest is None
        looks = dict(components.asked)
        await asyncio.sleep(0.1)
        assert dict(components.asked) == looks

    watched(components, look)
    assert components.asked["8010/readyz"] - components.asked["8010/metrics"] in (0, 1)
    assert {"8010", "8020", "8030"} == {each[:4] for each in components.asked}


def test_who_is_away_is_unknown_and_keeps_nobody_else_from_being_seen() -> None:
    components = Components()
    components.away = {8030}
    components.not_ready[8020] = httpx2.Response(503, json={"detail": "Kafka is silent"})
    components.not_ready[8010] = httpx2.Response(429, json={"detail": "too many requests"})

    async def look(watches: LineWatches) -> None:
        watch = watches.of_key(None)
        watch.hold()
        await until(lambda: all(watch.reading().of(each).newest for each in ("ingest", "fusion", "alerting")))
        line = watch.reading()
        fusion, alerting, ingest = (line.of(each).newest for each in ("fusion", "alerting", "ingest"))
        assert fusion is not None
        assert (fusion.why_away, fusion.samples) == ("fusion does not answer (nobody listens there)", None)
        assert alerting is not None
        assert (alerting.is_ready, alerting.why_not_ready) == (False, "Kafka is silent")
        assert ingest is not None
        assert (ingest.is_ready, ingest.why_not_ready) == (False, None)
        components.away = {8010}
        await until(lambda: watch.reading().of("ingest").total(TAKEN) is None)
        assert rate(watch) is None
        watch.release()

    watched(components, look)


def test_a_component_without_an_address_is_not_looked_at() -> None:
    components = Components()

    async def look(watches: LineWatches) -> None:
        watch = watches.of_key(None)
        watch.hold()
        await until(lambda: watch.reading().of("ingest").newest is not None)
        assert "fusion" not in watch.reading().trends
        watch.release()

    watched(components, look, fusion_url=None)
    assert not any(each.startswith("8030") for each in components.asked)


def of(*values: float | None) -> ComponentTrend:
    """Return a trend of one look each 10 s; None for one that could not read the metrics."""
    told = [None if each is None else Samples.of_text(f"{TAKEN} {each}\n", frozenset({TAKEN})) for each in values]
    return ComponentTrend([ComponentReading(10.0 * at, True, samples=each) for at, each in enumerate(told)])


def test_an_increase_is_over_the_time_without_a_gap_and_since_the_last_restart() -> None:
    assert of(0, 10, 30).increase(TAKEN, 60) == (30, 20)
    assert of(0, 10, 30).increase(TAKEN, 15) == (20, 10)
    assert of(5, None, 30, 40).increase(TAKEN, 60) == (10, 10)
    assert of(500, 10, 30).increase(TAKEN, 60) == (20, 10)
    assert of(500, 10).increase(TAKEN, 60) is None
    assert of(5, None).increase(TAKEN, 60) is None
    assert of().increase(TAKEN, 60) is None


def test_a_counter_that_has_not_counted_yet_is_zero_and_a_gauge_that_is_not_told_is_unknown() -> None:
    text = "# TYPE coincide_a_total counter\n# TYPE coincide_b gauge\n"
    samples = Samples.of_text(text, frozenset({"coincide_a_total", "coincide_b"}))
    assert samples.total("coincide_a_total", reason="x") == 0
    assert samples.total("coincide_b") is None
