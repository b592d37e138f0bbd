"""The HTTP servers of the jobs: a guarded one, and the job's own small one: /metrics, /livez, /readyz."""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from services.common.access.caller import Caller
from services.common.access.component_access import ComponentAccess, tls_context
from services.common.access.guard import HEADERS
from services.common.http.header_limits import MOST_HEADER_BYTES, body_length
from services.common.http.problem_document import MEDIA_TYPE, problem_document
from services.common.http.route_table import PathRoute, RouteTable
from services.common.http.shares import NoPlaceError, Shares
from services.common.settings import ComponentSettings, SettingsError

LONGEST_UNREAD = 65_536
MOST_CONNECTIONS = 256


class GuardedServer(ThreadingHTTPServer):
    """Answers from a thread what `access` lets pass, on the address, and with the TLS, of its settings.

    Raises `SettingsError`: the address cannot be bound, or TLS cannot be spoken.
    """

    def __init__(self, settings: ComponentSettings, access: ComponentAccess, handler: type["GuardedHandler"]) -> None:
        host, port = settings.host, settings.port
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.access, self._tls = access, tls_context(settings)
        self.send_timeout_s = settings.send_timeout_s
        self._connections = Shares(MOST_CONNECTIONS, "connections")
        try:
            super().__init__((host, port), handler)
        except OSError as error:
            raise SettingsError(f"port {port} of {host} cannot be served on: {error.strerror}") from error

    def start(self) -> None:
        """Serve until `shutdown`."""
        self.access.start()
        threading.Thread(target=self.serve_forever, name="http", daemon=True).start()

    def server_close(self) -> None:
        """Let go of the address, and follow the keys no longer."""
        super().server_close()
        self.access.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a thread for a connection; it is closed at once where there are too many, or too many of its peer."""
        try:
            self._connections.take(client_address[0])
        except NoPlaceError:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer it, and give its place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.leave(client_address[0])

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer one connection, on its own thread: a slow handshake keeps nobody else waiting."""
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(GuardedHandler.timeout)
        with self._tls.wrap_socket(request, server_side=True) as spoken:
            super().finish_request(spoken, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: whoever breaks a connection off, or speaks no TLS, fills no log."""


class GuardedHandler(BaseHTTPRequestHandler):
    """Answers a request only if the guard lets it pass.

    `place` is the path with its percent-encoding undone, `query` what stands behind it: scope and answer go by these.
    """

    default_request_version = "HTTP/1.0"  # of what says none: it hears of faults with a status, too
    routes: RouteTable
    place = query = ""
    timeout = 10.0  # seconds for a request
    server: GuardedServer
    caller = Caller()  # of the request at hand
    _added: Mapping[str, str] = {}

    def parse_request(self) -> bool:
        """Read the head of a request; False where it has been answered already."""
        if not super().parse_request():
            return False
        if sum(len(name) + len(value) for name, value in self.headers.items()) > MOST_HEADER_BYTES:
            self.problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"headers have at most {MOST_HEADER_BYTES} bytes")
            return False
        headers = {name: ", ".join(each) for name in HEADERS if (each := self.headers.get_all(name))}
        path, _, self.query = self.path.partition("?")
        self.place = unquote(path)
        route = self.routes.find(self.command, self.place)
        ruling = self.server.access.guard.rule(self.command, self.place, route, headers, self.client_address[0])
        self.caller, self._added = ruling.caller, ruling.headers
        if ruling.status is None:
            self.connection.settimeout(self.server.send_timeout_s)  # for each piece that is sent, as a whole
            return self._has_route()
        self._forget_body()
        self.send_response(ruling.status)
        self.send_header("Content-Length", str(len(ruling.body)))
        self.end_headers()
        self.wfile.write(ruling.body)
        self.wfile.flush()
        self.close_connection = True
        return False

    def _has_route(self) -> bool:
        """Whether some method of ours answers this; where none does, that is answered."""
        allowed = self.routes.methods(self.place)
        if self.command in allowed:
            return True
        self._forget_body()
        if allowed:
            detail = f"{self.command[:20]} is not for this path: {', '.join(allowed)}"
            self.problem(HTTPStatus.METHOD_NOT_ALLOWED, detail, {"Allow": ", ".join(allowed)})
        else:
            self.problem(HTTPStatus.NOT_FOUND, f"there is nothing at {self.place[:200]}")
        return False

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the base class finds wrong as every error is answered; it has a page of HTML."""
        status = HTTPStatus(code)
        self.problem(status, explain or message or status.description)

    def problem(
        self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        """Answer a problem document (RFC 9457), with further members."""
        body = json.dumps(problem_document(status, detail, **members)).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Type": MEDIA_TYPE, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self) -> None:
        """End them with those that the guard adds."""
        for name, value in self._added.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: a scrape every few seconds is no news."""

    def _forget_body(self) -> None:
        """Read a short body, for a connection that is closed with something unread loses its answer."""
        length = body_length(self.headers.get("Content-Length", "0"))
        if length is not None and length <= LONGEST_UNREAD:
            self.rfile.read(length)


class JobServer(GuardedServer):
    """Tells metrics, life and readiness.

    `why_not_ready` gives None, then /readyz answers 200, or the sentence that it answers 503 with.
    """

    def __init__(
        self,
        settings: ComponentSettings,
        access: ComponentAccess,
        registry: CollectorRegistry,
        why_not_ready: Callable[[], str | None],
    ) -> None:
        super().__init__(settings, access, _Handler)
        self.registry = registry
        self.why_not_ready = why_not_ready


class _Handler(GuardedHandler):
    server: JobServer
    routes = RouteTable(PathRoute.of(path, "GET") for path in ("/metrics", "/livez", "/readyz"))

    def do_GET(self) -> None:
        if self.place == "/metrics":
            self._answer(HTTPStatus.OK, generate_latest(self.server.registry), CONTENT_TYPE_LATEST)
        elif self.place == "/livez":
            self._answer(HTTPStatus.OK, b"alive\n")
        else:
            reason = self.server.why_not_ready()
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK, f"{reason or 'ready'}\n".encode())

    def _answer(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
