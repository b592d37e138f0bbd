"""/v1/queries/{id}/explain: what a query can find, and what chance gives it; of one that is stored, or of a body."""

from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from fastapi import Query as Parameter
from sqlalchemy import Connection, Engine

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json
from coincide.queries.explaining import chosen_threshold, sentences_of
from services.alerting.api.query_models import ExplainBody
from services.alerting.api.request_documents import Id, QueryInBody, described_body
from services.alerting.api.result_models import problems
from services.alerting.queries import edits
from services.alerting.queries.judgement import explained_of
from services.alerting.queries.judges import judge_of
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryReport, read_report
from services.common.http.problem import Problem, try_again
from services.common.settings import Streams

OWN_UNCERTAINTY = (
    "Detections that bring an uncertainty of their own are judged by it; the figures here go by the templates of the "
    "registered sensors."
)
OVER_READINGS = "the query is over readings: it has no thresholds that could be explained"
PerDay = Annotated[
    float | None, Parameter(gt=0, le=1e9, description="Ask for the threshold with so few matches by chance.")
]


def add_explaining(router: APIRouter, engine: Engine, streams: Streams, sensors: RegisteredSensors) -> None:
    """Add the routes that explain a query, one at a time."""
    one_at_a_time = CapacityLimiter(1)  # of the threads that all requests share

    @router.get("/{id}/explain", responses=problems(404, 409, 422, 503), summary="The reach of a query, and chance")
    async def explain_query(id: Id, chance_per_day: PerDay = None) -> ExplainBody:  # noqa: A002
        """Return figures and sentences, by the sensors registered and the rates seen in all areas."""

        def explain() -> ExplainBody:
            with engine.connect() as connection:
                query, version = _stored(connection, id)
                report = read_report(connection, id)
            return _explain_body(query, version, report, chance_per_day, sensors, streams)

        return await to_thread.run_sync(explain, limiter=one_at_a_time)

    @router.post(
        "/{id}/explain",
        responses=problems(413, 415, 422, 503),
        openapi_extra=described_body("application/sql"),
        summary="The reach of a query that is not stored, and chance",
    )
    async def explain_document(id: Id, document: QueryInBody, chance_per_day: PerDay = None) -> ExplainBody:  # noqa: A002
        """Return the same of the query in the body, which is not stored. No query need have this id."""

        def explain() -> ExplainBody:
            query = _explicable(edits.checked_query(id, document, streams), 422)
            with engine.connect() as connection:
                report = read_report(connection, id)
            return _explain_body(query, None, report, chance_per_day, sensors, streams)

        return await to_thread.run_sync(explain, limiter=one_at_a_time)


def _stored(connection: Connection, id_: str) -> tuple[AnyQuery, int]:
    version = query_rows.read_query(connection, id_)
    if version is None:
        raise Problem(404, f"there is no query {id_[:100]!r}")
    try:
        query = query_from_json(version.query)
    except QueryError as error:
        raise Problem(409, f"the query was written by a newer alerting: {error}") from error
    return _explicable(query, 409), version.version


def _explicable(query: AnyQuery, status: int) -> AnyQuery:
    if not judge_of(query).explains:
        raise Problem(status, OVER_READINGS)
    return query


def _explain_body(
    query: AnyQuery,
    version: int | None,
    report: QueryReport,
    per_day: float | None,
    sensors: RegisteredSensors,
    streams: Streams,
) -> ExplainBody:
    explained = explained_of(query, sensors, report.seen, streams)
    if explained is None:
        raise try_again("the registered sensors are still being read from Kafka")
    explanation = explained.explanation()
    least = None if per_day is None else explained.least_threshold(per_day)
    chosen = [] if per_day is None else [chosen_threshold(least, per_day, explanation)]
    return ExplainBody(
        id=query.id,
        version=version,
        explanation=explanation,
        sentences=[*sentences_of(explanation), *chosen, OWN_UNCERTAINTY],
        chance_per_day=per_day,
        least_threshold=least,
    )
