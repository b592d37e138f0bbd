"""The HTTP server of every program: uvicorn, in the main thread of a service, or in a thread beside a job."""

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from services.common.access.asgi import Application, Guarded
from services.common.access.component_access import ComponentAccess, tls_context
from services.common.http.bounded_protocol import BoundedHttpProtocol, bounded_by
from services.common.settings import ListeningSettings, SettingsError

STOP_TIMEOUT_S = 5.0


class AsgiServer(uvicorn.Server):
    """Serves an application on the address, and with the TLS, of its settings, until SIGTERM or SIGINT.

    `options` are those of uvicorn in which programs differ. Raises `SettingsError`: TLS cannot be spoken.
    """

    def __init__(
        self,
        app: Application,
        settings: ListeningSettings,
        protocol: type[BoundedHttpProtocol] = BoundedHttpProtocol,
        **options: Any,
    ) -> None:
        tls = tls_context(settings)
        common: dict[str, Any] = {
            "http": bounded_by(settings.send_timeout_s, protocol),
            "ws": "none",
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "proxy_headers": False,  # the audit trail has addresses that nobody can make up
            "ssl_context_factory": None if tls is None else lambda *_: tls,
        }
        self.status = 0  # that the program exits with
        self.when_ready: Callable[[], None] = lambda: None  # called once requests are answered
        self.when_stopping: Callable[[], object] = lambda: None  # before what is still being answered is waited for
        super().__init__(uvicorn.Config(app, settings.host, settings.port, **(common | options)))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer requests, and tell so."""
        await super().startup(sockets)
        if self.started:
            self.when_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell that it ends, and end once all that is asked was answered."""
        self.when_stopping()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Begin to stop; a second Ctrl-C waits for nobody.

        Not the base class's way, which raises the signal again at the end: a stop in order is no failure.
        """
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


class ServerThread:
    """Serves what `access` lets pass, in a thread, from `start` until `stop`; `port` is the one that it got.

    Raises `SettingsError`: the address cannot be bound, or TLS cannot be spoken.
    """

    def __init__(self, app: Application, settings: ListeningSettings, access: ComponentAccess) -> None:
        self._access = access
        self._server = AsgiServer(
            Guarded(app, access.guard), settings, lifespan="off", timeout_graceful_shutdown=round(STOP_TIMEOUT_S) - 1
        )
        self._socket = bound_socket(settings.host, settings.port)
        self.port: int = self._socket.getsockname()[1]
        sockets = {"sockets": [self._socket]}
        self._thread = threading.Thread(target=self._server.run, kwargs=sockets, name="http", daemon=True)

    def start(self) -> None:
        """Begin to follow the keys, and to serve."""
        self._access.start()
        self._thread.start()

    def stop(self) -> None:
        """Finish what is asked, let go of the address, and follow the keys no longer; blocks for a few seconds."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(STOP_TIMEOUT_S)
        self._socket.close()
        self._access.stop()


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises `SettingsError`: the address cannot be had."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()  # who connects before the thread serves is heard once it does
    except OSError as error:
        bound.close()
        raise SettingsError(f"port {port} of {host} cannot be served on: {error.strerror}") from error
    return bound
