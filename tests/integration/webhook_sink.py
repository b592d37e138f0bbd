"""A webhook receiver for tests: it verifies every signature, and answers as the test says."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook

SECRET = "whsec_" + base64.b64encode(b"coincide" * 3).decode()


class Sink(ThreadingHTTPServer):
    """What was posted, oldest first. `status` is answered; with `hangs` nothing is, until it is cleared."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.status = 204
        self.headers_sent: dict[str, str] = {}
        self.hangs = threading.Event()
        self.released = threading.Event()
        self.events: list[dict[str, Any]] = []  # those answered with 2xx
        self.tried: list[str] = []  # the key of each attempt
        self.faults: list[str] = []
        self.connections = 0
        self.on_event: Callable[[dict[str, Any]], object] = lambda _: None  # called with each of `events` as it comes

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections += 1
        super().process_request(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?token=very-secret"

    def told(self, subject: str | None = None) -> list[str]:
        """What happened to one alert, or all, in the order in which it was told."""
        return [each["type"].rpartition(".")[2] for each in self.events if subject in (None, each["subject"])]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sink = self.server
        try:
            event = Webhook(SECRET).verify(body, dict(self.headers.items()))
        except Exception as error:
            sink.faults.append(f"{type(error).__name__}: {error}")
            event = json.loads(body)
        sink.tried.append(self.headers["webhook-id"])
        if sink.hangs.is_set():
            sink.released.wait(60)
            self.close_connection = True
            return
        status = sink.status
        if status < 300:
            sink.events.append(event)
            sink.on_event(event)
        self.send_response(status)
        for name, value in sink.headers_sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def running_sink(port: int = 0) -> Iterator[Sink]:
    sink = Sink(port)
    thread = threading.Thread(target=sink.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        sink.released.set()
        sink.shutdown()
        sink.server_close()
