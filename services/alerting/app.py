"""The alerting application: routes around the parts that it receives; it starts nothing by itself."""

from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.types import Lifespan

from services.alerting.api.listings import Lists
from services.alerting.api.live import live_router
from services.alerting.api.queries import queries_router
from services.alerting.api.result_models import describe_all_bodies
from services.alerting.api.results import dead_letters_router, episodes_router, matches_router
from services.alerting.kafka.projection import Progress
from services.alerting.live.hub import LiveHub
from services.alerting.metrics import Metrics, RequestTimes
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.queries.registered_sensors import RegisteredSensors
from services.alerting.settings import AlertingSettings
from services.common.operations import install_operations
from services.common.settings import Streams


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
    lifespan: Lifespan[FastAPI] | None = None,
) -> FastAPI:
    """Return the application; `lifespan` brings the database up to date; `app.state.end_live_streams` lets it stop."""
    app = FastAPI(
        title="Coincide alerting",
        description="Queries, matches, episodes and dead letters; matches and episodes as a live stream.",
        version="1",
        lifespan=lifespan,
        # The pages of documentation that FastAPI brings load scripts from elsewhere; /openapi.json stays.
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(RequestTimes, metrics=metrics)
    lists = Lists(engine, settings)
    app.include_router(matches_router(engine, lists))
    app.include_router(episodes_router(engine, settings, lists))
    app.include_router(dead_letters_router(lists))
    app.include_router(queries_router(engine, changes, streams, sensors))
    app.include_router(live_router(engine, hub, metrics, settings))
    install_operations(app, metrics.registry, progress.not_ready_because)
    describe_all_bodies(app)
    app.state.end_live_streams = hub.close
    return app
