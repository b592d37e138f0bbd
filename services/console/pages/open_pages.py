"""OpenPages: how many pages are open, from when each is asked for, whether or not a browser ever connects to it."""

from __future__ import annotations

import asyncio

from nicegui import Client

from services.common.http.shares import Shares

CONNECTED_WITHIN_S = 30.0


class OpenPages:
    """At most `most` pages, half of them of one peer; from the event loop alone."""

    def __init__(self, most: int) -> None:
        self._places = Shares(most, "pages open (viewers_max)", retry_s=10)
        self._connected: set[str] = set()

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._places)

    def add(self, client: Client, peer: str | None) -> None:
        """Count a page until it is gone for good; raise `NoPlaceError` if there is no place for it."""
        self._places.take(peer)

        def forget() -> None:
            self._connected.discard(client.id)
            self._places.leave(peer)

        client.on_connect(lambda: self._connected.add(client.id))
        client.on_delete(forget)

    def await_browser(self, client: Client) -> None:
        """Forget a page unless a browser connects to it soon: whoever only loads it takes no place for long."""

        def look() -> None:
            if client.id not in self._connected and not client.is_deleted:
                client.delete()

        asyncio.get_running_loop().call_later(CONNECTED_WITHIN_S, look)
