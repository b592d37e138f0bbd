"""What the console asks: the key is shown, errors are one sentence, and answers are bounded."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from services.common.settings import SettingsError
from services.console.metrics import ConsoleMetrics
from services.console.rest.documents import CallerAnswer, PageAnswer, SensorAnswer
from services.console.rest.services import Rest, RestError, Services, path_of
from services.console.settings import ConsoleSettings
from tests.services.https_server import https_server


def rest(answer: Callable[[httpx2.Request], Any], key: str | None = None, **settings: Any) -> Rest:
    transport = httpx2.MockTransport(answer)
    metrics = ConsoleMetrics(CollectorRegistry())
    return Services(ConsoleSettings(**settings), metrics, transport).with_key(key)


def fault(answer: Callable[[httpx2.Request], Any], **settings: Any) -> RestError:
    with pytest.raises(RestError) as caught:
        asyncio.run(rest(answer, **settings).get(CallerAnswer, "alerting", "/v1/caller"))
    return caught.value


def test_a_question_goes_to_its_service_with_the_key_and_without_what_is_not_given() -> None:
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, json={"items": [{"id": "mic", "area": "bay", "new": 1}], "next_cursor": None})

    found = asyncio.run(
        rest(answer, "ck_1").get(
            PageAnswer[SensorAnswer], "ingest", "/v1/sensors", {"area": None, "limit": 3, "x": True}
        )
    )
    assert found.items == [SensorAnswer(id="mic", area="bay")]
    assert str(asked[0].url) == "http://127.0.0.1:8010/v1/sensors?limit=3&x=true"
    assert asked[0].headers["authorization"] == "Bearer ck_1"


@pytest.mark.parametrize(
    ("response", "sentence", "is_away"),
    [
        (httpx2.Response(404, json={"detail": "there is no match"}), "there is no match", False),
        (httpx2.Response(503, json={"detail": "Kafka is silent"}), "Kafka is silent", True),
        (httpx2.Response(503, text="the query ended\n"), "the query ended", True),
        (httpx2.Response(500, text="<html>"), "alerting answered 500", False),
        (httpx2.Response(200, text="no JSON"), "alerting answered what the console cannot read", False),
        (httpx2.Response(200, json={"name": 1}), "alerting answered what the console cannot read", False),
    ],
)
def test_an_error_is_a_sentence(response: httpx2.Response, sentence: str, is_away: bool) -> None:
    error = fault(lambda _: response)
    assert str(error).startswith(sentence)
    assert error.is_away is is_away
    assert len(str(error)) < 1100


def test_nobody_and_somebody_slow_are_told_apart() -> None:
    def refuse(_request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    assert str(fault(refuse)) == "alerting does not answer (nobody listens there)"

    async def sleep(_request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(5)
        return httpx2.Response(200)

    assert str(fault(sleep, answer_timeout_s=0.05)) == "alerting does not answer (it took too long)"


def test_a_page_that_looks_while_the_console_stops_is_told_so() -> None:
    async def look() -> None:
        asks = rest(lambda _: httpx2.Response(200, json={}))
        await asks.services.close()
        with pytest.raises(RestError, match="the console is being stopped"):
            await asks.text("ingest", "/readyz")

    asyncio.run(look())


def test_a_page_that_goes_away_asks_no_further_however_far_its_answer_has_come() -> None:
    async def look(steps: int) -> None:
        came = asyncio.Event()

        async def answer(_request: httpx2.Request) -> httpx2.Response:
            await came.wait()
            return httpx2.Response(200, text="ready")

        page = asyncio.create_task(rest(answer).text("ingest", "/readyz"))
        await asyncio.sleep(0.01)
        came.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        was_there = page.cancel()
        await asyncio.wait([page])
        assert page.cancelled() is was_there, f"{steps} steps after the answer came"

    for steps in range(30):
        asyncio.run(look(steps))


def test_an_answer_beyond_the_bound_is_an_error() -> None:
    error = fault(lambda _: httpx2.Response(200, content=b" " * 2**17), answer_max_bytes=2**16)
    assert "longer than 65536 bytes" in str(error)


def test_only_so_many_ask_at_a_time() -> None:
    now, most = 0, 0

    async def count(_request: httpx2.Request) -> httpx2.Response:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.01)
        now -= 1
        return httpx2.Response(200, json={"name": "x", "scopes": []})

    async def ask() -> None:
        asker = rest(count, requests_max=3)
        await asyncio.gather(*(asker.get(CallerAnswer, "alerting", "/v1/caller") for _ in range(12)))

    asyncio.run(ask())
    assert most == 3


def test_a_command_asks_the_same_and_hides_the_key() -> None:
    asker = rest(lambda _: None, "ck_secret")
    said = asker.curl("POST", "ingest", "/v1/detections", {"a": "x y"}, [{"sensor": "it's"}])
    assert said == (
        "curl -X POST 'http://127.0.0.1:8010/v1/detections?a=x+y' -H \"Authorization: Bearer $COINCIDE_KEY\" "
        "-H 'Content-Type: application/json' -d '[{\"sensor\": \"it'\"'\"'s\"}]'"
    )


def test_a_path_holds_any_id() -> None:
    assert path_of("v1", "matches", "../keys?x=1#") == "/v1/matches/..%2Fkeys%3Fx%3D1%23"


def test_a_service_is_known_by_a_certificate_of_ones_own(tmp_path: Path) -> None:
    def ask(**settings: Any) -> PageAnswer[SensorAnswer]:
        services = Services(ConsoleSettings(**settings), ConsoleMetrics(CollectorRegistry()))
        return asyncio.run(services.with_key(None).get(PageAnswer[SensorAnswer], "ingest", "/v1/sensors"))

    with https_server(tmp_path) as (url, certificate):
        with pytest.raises(RestError, match="ingest does not answer"):
            ask(ingest_url=url)
        assert ask(ingest_url=url, trusted_certificates=certificate).items == []
    (tmp_path / "none.pem").write_text("no certificate")
    for unusable in (tmp_path / "none.pem", tmp_path / "missing.pem"):
        with pytest.raises(SettingsError, match="trusted_certificates"):
            Services(ConsoleSettings(trusted_certificates=unusable), ConsoleMetrics(CollectorRegistry()))
