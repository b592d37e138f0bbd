"""The alerting application: routes around the parts that it receives; it starts nothing by itself."""

import logging
from collections.abc import Callable

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from starlette.types import Lifespan

from services.alerting.api.alerts import alerts_router
from services.alerting.api.history_proxy import history_router
from services.alerting.api.listings import Lists
from services.alerting.api.live import live_router
from services.alerting.api.queries import queries_router
from services.alerting.api.rebuild_routes import rebuilds_router
from services.alerting.api.receivers import receivers_router
from services.alerting.api.result_models import describe_all_bodies
from services.alerting.api.results import dead_letters_router, episodes_router, matches_router
from services.alerting.api.silences import silences_router
from services.alerting.following.projection import Progress
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics, RequestTimes
from services.alerting.queries.acts import Acts
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.records.receiver import Receivers
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.settings import AlertingSettings
from services.alerting.store.dialect import took_too_long
from services.common.access.access_routes import audit_router, caller_router, keys_router
from services.common.access.component_access import ComponentAccess
from services.common.access.description import describe_access
from services.common.heavy_work import HeavyWork, OneThread
from services.common.http.app_routes import operation_id
from services.common.http.document_page import document_page_router
from services.common.http.problem import Problem, problem_response
from services.common.http.strict_requests import StrictRequests
from services.common.operations import install_operations
from services.common.settings import Streams

logger = logging.getLogger(__name__)

TOO_LONG = (
    "It takes too long to find what passes these filters (list_timeout_s). Ask for less, as of the time between "
    "`from` and `to`; or for all of it in another `format`, which is streamed and may take longer."
)


async def _refuse_nul(request: Request) -> None:
    """Refuse the one character that PostgreSQL has in no text; no record has it in a name."""
    if "\0" in request.url.path or b"%00" in request.scope["query_string"]:
        raise Problem(422, "the URL has the character NUL (%00), which is in no name")


async def _on_database_fault(_request: Request, error: Exception) -> JSONResponse:
    """Answer what may help: to ask for less, or to try again; what is wrong is for the log alone."""
    if isinstance(error, OperationalError) and took_too_long(error):
        return problem_response(422, TOO_LONG)
    logger.warning("the database cannot be used", extra={"fault": str(error)})
    return problem_response(503, "The database cannot be used now.", {"Retry-After": "1"})


def create_app(  # noqa: PLR0913 - the parts of the service
    settings: AlertingSettings,
    streams: Streams,
    engine: Engine,
    metrics: Metrics,
    progress: Progress,
    changes: QueryChanges,
    hub: LiveHub,
    sensors: RegisteredSensors,
    *,
    access: ComponentAccess,
    receivers: Receivers,
    acts: Acts,
    heavy: HeavyWork | None = None,
    writes: Callable[[], bool] = lambda: True,
    lifespan: Lifespan[FastAPI] | None = None,
) -> FastAPI:
    """Return the application; `lifespan` brings the database up to date; `app.state.end_live_streams` lets it stop."""
    app = FastAPI(
        title="Coincide alerting",
        description="Queries, matches, episodes, alerts and dead letters; all but the last as a live stream.",
        version="1",
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(_refuse_nul), Depends(StrictRequests("query"))],
        docs_url=None,  # see services.common.http.document_page
        redoc_url=None,
    )
    app.add_middleware(RequestTimes, metrics=metrics)
    lists = Lists(engine, settings)
    app.include_router(matches_router(engine, lists))
    app.include_router(episodes_router(engine, settings, lists))
    app.include_router(alerts_router(engine, settings, lists, acts))
    app.include_router(silences_router(engine, settings, acts))
    app.include_router(receivers_router(engine, settings, receivers, acts, changes))
    app.include_router(rebuilds_router(engine, acts))
    app.include_router(dead_letters_router(lists))
    app.include_router(queries_router(engine, changes, streams, sensors, receivers, heavy or OneThread()))
    app.include_router(live_router(engine, hub, metrics, settings, progress))
    app.include_router(history_router(settings))
    app.include_router(caller_router())
    app.include_router(keys_router(access))
    app.include_router(audit_router(access.clients.reader, settings.topic_names))
    if settings.console_url is not None:
        app.get("/", include_in_schema=False)(lambda: RedirectResponse(f"{settings.console_url}/", 307))
    install_operations(app, metrics.registry, progress.not_ready_because, lambda: {"writes": writes()})
    for fault in (OperationalError, NoConnectionError):
        app.add_exception_handler(fault, _on_database_fault)
    describe_all_bodies(app)
    app.include_router(document_page_router(app.title))
    describe_access(app, needs_key=settings.needs_key)
    app.state.end_live_streams = hub.close
    return app
