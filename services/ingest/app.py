"""The application: routes around the parts that it receives; it starts nothing by itself."""

from collections.abc import Callable

from fastapi import Depends, FastAPI
from starlette.types import Lifespan

from services.common.access.audit import AuditTrail
from services.common.access.description import describe_access
from services.common.clock import Clock, system_clock_us
from services.common.http.app_routes import operation_id
from services.common.http.document_page import document_page_router
from services.common.http.strict_requests import StrictRequests
from services.common.operations import install_operations
from services.common.resources.changes import Changes
from services.ingest.clocks.clock_changes import clock_changes
from services.ingest.clocks.clocks_api import clocks_router
from services.ingest.http.detections_endpoint import DetectionsEndpoint, IngestApp
from services.ingest.http.recent_detections import RecentDetections, recent_detections_router
from services.ingest.http.sensor_bulk import sensor_bulk_router
from services.ingest.http.sensors_api import sensors_router
from services.ingest.http.streams_api import streams_router
from services.ingest.intake.dead_letter_topic import DeadLetters
from services.ingest.intake.intake import Intake
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import Publisher
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.stream_changes import stream_resource
from services.ingest.settings import IngestSettings
from services.ingest.templates.proposals_api import Proposals, proposals_router
from services.ingest.templates.proposals_topic import ReadProposals
from services.ingest.templates.template_changes import template_changes
from services.ingest.templates.templates_api import templates_router


def create_app(  # noqa: PLR0913 - the parts of the service
    settings: IngestSettings,
    registry: Registry,
    publisher: Publisher,
    metrics: IngestMetrics,
    *,
    audit: AuditTrail,
    read_proposals: ReadProposals = list,
    log_answers: Callable[[], bool] = lambda: True,
    clock_us: Clock = system_clock_us,
    lifespan: Lifespan[FastAPI] | None = None,
) -> FastAPI:
    """Return the application; `lifespan` starts and stops `publisher` and whoever feeds `registry`."""
    dead_letters = DeadLetters(publisher, metrics, settings.dead_letters_per_s)
    max_future_us = int(settings.max_future_s * 1e6)
    recent = RecentDetections(settings.recent_detections)
    digits = settings.sigma_digits
    intake = Intake(registry, publisher, dead_letters, metrics, max_future_us, digits, clock_us, recent.keep)
    app = IngestApp(
        DetectionsEndpoint(settings, registry, intake, metrics),
        title="Coincide ingest",
        version="1",
        description="Takes detections, stamps them with their sensor's template and hands them to the log.",
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(StrictRequests())],
        docs_url=None,  # see services.common.http.document_page
        redoc_url=None,
    )
    app.include_router(recent_detections_router(recent))
    streams = Changes(stream_resource(registry), publisher, audit, clock_us)
    app.include_router(streams_router(registry, streams, settings))
    changes = SensorChanges(registry, publisher, audit, clock_us)
    app.include_router(sensors_router(changes, settings))
    clocks, templates = clock_changes(changes), template_changes(changes)
    app.state.unfinished = (clocks.finish, templates.finish)  # coroutine functions, which `lifespan` runs
    app.include_router(clocks_router(clocks, settings))
    app.include_router(templates_router(templates, settings))
    app.include_router(sensor_bulk_router(changes, settings))
    app.include_router(proposals_router(Proposals(changes, read_proposals)))

    def not_ready_because() -> list[str]:
        silence = [] if log_answers() else [f"{publisher.log_name} does not answer"]
        problem = [] if publisher.problem is None else [publisher.problem]
        return [*dict.fromkeys(silence + problem), *registry.unread()]

    install_operations(app, metrics.registry, not_ready_because)
    app.include_router(document_page_router(app.title))
    describe_access(app, needs_key=settings.needs_key)
    return app
