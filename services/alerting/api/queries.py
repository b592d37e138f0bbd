"""/v1/queries: read the queries, and change them while they run."""

from dataclasses import dataclass
from typing import Annotated, Literal

import yaml
from fastapi import APIRouter, Query, Response
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.queries.explaining import Explanation
from services.alerting.api.query_explanations import add_explaining
from services.alerting.api.query_models import QueryBody, QueryHistory, QueryList, Threshold
from services.alerting.api.request_documents import (
    AS_SQL,
    SQL_TYPES,
    Accept,
    Body,
    Id,
    QueryInBody,
    described_body,
    likes_sql,
    sql_response,
)
from services.alerting.api.result_models import problems
from services.alerting.queries import edits
from services.alerting.queries.edits import Edit, Target
from services.alerting.queries.judgement import (
    explained_of,
    refuse_hopeless,
    refuse_unknown_receivers,
    refuse_unreachable,
    warnings,
)
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.records.receiver import Receivers
from services.alerting.records.registered_sensors import RegisteredSensors
from services.alerting.store import query_rows
from services.alerting.store.query_rows import QueryReport, QueryVersion, read_report
from services.common.access.caller import Caller
from services.common.access.who import Author
from services.common.heavy_work import HeavyWork
from services.common.http.preconditions import IfMatch, Precondition, entity_tag
from services.common.http.problem import Problem
from services.common.resources.routes import PATCH, json_body
from services.common.settings import Streams

YAML = "application/yaml"
CHANGE_PROBLEMS = problems(404, 412, 413, 415, 422, 428, 503)


@dataclass(frozen=True)
class Surroundings:
    """What queries are judged by: declared streams, registered sensors, and receivers of alerts."""

    streams: Streams
    sensors: RegisteredSensors
    receivers: Receivers


def queries_router(
    engine: Engine,
    changes: QueryChanges,
    streams: Streams,
    sensors: RegisteredSensors,
    receivers: Receivers,
    heavy: HeavyWork,
) -> APIRouter:
    """Return the routes that read and change queries."""
    router = APIRouter(prefix="/v1/queries", tags=["queries"])
    _add_reading(router, engine, streams)
    add_explaining(router, engine, streams, sensors, heavy)
    _add_changing(router, engine, changes, Surroundings(streams, sensors, receivers))
    return router


def _add_reading(router: APIRouter, engine: Engine, streams: Streams) -> None:
    @router.get(
        "",
        response_model=QueryList,
        responses={200: {"content": {YAML: {"schema": {"type": "object"}}}}},
        summary="Every query",
    )
    def list_queries(
        format: Annotated[  # noqa: A002 - as for sensors
            Literal["json", "yaml"], Query(description="yaml: as config/queries.yaml declares them")
        ] = "json",
    ) -> QueryList | Response:
        """Return all, by id."""
        with engine.connect() as connection:
            queries, shards = query_rows.read_queries(connection), query_rows.read_status(connection)
        if format == "yaml":
            declared = {"queries": [query.query for query in queries]}
            return Response(yaml.safe_dump(declared, sort_keys=False), media_type=YAML)
        return QueryList(items=[_state(query, QueryReport.of(shards, query.id), streams) for query in queries])

    @router.get(
        "/{id}",
        response_model=QueryBody,
        responses={**AS_SQL, **problems(404, 409, 422)},
        summary="One query, with its ETag",
    )
    def get_query(id: Id, response: Response, accept: Accept = None) -> QueryBody | Response:  # noqa: A002
        """Return the query as it is now; its document alone, as SQL, if Accept likes text/plain best."""
        with engine.connect() as connection:
            query, report = query_rows.read_query(connection, id), read_report(connection, id)
        if query is None:
            raise Problem(404, f"there is no query {id[:100]!r}")
        if likes_sql(accept):
            return sql_response(query.query, entity_tag(query.version))
        response.headers["ETag"] = entity_tag(query.version)
        response.headers["Vary"] = "Accept"
        return _state(query, report, streams)

    @router.get("/{id}/versions", responses=problems(404, 422), summary="Every version of a query, newest first")
    def list_versions(id: Id) -> QueryHistory:  # noqa: A002
        with engine.connect() as connection:
            versions = query_rows.read_versions(connection, id)
        if not versions:
            raise Problem(404, f"there never was a query {id[:100]!r}")
        return QueryHistory(id=id, items=versions)


