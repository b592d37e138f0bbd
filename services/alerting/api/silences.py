"""/v1/silences: alerts that are to ring nobody for a while, who says so and why."""

import uuid
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Response
from msgspec import to_builtins
from msgspec.json import encode
from msgspec.structs import asdict, replace
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.errors import QueryError
from coincide.queries.fields.checks import refuse_unless_name
from coincide.wire.fields import LONGEST_NAME
from coincide.wire.last_change import LastChange
from services.alerting.alerts.controls import SILENCE, Silence, read_silence, read_silences
from services.alerting.alerts.groups import labels_of_alerts
from services.alerting.api.listings import Instant
from services.alerting.api.request_documents import json_body
from services.alerting.api.result_models import COMPONENTS, problems
from services.alerting.queries.acts import Acts
from services.alerting.records.records import NO_NUL, TOPICS
from services.alerting.settings import AlertingSettings
from services.common.access.who import Author
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem
from services.common.http.strict_requests import model_as
from services.common.resources.changes import Changes
from services.common.resources.resource import Resource, replacement, version_of
from services.common.resources.routes import Described, add_routes, shown

LONGEST_US = 366 * 86_400 * 1_000_000

Glob = Annotated[str, Field(max_length=LONGEST_NAME, pattern=NO_NUL)]


