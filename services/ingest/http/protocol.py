"""uvicorn's HTTP protocol with bounds on what comes before a body: it has none on the size or time of headers."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEADER_BYTES = 64 * 1024


class BoundedHttpProtocol(HttpToolsProtocol):
    """Cuts off a connection whose headers are too long or dribble in; a body has bounds of its own."""

    headers_timeout_s = 10.0

    _header_bytes = 0
    _awaiting_headers = True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse; cut the connection off if its headers are still incomplete and too long."""
        self._header_bytes += len(data)
        super().data_received(data)
        if not self._awaiting_headers:
            return
        if self._header_bytes > MOST_HEADER_BYTES:
            self.transport.abort()
        elif self._deadline is None:
            self._wait_for_headers()

    def on_message_begin(self) -> None:
        """Count this request's headers."""
        self._awaiting_headers = True
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Leave the rest to the application."""
        self._awaiting_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_headers(self) -> None:
        self._deadline = self.loop.call_later(self.headers_timeout_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
