"""The HTTP server of a job: /metrics, /livez, /readyz, as every component has them."""

from collections.abc import Callable

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from services.common.access.component_access import ComponentAccess
from services.common.operations import install_operations
from services.common.program.asgi_server import ServerThread
from services.common.settings import ComponentSettings


def job_app(registry: CollectorRegistry, why_not_ready: Callable[[], str | None]) -> FastAPI:
    """Return the application; `why_not_ready` gives None, or the sentence that /readyz answers 503 with."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    install_operations(app, registry, lambda: [why] if (why := why_not_ready()) else [])
    return app


def job_server(
    settings: ComponentSettings,
    access: ComponentAccess,
    registry: CollectorRegistry,
    why_not_ready: Callable[[], str | None],
) -> ServerThread:
    """Return the server; raises `SettingsError`: the address cannot be bound, or TLS cannot be spoken."""
    return ServerThread(job_app(registry, why_not_ready), settings, access)
