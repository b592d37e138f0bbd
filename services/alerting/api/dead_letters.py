"""GET /v1/dead-letters: what could not be used, or came too late."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Engine

from services.alerting.api.descriptions import problems
from services.alerting.api.pages import Instant, PageParameters, json_page, read_page
from services.alerting.api.result_models import DeadLetterPage
from services.alerting.settings import Settings
from services.alerting.store import dead_letter_rows
from services.alerting.store.dead_letter_rows import DeadLetterFilter


class DeadLetterParameters(PageParameters):
    """Filters and page of GET /v1/dead-letters."""

    reason: str | None = Field(None, max_length=200, description="Only letters with this reason, such as late.")
    area: str | None = Field(None, max_length=200, description="Only letters of this area.")
    sensor: str | None = Field(None, max_length=200, description="Only letters of this sensor.")
    source: str | None = Field(None, max_length=200, description="Only letters from ingest, or from fusion.")
    from_: Instant | None = Field(None, alias="from", description="Only letters written at or after this time.")
    to: Instant | None = Field(None, description="Only letters written at or before this time.")


def dead_letters_router(engine: Engine, settings: Settings) -> APIRouter:
    """Return the route that reads dead letters."""
    router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"])

    @router.get("", response_model=DeadLetterPage, responses=problems(422), summary="Dead letters, newest stored first")
    def list_dead_letters(wanted: Annotated[DeadLetterParameters, Query()]) -> Response:
        """Return the dead letters that pass every filter; times are those at which they were written to Kafka."""
        filters = DeadLetterFilter(wanted.reason, wanted.area, wanted.sensor, wanted.source, wanted.from_, wanted.to)
        with engine.connect() as connection:
            read = partial(dead_letter_rows.read_newest_first, connection, filters)
            rows, more = read_page(wanted, settings, filters, read)
        return json_page([row.body for row in rows], next_cursor=more)

    return router
