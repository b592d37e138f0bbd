"""The guard before an ASGI application, and no more than its share for each peer; bodies and streams pass untouched."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from services.common.access.caller import SCOPE_MEMBER
from services.common.access.guard import HEADERS, Guard, Refusal, Ruling
from services.common.access.key_scopes import OPEN_PATHS
from services.common.http.app_routes import routes_of
from services.common.settings import MOST_OPEN_PER_PEER

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOK_EVERY_S = 0.5
_NAMES = {name.encode(): name for name in HEADERS}


Peer = tuple[str | None, str | None]  # an address, and the id of its key if it shows one


class Guarded:
    """`application` behind `guard`; it finds its caller with `caller_in`.

    Whoever sends bodies slowly, or reads a stream, holds requests open. No peer has more than `most_open_per_peer` of
    them, so that the others find room; but whether the process is well is told to everybody.
    """

    def __init__(self, application: Application, guard: Guard, most_open_per_peer: int = MOST_OPEN_PER_PEER) -> None:
        self.application = application
        self._guard, self.routes = guard, routes_of(application)
        self._most_open = most_open_per_peer
        self._open: Counter[Peer] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as an ASGI application; websockets, of which there are none, are refused."""
        if scope["type"] == "lifespan":
            await self.application(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} is served here")
        client = scope.get("client")
        address = client[0] if client else None
        headers = _read_headers(scope["headers"])
        method, path = scope["method"], scope["path"]
        route = self.routes.find(method, path)
        ruling = self._guard.rule(method, path, route, headers, address)
        peer = address, ruling.caller.key
        if ruling.status is None and self._open[peer] >= self._most_open and route not in OPEN_PATHS:
            ruling = self._guard.refuse(self._too_many_open(), ruling.caller, headers)
        if ruling.status is None:
            scope[SCOPE_MEMBER] = ruling.caller
            send = _adding(send, ruling.headers) if ruling.headers else send
            await self._answer(peer, scope, receive, send)
        else:
            await _refuse(ruling, send)

    def _too_many_open(self) -> Refusal:
        detail = f"this peer has {self._most_open} requests open, the most allowed (max_open_per_peer): await an answer"
        return Refusal(429, "open_requests", detail, {"Retry-After": "1"})

    async def _answer(self, peer: Peer, scope: Scope, receive: Receive, send: Send) -> None:
        self._open[peer] += 1
        try:
            if peer[1] is None or scope["method"] != "GET":
                await self.application(scope, receive, send)
            else:
                await self._answer_while_valid(peer[1], scope, receive, send)
        finally:
            self._open[peer] -= 1
            if not self._open[peer]:
                del self._open[peer]

    async def _answer_while_valid(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, but tell a stream that its reader has left as soon as the reader's key is revoked."""
        revoked = False

        async def receive_while_valid() -> Message:
            nonlocal revoked
            waiting = asyncio.ensure_future(receive())
            try:
                while not (await asyncio.wait({waiting}, timeout=LOOK_EVERY_S))[0]:
                    if not self._guard.knows(key):
                        revoked = True
                        return {"type": "http.disconnect"}
                return waiting.result()
            finally:
                waiting.cancel()

        await self.application(scope, receive_while_valid, send)
        if revoked:
            with contextlib.suppress(RuntimeError):  # the answer was whole already
                await send({"type": "http.response.body", "body": b""})


async def _refuse(ruling: Ruling, send: Send) -> None:
    length = {"Content-Length": str(len(ruling.body))} if ruling.status != 204 else {}
    headers = _encoded({**ruling.headers, **length})
    await send({"type": "http.response.start", "status": ruling.status, "headers": headers})
    await send({"type": "http.response.body", "body": ruling.body})


def _read_headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each, value in raw:
        name = _NAMES.get(each)
        if name is not None:
            text = value.decode("latin-1")
            found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def _adding(send: Send, headers: Mapping[str, str]) -> Send:
    more = _encoded(headers)

    async def send_with_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_more


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
