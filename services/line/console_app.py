"""The console as the last component, or, where its packages are not installed, the sentence that says so."""

from importlib.util import find_spec

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from services.common.access.asgi import Application
from services.console.settings import ConsoleSettings

NOT_INSTALLED = "The console is not installed: pip install 'coincide[serve]' adds it. All else is here.\n"


def console_app(settings: ConsoleSettings) -> Application:
    """Return what answers at every path that no other component has."""
    if find_spec("nicegui") is None:
        return _without_console()
    from services.console.server import build_app  # noqa: PLC0415 - needs the extra

    return build_app(settings)


def _without_console() -> Application:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.get("/")
    async def say() -> PlainTextResponse:
        return PlainTextResponse(NOT_INSTALLED)

    return app
