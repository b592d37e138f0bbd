"""/v1/receivers: who is told of alerts, whether they were, and what to do where they were not."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from msgspec.structs import asdict
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.wire.content_ids import content_id
from coincide.wire.fields import LONGEST_NAME
from services.alerting.api.listings import read_page
from services.alerting.api.request_documents import json_body
from services.alerting.api.result_models import problems
from services.alerting.exports.result_columns import encode_json
from services.alerting.queries.acts import Acts
from services.alerting.queries.query_changes import QueryChanges
from services.alerting.receivers.connections import DeliveryError
from services.alerting.receivers.receiver_changes import receiver_resource, refuse_declared
from services.alerting.receivers.sending import sender_of
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import ONE_OF, RECEIVER_SCHEMA, Receiver, Receivers, ReceiverWays
from services.alerting.settings import AlertingSettings
from services.alerting.store import delivery_rows, query_rows
from services.alerting.store.delivery_rows import Waiting
from services.common.access.caller import Caller
from services.common.access.who import Author
from services.common.http.pages import Page, PageParameters, json_page
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH
from services.common.resources.changes import Changes
from services.common.resources.resource import Edit
from services.common.resources.routes import Described, add_routes

ReceiverId = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH, description="The receiver's id.")]
DeliveryKey = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH)]


class ReceiverBody(ReceiverWays):
    """One receiver. What may hold a secret is hidden."""

    model_config = ConfigDict(extra="allow")

    system: bool = Field(description="Whether it also hears what is wrong with Coincide itself.")
    declared: bool = Field(description="Whether it stands in the file, and cannot be changed over REST.")
    waiting: int = Field(description="Deliveries that wait.")
    waiting_since_us: int | None = Field(description="Since when the oldest of them does.")
    version: int = Field(description="The ETag: how often it was changed. 0: it stands in the file, or is older.")
    changed_at_us: int | None = None
    changed_by: str | None = Field(None, description="Id of the key that changed it.")


class ReceiverList(BaseModel):
    """Every receiver, by id."""

    items: list[ReceiverBody]


class DeliveryBody(BaseModel):
    """One transition of an alert, and whether the receiver has heard of it."""

    key: str = Field(description="What the receiver sees as webhook-id, and as the id of the CloudEvent.")
    alert: str
    change: str
    changed_at_us: int
    state: Literal["waiting", "delivered", "dead"]
    since_us: int = Field(description="Waits since then, or was delivered or given up then.")
    attempts: int
    reason: str | None


class DeliveryPage(Page[DeliveryBody]):
    """Deliveries to one receiver, those of the last transitions first."""


class DeliveryParameters(PageParameters):
    """Filters and page of a receiver's deliveries."""

    state: Literal["waiting", "delivered", "dead"] | None = Field(None, description="Only deliveries in this state.")


class TestBody(BaseModel):
    """The receiver has taken a test message."""

    delivered: Literal[True] = True


def receivers_router(
    engine: Engine, settings: AlertingSettings, receivers: Receivers, acts: Acts, queries: QueryChanges
) -> APIRouter:
    """Return the routes of receivers; they do not change while a query does."""
    router = APIRouter(prefix="/v1/receivers", tags=["alerts"])
    _add_reading(router, engine, settings, receivers)
    _add_changing(router, engine, settings, receivers, acts, queries)
    _add_sending(router, engine, settings, receivers, acts)
    return router


def _add_reading(router: APIRouter, engine: Engine, settings: AlertingSettings, receivers: Receivers) -> None:
    @router.get("", summary="Every receiver")
    def list_receivers() -> ReceiverList:
        return ReceiverList(items=_shown(engine, receivers.all()))

    @router.get(
        "/{id}/deliveries",
        response_model=DeliveryPage,
        responses=problems(422),
        summary="Deliveries to a receiver, also those that failed",
    )
    def list_deliveries(id: ReceiverId, wanted: Annotated[DeliveryParameters, Query()]) -> Response:  # noqa: A002
        """Return deliveries, those of the last transitions first; also of a receiver that is no more."""
        with engine.connect() as connection:
            read = partial(delivery_rows.read_newest_first, connection, id, wanted.state)
            rows, more = read_page(wanted, settings, (id, wanted.state), read)
        names = ("key", "alert", "change", "changed_at_us", "state", "since_us", "attempts", "reason")
        bodies = [encode_json(dict(zip(names, row[1:], strict=True))).decode() for row in rows]
        return json_page(bodies, next_cursor=more)