class SilenceDocument(BaseModel):
    """Which alerts, for how long, who and why."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    matchers: dict[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=NO_NUL)], Glob] = Field(
        min_length=1,
        max_length=16,
        description="Label to text in which * stands for any characters and ? for one; all must fit. Every alert has "
        "kind and severity, and where it is of them, query and area, beside the labels of its query's rule.",
        examples=[{"query": "bang", "area": "harbour*"}],
    )
    from_: Instant | None = Field(None, alias="from", description="When it begins; left out, now.")
    until: Instant = Field(description="When it ends.")
    by: str = Field(min_length=1, max_length=LONGEST_NAME, pattern=NO_NUL, description="Who says so.")
    why: str = Field(min_length=1, max_length=1000, pattern=NO_NUL, description="Why.")


class SilenceBody(BaseModel):
    """A silence."""

    v: int
    id: str
    matchers: dict[str, str]
    from_us: int
    until_us: int
    by: str
    why: str
    created_at_us: int
    version: int = Field(description="How often it was changed; the ETag. 0: its record is older than versions.")
    changed_at_us: int | None = None
    changed_by: str | None = Field(None, description="Id of the key that changed it.")
    active: bool = Field(description="Whether it silences anything now.")


class SilenceList(BaseModel):
    """Silences, those that end last first."""

    items: list[SilenceBody]


def silences_router(engine: Engine, settings: AlertingSettings, acts: Acts) -> APIRouter:
    """Return the routes of silences."""
    router = APIRouter(prefix="/v1/silences", tags=["alerts"])
    changes = Changes(_resource(engine, settings, acts), acts.publisher, acts.audit, acts.now_us, acts.timeout_s)
    _add_list(router, engine, acts)
    described = Described(
        parameter="id",
        longest=200,
        body=SilenceBody,
        show=lambda id_: _shown(_one(engine, id_), acts.now_us()),
        effect="it holds",
        form="The body is as for POST. Where it says no `from`, the silence keeps it, and a new one begins now.",
        removal="End it now, and keep it in the list. One that is past is forgotten.",
        conflict="There are too many",
        schema={"$ref": f"{COMPONENTS}{SilenceDocument.__name__}"},
    )
    _add_beginning(router, changes, described)
    add_routes(router, changes.of, changes.make, json_body, described)
    return router


def _add_list(router: APIRouter, engine: Engine, acts: Acts) -> None:
    @router.get("", summary="Every silence, those that end last first")
    def list_silences() -> SilenceList:
        """Return silences, past ones too."""
        with engine.connect() as connection:
            silences = read_silences(connection)
        now_us = acts.now_us()
        return SilenceList(items=[_shown(each, now_us) for each in sorted(silences, key=lambda s: -s.until_us)])


def _add_beginning(router: APIRouter, changes: Changes[Silence], described: Described) -> None:
    @router.post(
        "", response_model=SilenceBody, status_code=201, responses=problems(409, 422, 503), summary="Begin a silence"
    )
    async def post_silence(document: SilenceDocument, who: Author, response: Response) -> Any:
        """Withhold matching alerts from every receiver. Those that still fire when it ends are told then."""
        id_ = f"s-{uuid.uuid4().hex}"
        said = document.model_dump(by_alias=True, exclude_none=True)
        await changes.make(id_, replacement(changes.of, id_, said), Precondition(must_be_new=True), who)
        return await run_in_threadpool(shown, described, id_, response)


def _resource(engine: Engine, settings: AlertingSettings, acts: Acts) -> Resource[Silence]:
    def read(id_: str, document: object, present: Silence | None) -> Silence:
        return _silence_in(engine, id_, document, present, acts.now_us())

    def ended(silence: Silence) -> Silence | None:
        now_us = acts.now_us()
        if silence.until_us <= now_us:
            return None
        return replace(silence, from_us=min(silence.from_us, now_us), until_us=now_us)

    def audited(id_: str, before: Silence | None, after: Silence | None) -> tuple[str, str, Any, Any]:
        if before is None or after is None:
            done = "begun" if before is None else "forgotten"
        else:
            done = "ended" if after.until_us <= acts.now_us() else "changed"
        return f"silence.{done}", id_, to_builtins(before), to_builtins(after)

    return Resource(
        noun="silence",
        topic=TOPICS.alert_controls,
        not_ready_because=acts.progress.not_ready_because,
        present=lambda id_: run_in_threadpool(_found, engine, id_),
        version=version_of,
        read=read,
        document=lambda silence: silence.document,
        refuse=lambda _, present, __: _refuse_too_many(engine, settings.silences_max) if present is None else None,
        record=_record,
        audited=audited,
        left=ended,
    )


def _silence_in(engine: Engine, id_: str, document: object, present: Silence | None, now_us: int) -> Silence:
    try:
        refuse_unless_name("id", id_)
    except QueryError as error:
        raise Problem(422, f"id: {error.message}", field="id") from None
    said = model_as(SilenceDocument, document)
    from_us = said.from_ if said.from_ is not None else now_us if present is None else present.from_us
    _refuse_unless_span(from_us, said.until, now_us)
    _refuse_unknown_labels(engine, [each for each in said.matchers if present is None or each not in present.matchers])
    return Silence(
        v=1,
        id=id_,
        matchers=said.matchers,
        from_us=from_us,
        until_us=said.until,
        by=said.by,
        why=said.why,
        created_at_us=now_us if present is None else present.created_at_us,
    )


def _record(id_: str, wanted: Silence | None, change: LastChange) -> tuple[bytes, bytes | None]:
    key = f"{SILENCE}{id_}".encode()
    return key, None if wanted is None else encode(replace(wanted, **asdict(change)))


def _refuse_too_many(engine: Engine, most: int) -> None:
    with engine.connect() as connection:
        count = len(read_silences(connection))
    if count >= most:
        raise Problem(409, f"there are {count} silences, the most allowed (silences_max)")


def _refuse_unless_span(from_us: int, until_us: int, now_us: int) -> None:
    if until_us <= max(from_us, now_us):
        raise Problem(422, "until: is not after from and now", field="until")
    if until_us - from_us > LONGEST_US:
        raise Problem(422, "until: is more than 366 days after from", field="until")


def _refuse_unknown_labels(engine: Engine, matchers: Iterable[str]) -> None:
    """Raise a Problem, 422, for a label that no alert has: a silence of it would silence nothing, or everything."""
    with engine.connect() as connection:
        labels = labels_of_alerts(connection)
    for label in matchers:
        if label not in labels:
            field, allowed = f"matchers.{label}", ", ".join(labels)
            raise Problem(422, f"{field}: no alert has such a label, but {allowed}", field=field, allowed=allowed)


def _shown(silence: Silence, now_us: int) -> SilenceBody:
    return SilenceBody(**asdict(silence), active=silence.from_us <= now_us < silence.until_us)


def _found(engine: Engine, id_: str) -> Silence | None:
    with engine.connect() as connection:
        return read_silence(connection, id_)


def _one(engine: Engine, id_: str) -> Silence:
    found = _found(engine, id_)
    if found is None:
        raise Problem(404, f"there is no silence {id_[:100]!r}")
    return found
