"""The console's process: settings to a running server."""

from prometheus_client import CollectorRegistry

from services.common.program.asgi_server import AsgiServer
from services.console.access.gate import Gate
from services.console.app import create_app
from services.console.metrics import ConsoleMetrics
from services.console.rest.services import Services
from services.console.settings import LONGEST_MESSAGE_BYTES, ConsoleSettings

GRACE_S = 3


def build_app(settings: ConsoleSettings) -> Gate:
    """Return the application, which connects to nothing before somebody looks."""
    metrics = ConsoleMetrics(CollectorRegistry())
    return create_app(settings, Services(settings, metrics), metrics)


def build_server(settings: ConsoleSettings) -> AsgiServer:
    """Return the server; raises SettingsError: TLS cannot be spoken."""
    return AsgiServer(
        build_app(settings), settings, ws="auto", ws_max_size=LONGEST_MESSAGE_BYTES, timeout_graceful_shutdown=GRACE_S
    )
