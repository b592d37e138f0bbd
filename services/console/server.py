"""The console's process: settings to a running server."""

import signal
from ssl import SSLContext
from types import FrameType

import uvicorn
from prometheus_client import CollectorRegistry

from services.common.http.bounded_protocol import bounded_by
from services.console.access.gate import Gate
from services.console.app import create_app
from services.console.metrics import ConsoleMetrics
from services.console.rest.services import Services
from services.console.settings import ConsoleSettings

GRACE_S = 3
LONGEST_MESSAGE_BYTES = 2**20


def build_app(settings: ConsoleSettings) -> Gate:
    """Return the application, which connects to nothing before somebody looks."""
    metrics = ConsoleMetrics(CollectorRegistry())
    return create_app(settings, Services(settings, metrics), metrics)


class ConsoleServer(uvicorn.Server):
    """uvicorn raises the signal that stops it again at the end; for this server a stop in order is no failure."""

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Begin to stop; a second Ctrl-C waits for nobody."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def serve(app: Gate, settings: ConsoleSettings, tls: SSLContext | None) -> None:
    """Serve until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        http=bounded_by(settings.send_timeout_s),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws_max_size=LONGEST_MESSAGE_BYTES,
        timeout_graceful_shutdown=GRACE_S,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )
    ConsoleServer(config).run()
