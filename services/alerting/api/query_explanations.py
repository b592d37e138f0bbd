"""/v1/queries/{id}/explain: what a query can find, and what chance gives it; of one that is stored, or of a body."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter
from fastapi import Query as Parameter
from sqlalchemy import Connection, Engine
from starlette.concurrency import run_in_threadpool

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json
from coincide.queries.explaining import Explanation, KnownSensor, SeenRates, chosen_threshold, sentences_of
from services.alerting.api.query_models import ExplainBody
from services.alerting.api.request_documents import Id, QueryInBody, described_body
from services.alerting.api.result_models import problems
from services.alerting.queries import edits
from services.alerting.queries.judges import judge_of
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryReport, read_report
from services.common.heavy_work import HeavyWork
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


def add_explaining(
    router: APIRouter, engine: Engine, streams: Streams, sensors: RegisteredSensors, heavy: HeavyWork
) -> None:
    """Add the routes that explain a query."""

    async def explained(
        query: AnyQuery, version: int | None, report: QueryReport, per_day: float | None
    ) -> ExplainBody:
        if not sensors.is_caught_up:
            raise try_again("the registered sensors are still being read from Kafka")
        asked = query, sensors.all(), report.seen, dict(streams), per_day
        explanation, least = await heavy.run(figures_of, *asked)
        chosen = [] if per_day is None else [chosen_threshold(least, per_day, explanation)]
        return ExplainBody(
            id=query.id,
            version=version,
            explanation=explanation,
            sentences=[*sentences_of(explanation), *chosen, OWN_UNCERTAINTY],
            chance_per_day=per_day,
            least_threshold=least,
        )

    @router.get("/{id}/explain", responses=problems(404, 409, 422, 503), summary="The reach of a query, and chance")
    async def explain_query(id: Id, chance_per_day: PerDay = None) -> ExplainBody:  # noqa: A002
        """Return figures and sentences, by the sensors registered and the rates seen in all areas."""

        def read() -> tuple[AnyQuery, int, QueryReport]:
            with engine.connect() as connection:
                return *_stored(connection, id), read_report(connection, id)

        query, version, report = await run_in_threadpool(read)
        return await explained(query, version, report, chance_per_day)

    @router.post(
        "/{id}/explain",
        responses=problems(413, 415, 422, 503),
        openapi_extra=described_body("application/sql"),
        summary="The reach of a query that is not stored, and chance",
    )
    async def explain_document(id: Id, document: QueryInBody, chance_per_day: PerDay = None) -> ExplainBody:  # noqa: A002
        """Return the same of the query in the body, which is not stored. No query need have this id."""

        def read() -> tuple[AnyQuery, QueryReport]:
            query = _explicable(edits.checked_query(id, document, streams), 422)
            with engine.connect() as connection:
                return query, read_report(connection, id)

        query, report = await run_in_threadpool(read)
        return await explained(query, None, report, chance_per_day)


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


def figures_of(
    query: AnyQuery, sensors: Sequence[KnownSensor], seen: SeenRates, streams: Streams, per_day: float | None
) -> tuple[Explanation, float | None]:
    """Return the figures, and the least threshold that chance passes so seldom, if that is asked; takes seconds."""
    explained = judge_of(query).explained([*sensors], seen, streams)
    assert explained is not None  # noqa: S101 - `_explicable` has refused what has none
    return explained.explanation(), None if per_day is None else explained.least_threshold(per_day)
