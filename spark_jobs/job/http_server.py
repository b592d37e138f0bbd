"""The job's own small HTTP server: /metrics, /livez, /readyz."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from services.common.settings import SettingsError

REQUEST_TIMEOUT_S = 10.0

Answer = tuple[HTTPStatus, str, bytes]


class JobServer(ThreadingHTTPServer):
    """Serves on ``host`` and ``port`` from a thread.

    Parameters
    ----------
    registry
        What /metrics shows.
    why_not_ready
        Gives None, then /readyz answers 200, or the sentence that it answers 503 with.

    Raises
    ------
    SettingsError
        The address cannot be bound.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, why_not_ready: Callable[[], str | None]
    ) -> None:
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SettingsError(f"port {port} of {host} cannot be served on: {error.strerror}") from error
        self._registry = registry
        self._why_not_ready = why_not_ready

    def start(self) -> None:
        """Serve until `shutdown`."""
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()

    def answer(self, path: str) -> Answer:
        """Return status, content type and body for one GET."""
        if path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(self._registry)
        if path == "/livez":
            return _text(HTTPStatus.OK, "alive")
        if path == "/readyz":
            reason = self._why_not_ready()
            return _text(HTTPStatus.SERVICE_UNAVAILABLE, reason) if reason else _text(HTTPStatus.OK, "ready")
        return _text(HTTPStatus.NOT_FOUND, "there are /metrics, /livez and /readyz")


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_TIMEOUT_S
    server: JobServer

    def do_GET(self) -> None:
        status, content_type, body = self.server.answer(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: a scrape every few seconds is no news."""


def _text(status: HTTPStatus, sentence: str) -> Answer:
    return status, "text/plain; charset=utf-8", f"{sentence}\n".encode()
