"""/v1/silences: alerts that are to ring nobody for a while, who says so and why."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Path
from msgspec.structs import asdict
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from services.alerting.alerts.alert_labels import labels_of_alerts
from services.alerting.alerts.controls import Silence, read_silences
from services.alerting.api.listings import Instant
from services.alerting.api.result_models import problems
from services.alerting.queries.acts import Acts
from services.alerting.records.records import NO_NUL
from services.alerting.settings import AlertingSettings
from services.common.access.who import Author
from services.common.http.problem import Problem

LONGEST_US = 366 * 86_400 * 1_000_000

SilenceId = Annotated[str, Path(max_length=200, description="The silence's id.")]
Glob = Annotated[str, Field(max_length=200, pattern=NO_NUL)]


class SilenceDocument(BaseModel):
    """Which alerts, for how long, who and why."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    matchers: dict[Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL)], Glob] = Field(
        min_length=1,
        max_length=16,
        description="Label to text in which * stands for any characters and ? for one; all must fit. Every alert has "
        "kind and severity, and where it is of them, query and area, beside the labels of its query's rule.",
        examples=[{"query": "bang", "area": "harbour*"}],
    )
    from_: Instant | None = Field(None, alias="from", description="When it begins; left out, now.")
    until: Instant = Field(description="When it ends.")
    by: str = Field(min_length=1, max_length=200, pattern=NO_NUL, description="Who says so.")
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
    active: bool = Field(description="Whether it silences anything now.")


class SilenceList(BaseModel):
    """Silences, those that end last first."""

    items: list[SilenceBody]


def silences_router(engine: Engine, settings: AlertingSettings, acts: Acts) -> APIRouter:
    """Return the routes of silences."""
    router = APIRouter(prefix="/v1/silences", tags=["alerts"])
    _add_reading(router, engine, acts)
    _add_changing(router, engine, settings, acts)
    return router


def _add_reading(router: APIRouter, engine: Engine, acts: Acts) -> None:
    @router.get("", summary="Every silence, those that end last first")
    def list_silences() -> SilenceList:
        """Return silences, past ones too."""
        now_us = acts.now_us()
        return SilenceList(items=[_shown(each, now_us) for each in sorted(_all(engine), key=lambda s: -s.until_us)])

    @router.get("/{id}", responses=problems(404, 422), summary="One silence")
    def get_silence(id: SilenceId) -> SilenceBody:  # noqa: A002 - the path's name for it
        """Return one silence."""
        return _shown(_one(engine, id), acts.now_us())


def _add_changing(router: APIRouter, engine: Engine, settings: AlertingSettings, acts: Acts) -> None:
    @router.post("", status_code=201, responses=problems(409, 422, 503), summary="Begin a silence")
    async def post_silence(document: SilenceDocument, who: Author) -> SilenceBody:
        """Withhold matching alerts from every receiver. Those that still fire when it ends are told then."""
        now_us = acts.now_us()
        from_us = now_us if document.from_ is None else document.from_
        _refuse_unless_span(from_us, document.until, now_us)
        await run_in_threadpool(_refuse_unknown_labels, engine, document.matchers)
        if len(await run_in_threadpool(_all, engine)) >= settings.silences_max:
            raise Problem(409, f"there are {settings.silences_max} silences, the most allowed (silences_max)")
        silence = await acts.silence(who, document.matchers, from_us, document.until, document.by, document.why)
        return _shown(silence, now_us)

    @router.delete("/{id}", status_code=204, responses=problems(404, 422, 503), summary="End a silence")
    async def delete_silence(id: SilenceId, who: Author) -> None:  # noqa: A002
        """End it now, and keep it in the list. One that is past is forgotten."""
        await acts.end_silence(who, await run_in_threadpool(_one, engine, id))


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


def _all(engine: Engine) -> list[Silence]:
    with engine.connect() as connection:
        return read_silences(connection)


def _one(engine: Engine, id_: str) -> Silence:
    found = next((each for each in _all(engine) if each.id == id_), None)
    if found is None:
        raise Problem(404, f"there is no silence {id_[:100]!r}")
    return found