def _add_changing(router: APIRouter, engine: Engine, changes: QueryChanges, around: Surroundings) -> None:
    streams = around.streams

    async def make(id_: str, edit: Edit, precondition: Precondition, who: Caller, response: Response) -> QueryBody:
        """Make a change that leaves a query."""
        query, created = await changes.make(id_, edit, precondition, who)
        response.status_code = 201 if created else 200
        response.headers["ETag"] = entity_tag(query.version)
        return _state(query, await run_in_threadpool(_report, engine, query.id), streams)

    async def make_judged(
        id_: str, edit: Edit, precondition: Precondition, who: Caller, response: Response
    ) -> QueryBody:
        """Make a change that says anew what the query looks at."""
        report = await run_in_threadpool(_report, engine, id_)
        judged = _Judged(edit, report, around)
        body = await make(id_, judged, precondition, who, response)
        return body.model_copy(update={"explanation": judged.explanation})

    @router.put(
        "/{id}",
        responses={201: {"model": QueryBody, "description": "Created"}, **CHANGE_PROBLEMS, **problems(409)},
        openapi_extra=described_body(*SQL_TYPES),
        summary="Create or replace a query",
    )
    async def put_query(
        id: Id,  # noqa: A002
        document: QueryInBody,
        precondition: IfMatch,
        who: Author,
        response: Response,
    ) -> QueryBody:
        """Answer once the log has acknowledged the change. Replacing one needs If-Match; a paused one stays paused."""
        return await make_judged(id, edits.replacement(id, document, streams), precondition, who, response)

    @router.patch("/{id}", responses=CHANGE_PROBLEMS, openapi_extra=json_body(PATCH), summary="Change parts of a query")
    async def patch_query(id: Id, patch: Body, precondition: IfMatch, who: Author, response: Response) -> QueryBody:  # noqa: A002
        """Apply a JSON merge patch (RFC 7396) to the query's document."""
        return await make_judged(id, edits.patched(id, patch, streams), precondition, who, response)

    @router.delete("/{id}", status_code=204, responses=CHANGE_PROBLEMS, summary="Remove a query")
    async def delete_query(id: Id, precondition: IfMatch, who: Author) -> None:  # noqa: A002
        """Remove it; its matches and its versions can still be read."""
        await changes.make(id, edits.removal(id), precondition, who)

    @router.patch("/{id}/threshold", responses=CHANGE_PROBLEMS, summary="Change a threshold of a query")
    async def patch_threshold(
        id: Id,  # noqa: A002
        body: Threshold,
        precondition: IfMatch,
        who: Author,
        response: Response,
    ) -> QueryBody:
        """Change one threshold and nothing else: the query goes on, with what it has seen since its activation."""
        return await make_judged(id, _threshold_edit(id, body, streams), precondition, who, response)

    @router.post("/{id}/pause", responses=CHANGE_PROBLEMS, summary="Pause a query")
    async def pause_query(id: Id, precondition: IfMatch, who: Author, response: Response) -> QueryBody:  # noqa: A002
        """Emit no match until it is resumed; pairs completed meanwhile are never emitted."""
        return await make(id, edits.with_pause(id, True, streams), precondition, who, response)

    @router.post("/{id}/resume", responses=CHANGE_PROBLEMS, summary="Resume a query")
    async def resume_query(id: Id, precondition: IfMatch, who: Author, response: Response) -> QueryBody:  # noqa: A002
        """Let a paused or suspended query go on. A suspended one counts detections anew from there."""
        return await make(id, edits.with_pause(id, False, streams), precondition, who, response)


def _threshold_edit(id_: str, body: Threshold, streams: Streams) -> Edit:
    if body.threshold is not None:
        return edits.with_threshold(id_, body.threshold, body.between, streams)
    assert body.joint_threshold is not None  # noqa: S101 - the model takes one of the two
    return edits.with_joint_threshold(id_, body.joint_threshold, streams)


class _Judged:
    """An edit refused if its query cannot work at the rates reported, or reach its thresholds; keeps its figures."""

    def __init__(self, edit: Edit, report: QueryReport, around: Surroundings) -> None:
        self._edit, self._report, self._around = edit, report, around
        self.explanation: Explanation | None = None

    def __call__(self, current: QueryVersion | None) -> Target:
        target = self._edit(current)
        if target.query is not None:
            around, told_before = self._around, [] if current is None else current.receivers
            refuse_unknown_receivers(target.query, told_before, around.receivers)
            refuse_hopeless(target.query, self._report, around.streams)
            explained = explained_of(target.query, around.sensors, self._report.seen, around.streams)
            self.explanation = None if explained is None else explained.explanation()
            refuse_unreachable(target.query, self.explanation)
        return target


def _report(engine: Engine, id_: str) -> QueryReport:
    with engine.connect() as connection:
        return read_report(connection, id_)


def _state(query: QueryVersion, report: QueryReport, streams: Streams) -> QueryBody:
    now = {name: getattr(query, name) for name in ("id", "version", "paused", "changed_at_us")}
    document = query.query or {}
    expected = warnings(document, report, streams)
    return QueryBody.model_validate({**now, **vars(report), "query": document, "warnings": expected})
