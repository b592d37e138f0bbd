"""Pages of the console as browsers on other machines have them open: they take all that comes, and cost nothing here.

A listener loads the page, opens its socket as NiceGUI's page does, and acknowledges what it hears. It parses and
paints nothing, so what it costs this machine is what the console spends on a page.
"""

from __future__ import annotations

import asyncio
import re
import threading
import uuid
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
import socketio

ACKNOWLEDGED_EVERY_S = 3.0  # as NiceGUI's page does
_CLIENT = re.compile(r"'client_id': '([0-9a-f-]{36})'")


class Listener:
    """One page, with cookies of its own."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session, self._url = session, url
        self._socket = socketio.AsyncClient(http_session=session, reconnection=False)
        self._socket.on("*", self._hear)
        self._client = ""
        self._newest = -1
        self.heard = 0

    async def open(self, path: str) -> None:
        """Load the page and open its socket."""
        async with self._session.get(self._url + path) as answer:
            answer.raise_for_status()
            found = _CLIENT.search(await answer.text())
        if found is None:
            raise SystemExit("the page of the console has no client_id: its framework has changed")
        self._client = found[1]
        ids = {name: str(uuid.uuid4()) for name in ("document_id", "tab_id")}
        asked = {"client_id": self._client, "next_message_id": 0, "implicit_handshake": "true", **ids}
        await self._socket.connect(
            f"{self._url}?{urlencode(asked)}", transports=["websocket"], socketio_path="/_nicegui_ws/socket.io"
        )

    async def acknowledge(self) -> None:
        """Tell the console what was heard, so that it keeps it no longer."""
        await self._socket.emit("ack", {"client_id": self._client, "next_message_id": self._newest + 1})

    async def _hear(self, _event: str, message: Any) -> None:
        self.heard += 1
        if isinstance(message, dict):
            self._newest = max(self._newest, int(message.get("_id", -1)))

    async def close(self) -> None:
        """Leave the page."""
        await self._socket.disconnect()
        await self._session.close()


class Listeners:
    """So many of them, on an event loop of their own thread, while the block runs."""

    def __init__(self, url: str, path: str, count: int) -> None:
        self._url, self._path, self._count = url, path, count
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._opened: list[Listener] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self._wait_for(self._open())
        self._acknowledging = asyncio.run_coroutine_threadsafe(self._acknowledge(), self._loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._acknowledging.cancel()
        self._wait_for(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def heard(self) -> list[int]:
        """How many messages each has heard."""
        return [each.heard for each in self._opened]

    def _wait_for(self, coroutine: Any) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _open(self) -> None:
        for _ in range(self._count):
            listener = Listener(aiohttp.ClientSession(), self._url)
            self._opened.append(listener)
            await listener.open(self._path)

    async def _acknowledge(self) -> None:
        while True:
            await asyncio.sleep(ACKNOWLEDGED_EVERY_S)
            await asyncio.gather(*(each.acknowledge() for each in self._opened))

    async def _close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._opened))
