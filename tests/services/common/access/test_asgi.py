"""The guard before an ASGI application: nothing is buffered, and the application finds its caller."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest
from fastapi import FastAPI

from services.common.access.access_keys import KEYS, KeyRing, id_in
from services.common.access.asgi import Guarded
from services.common.access.caller import Caller, caller_in
from services.common.access.guard import Guard
from services.common.access.origins import Origins
from tests.services.kept_records import KeptRecords

Message = MutableMapping[str, Any]


def request(*headers: tuple[bytes, bytes], method: str = "GET", path: str = "/v1/live") -> dict[str, Any]:
    return {"type": "http", "method": method, "path": path, "headers": list(headers), "client": ("192.0.2.9", 5)}


HERE = (b"host", b"localhost")


async def answer_of(guard: Guard, scope: dict[str, Any], application: Any = None) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await Guarded(application or no_application, guard)(scope, receive, send)
    return sent


async def receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def no_application(_scope: Any, _receive: Any, _send: Any) -> None:
    pytest.fail("the application was asked")


@pytest.mark.anyio
async def test_each_piece_of_a_stream_is_passed_on_as_it_comes() -> None:
    may_go_on = asyncio.Event()
    pieces: list[Message] = []

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await may_go_on.wait()
        await send({"type": "http.response.body", "body": b"last"})

    async def send(message: Message) -> None:
        pieces.append(message)
        if message.get("body") == b"first":
            may_go_on.set()  # only once the first piece is here

    origin = b"https://console.example"
    guard = Guard(Origins("127.0.0.1", [], [origin.decode()]), KeyRing(), needs_key=False)
    scope = request(HERE, (b"origin", origin))
    await asyncio.wait_for(Guarded(endless, guard)(scope, receive, send), 10)
    assert [each.get("body") for each in pieces] == [None, b"first", b"last"]
    assert (b"access-control-allow-origin", origin) in pieces[0]["headers"]


@pytest.mark.anyio
async def test_the_application_finds_its_caller() -> None:
    records = KeptRecords()
    text = records.make("reader", ["read"])
    found: list[Caller] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.append(caller_in(scope))

    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=False)
    await answer_of(guard, request(HERE), application)
    await answer_of(guard, request(HERE, (b"authorization", b"Bearer " + text.encode())), application)
    assert [(each.name, each.address) for each in found] == [("anybody", "192.0.2.9"), ("reader", "192.0.2.9")]


@pytest.mark.anyio
async def test_a_stream_ends_when_its_readers_key_is_revoked() -> None:
    records = KeptRecords()
    text = records.make("reader", ["read"])
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True)
    sent: list[Message] = []

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def stream(_scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        records.publish(KEYS, (id_in(text) or "").encode(), None)
        assert (await receive())["type"] == "http.disconnect"

    async def send(message: Message) -> None:
        sent.append(message)

    scope = request(HERE, (b"authorization", b"Bearer " + text.encode()))
    await asyncio.wait_for(Guarded(stream, guard)(scope, never, send), 10)
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]


@pytest.mark.anyio
async def test_a_header_given_twice_is_no_way_around() -> None:
    guard = Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False)
    twice = request(HERE, (b"host", b"evil.example"))
    assert (await answer_of(guard, twice))[0]["status"] == 421
    twice = request(HERE, (b"origin", b"http://localhost"), (b"origin", b"http://evil.example"))
    assert (await answer_of(guard, twice))[0]["status"] == 403


@pytest.mark.anyio
async def test_what_is_refused_is_a_whole_answer_and_its_body_is_not_awaited() -> None:
    guard = Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False)
    scope = request((b"host", b"evil.example"), (b"content-length", b"1000000000"), method="POST")
    start, body = await answer_of(guard, scope)
    headers = dict(start["headers"])
    assert headers[b"content-length"] == str(len(body["body"])).encode()
    assert headers[b"connection"] == b"close"


@pytest.mark.anyio
async def test_each_peer_has_a_share_of_its_own_and_gets_it_back() -> None:
    records = KeptRecords()
    keys = [records.make(name, ["admin"]).encode() for name in ("ann", "ben")]
    refused: list[str] = []
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=False, on_refused=refused.append)
    may_end = asyncio.Event()

    async def slow(_scope: Any, _receive: Any, send: Any) -> None:
        await may_end.wait()
        await send({"type": "http.response.start", "status": 202, "headers": []})

    guarded = Guarded(slow, guard, most_open_per_peer=2)
    sent: list[int] = []

    async def send(message: Message) -> None:
        sent.extend([message["status"]] if "status" in message else [])

    def begin(address: str, key: bytes = b"", method: str = "POST") -> "asyncio.Task[None]":
        shown = [(b"authorization", b"Bearer " + key)] if key else []
        scope = request(HERE, (b"content-type", b"application/json"), *shown, method=method)
        return asyncio.create_task(guarded({**scope, "client": (address, 5)}, receive, send))

    peers = [("192.0.2.1", b""), ("192.0.2.2", b""), ("192.0.2.1", keys[0]), ("192.0.2.1", keys[1])]
    open_ones = [begin(*peer, method) for peer in peers for method in ("GET", "POST")]
    await asyncio.sleep(0)
    assert sent == []
    await asyncio.gather(*(begin(*peer, method) for peer in peers for method in ("GET", "POST")))
    assert (sent, refused) == ([429] * 8, ["open_requests"] * 8)
    may_end.set()
    await asyncio.gather(*open_ones, *(begin(*peer) for peer in peers for _ in range(2)))
    assert sent[8:] == [202] * (len(open_ones) + 2 * len(peers))
    assert guarded._open == {}


@pytest.mark.anyio
async def test_whoever_looks_whether_it_is_well_is_told_though_its_peer_has_all_it_may_have() -> None:
    app, may_end = FastAPI(), asyncio.Event()

    @app.get("/v1/live")
    async def live() -> None:
        await may_end.wait()

    @app.get("/livez")
    async def livez() -> str:
        return "alive"

    guarded = Guarded(app, Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False), most_open_per_peer=1)

    async def status(path: str) -> int:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        await guarded({**request(HERE, path=path), "query_string": b"", "root_path": ""}, receive, send)
        return int(sent[0]["status"])

    reading = asyncio.create_task(status("/v1/live"))
    await asyncio.sleep(0)
    assert [await status(path) for path in ("/v1/live", "/livez")] == [429, 200]
    may_end.set()
    assert await reading == 200


@pytest.mark.anyio
async def test_no_websocket_is_served() -> None:
    with pytest.raises(RuntimeError, match="no websocket"):
        await answer_of(Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False), {"type": "websocket"})
