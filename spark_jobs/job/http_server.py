"""The job's own small HTTP server: /metrics, /livez, /readyz."""

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from services.common.settings import SettingsError


class JobServer(ThreadingHTTPServer):
    """Answers from a thread on an IPv4 or IPv6 address; SettingsError if it cannot be bound.

    `why_not_ready` gives None, then /readyz answers 200, or the sentence that it answers 503 with.
    """

    def __init__(
        self, host: str, port: int, registry: CollectorRegistry, why_not_ready: Callable[[], str | None]
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SettingsError(f"port {port} of {host} cannot be served on: {error.strerror}") from error
        self.registry = registry
        self.why_not_ready = why_not_ready

    def start(self) -> None:
        """Serve until `shutdown`."""
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0  # seconds for a request
    server: JobServer

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, generate_latest(self.server.registry), CONTENT_TYPE_LATEST)
        elif path == "/livez":
            self._answer(HTTPStatus.OK, b"alive\n")
        elif path == "/readyz":
            reason = self.server.why_not_ready()
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK, f"{reason or 'ready'}\n".encode())
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"there are /metrics, /livez and /readyz\n")

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: a scrape every few seconds is no news."""