def _add_changing(
    router: APIRouter,
    engine: Engine,
    settings: AlertingSettings,
    receivers: Receivers,
    acts: Acts,
    queries: QueryChanges,
) -> None:
    def queries_that_name(id_: str) -> list[str]:
        with engine.connect() as connection:
            return query_rows.queries_that_name(connection, id_)

    of = receiver_resource(receivers, settings, acts.progress.not_ready_because, queries_that_name)
    changes = Changes(of, acts.publisher, acts.audit, acts.now_us, acts.timeout_s)

    async def make(id_: str, edit: Edit[Receiver], seen: Precondition, who: Caller) -> bool:
        refuse_declared(receivers.get(id_))
        async with queries.one_at_a_time:  # no query comes to name a receiver that goes
            return await changes.make(id_, edit, seen, who)

    described = Described(
        parameter="id",
        longest=200,
        body=ReceiverBody,
        show=lambda id_: _shown(engine, [_one(receivers, id_)])[0],
        effect="it is told from then on",
        form=f"The body is {ONE_OF}, as in config/receivers.yaml.",
        removal="Tell it nothing more. What waited for it is given up.",
        conflict="It stands in the file of receivers, there are too many, or it is to go and a query's alert names it",
        schema=RECEIVER_SCHEMA,
    )
    add_routes(router, of, make, json_body, described)


def _add_sending(
    router: APIRouter, engine: Engine, settings: AlertingSettings, receivers: Receivers, acts: Acts
) -> None:
    @router.post("/{id}/test", responses=problems(404, 422, 502), summary="Send a test message")
    def test_receiver(id: ReceiverId) -> TestBody:  # noqa: A002
        """Send a message that says it is a test, now and once; a 502 says why the receiver did not take it."""
        receiver = _one(receivers, id)
        sender = sender_of(receiver, may_be_private=settings.receivers_may_be_private)
        try:
            sender.send(_test_message(receiver, acts.now_us()))
        except DeliveryError as error:
            raise Problem(502, f"{id} was not told: {error.reason}") from error
        finally:
            sender.close()
        return TestBody()

    @router.post(
        "/{id}/deliveries/{key}/resend",
        status_code=202,
        responses=problems(404, 422, 503),
        summary="Send a delivery again",
    )
    async def resend(id: ReceiverId, key: DeliveryKey, who: Author) -> None:  # noqa: A002
        """Let it wait again, whether it was delivered or given up; it keeps its key."""
        _one(receivers, id)
        settled = await run_in_threadpool(_delivery, engine, id, key)
        if settled is None:
            raise Problem(404, f"there is no delivery {key[:100]!r} to {id}")
        await acts.send_again(who, settled)


def _one(receivers: Receivers, id_: str) -> Receiver:
    receiver = receivers.get(id_)
    if receiver is None:
        raise Problem(404, f"there is no receiver {id_[:100]!r}")
    return receiver


def _shown(engine: Engine, some: list[Receiver]) -> list[ReceiverBody]:
    with engine.connect() as connection:
        waiting = delivery_rows.waiting_by_receiver(connection)
    bodies = []
    for each in some:
        count, since_us = waiting.get(each.id, (0, None))
        counted = {"waiting": count, "waiting_since_us": since_us}
        bodies.append(ReceiverBody(**each.shown(), **counted, **asdict(each.change)))
    return bodies


def _delivery(engine: Engine, receiver: str, key: str) -> delivery_rows.DeliveryRecord | None:
    with engine.connect() as connection:
        return delivery_rows.read_delivery(connection, receiver, key)


def _test_message(receiver: Receiver, now_us: int) -> Waiting:
    alert = Alert(
        id=content_id("a", ["test", receiver.id, now_us]),
        kind="system",
        source="test",
        severity="info",
        title=f"Coincide can reach {receiver.id}",
        text="This is a test. Nothing has happened.",
        fired_at_us=now_us,
        resolve_at_us=now_us + 60_000_000,
        revision=0,
        received_at_us=now_us,
    )
    return Waiting(content_id("n", ["test", receiver.id, now_us]), 0, "firing", now_us, alert, now_us)
