"""BoundedHttpProtocol: uvicorn's HTTP, with bounds on how long headers are, and on how long either side may take."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.common.http.header_limits import MOST_HEADER_BYTES


class BoundedHttpProtocol(HttpToolsProtocol):
    """Cuts off headers that are too long or dribble in, and a reader who does not take what waits for it.

    The connection holds 64 KiB that are not taken, and no more is made until then. Whoever leaves them for
    `send_timeout_s` is cut off, so that nobody holds what others need, such as the place of an export, by not reading.
    """

    headers_timeout_s = 10.0
    send_timeout_s = 30.0

    _header_bytes = 0
    _awaiting_headers = True
    _deadline: asyncio.TimerHandle | None = None
    _send_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._stop_waiting()
        self._stop_waiting_for_reader()
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
        """Leave the rest to the application; cut off what came at once and is too long."""
        self._awaiting_headers = False
        self._stop_waiting()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MOST_HEADER_BYTES:
            self.transport.abort()
        else:
            super().on_headers_complete()

    def pause_writing(self) -> None:
        """Begin to wait for the reader: what it has not taken fills the connection."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """Go on: the reader took it."""
        if not self.transport.is_closing():
            self._stop_waiting_for_reader()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Wait for the reader of an answer that is the last, as `close` alone would without an end."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_for_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close, and wait for the reader as long as for any other."""
        super().timeout_keep_alive_handler()
        self._wait_for_reader()

    def _wait_for_headers(self) -> None:
        self._deadline = self.loop.call_later(self.headers_timeout_s, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _wait_for_reader(self) -> None:
        if self._send_deadline is None:
            self._send_deadline = self.loop.call_later(self.send_timeout_s, self.transport.abort)

    def _stop_waiting_for_reader(self) -> None:
        if self._send_deadline is not None:
            self._send_deadline.cancel()
            self._send_deadline = None


def bounded_by(
    send_timeout_s: float, kind: type[BoundedHttpProtocol] = BoundedHttpProtocol
) -> type[BoundedHttpProtocol]:
    """Return the protocol that waits so long for a reader; `kind` is the one to go by."""
    return type(kind.__name__, (kind,), {"send_timeout_s": send_timeout_s})
