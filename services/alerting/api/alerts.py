"""/v1/alerts: what fires and what has fired, how each came to be as it is, and who takes it over."""

from operator import attrgetter
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.wire.fields import LONGEST_NAME
from services.alerting.api.listings import (
    Accept,
    Instant,
    Listing,
    Lists,
    QueryListParameters,
    list_answers,
    read_page,
)
from services.alerting.api.result_models import AlertPage, TransitionPage, answers
from services.alerting.exports.result_columns import columns_of
from services.alerting.queries.acts import Acts
from services.alerting.records.alert import Alert, decode_alert
from services.alerting.settings import AlertingSettings
from services.alerting.store import alert_rows
from services.alerting.store.alert_rows import AlertFilter
from services.alerting.store.live_rows import newest_sequence
from services.alerting.store.match_rows import with_member
from services.common.access.who import Author
from services.common.http.pages import PageParameters, json_page
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH

AlertId = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH, description="The alert's id.")]


class AlertParameters(QueryListParameters):
    """Filters and page of GET /v1/alerts."""

    state: Literal["firing", "acknowledged", "resolved"] | None = Field(None, description="Only alerts in this state.")
    severity: str | None = Field(None, max_length=LONGEST_NAME, description="Only alerts so severe.")
    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only alerts of this area.")
    kind: Literal["episode", "match", "system"] | None = Field(None, description="Only alerts of this kind.")
    from_: Instant | None = Field(None, alias="from", description="Only alerts that fired at or after this time.")
    to: Instant | None = Field(None, description="Only alerts that fired at or before this time.")


class AcknowledgementBody(BaseModel):
    """Who takes over an alert, and why they say so."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(min_length=1, max_length=LONGEST_NAME, description="Who.")
    why: str = Field("", max_length=1000, description="What they know or do about it.")


ALERTS = Listing("alerts", alert_rows.read_newest_first, attrgetter("body"), columns_of(Alert))


def alerts_router(engine: Engine, settings: AlertingSettings, lists: Lists, acts: Acts) -> APIRouter:
    """Return the routes that read and acknowledge alerts."""
    router = APIRouter(prefix="/v1/alerts", tags=["alerts"])

    @router.get("", responses=list_answers(AlertPage), summary="Alerts, those that fired last first")
    def list_alerts(wanted: Annotated[AlertParameters, Query()], accept: Accept = None) -> Response:
        """Return the alerts that pass every filter. An alert keeps its place when it changes."""
        filters = AlertFilter(None, wanted.area, wanted.kind, wanted.severity, wanted.state, wanted.from_, wanted.to)
        return lists.answer(ALERTS, wanted, filters, accept, newest_sequence)

    @router.get("/{id}", responses=answers(Alert, 404, 422), summary="One alert")
    def get_alert(id: AlertId) -> Response:  # noqa: A002 - the path's name for it
        """Return the alert as it is now."""
        return Response(_body(engine, id), media_type="application/json")

    @router.get(
        "/{id}/history",
        responses=answers(TransitionPage, 404, 422),
        summary="How an alert came to be as it is, newest first",
    )
    def list_transitions(id: AlertId, parameters: Annotated[PageParameters, Query()]) -> Response:  # noqa: A002
        """Return every transition that is kept, and the alert after each."""
        _body(engine, id)
        with engine.connect() as connection:
            rows, more = read_page(
                parameters,
                settings,
                id,
                lambda before, limit: alert_rows.read_transitions(connection, id, before, limit),
            )
        bodies = [with_member(with_member(row.body, "change", row.kind), "changed_at_us", row.at_us) for row in rows]
        return json_page(bodies, next_cursor=more)

    @router.post(
        "/{id}/acknowledge",
        responses=answers(Alert, 404, 409, 422, 503),
        summary="Take over an alert",
    )
    async def acknowledge(id: AlertId, said: AcknowledgementBody, who: Author) -> Response:  # noqa: A002
        """Answer once Kafka has it. Nobody is told again of an alert that was acknowledged unless it gets worse."""
        alert = decode_alert(await run_in_threadpool(_body, engine, id))
        if not alert.is_active:
            raise Problem(409, f"the alert {id[:100]!r} has been resolved: there is nothing to take over")
        await acts.acknowledge(who, id, said.by, said.why)
        return Response(await run_in_threadpool(_body, engine, id), media_type="application/json")

    return router


def _body(engine: Engine, id_: str) -> str:
    with engine.connect() as connection:
        body = alert_rows.read_alert(connection, id_)
    if body is None:
        raise Problem(404, f"there is no alert {id_[:100]!r}")
    return body
