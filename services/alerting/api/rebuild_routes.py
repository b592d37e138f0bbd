"""/v1/rebuilds: have fusion begin anew from the topics, and see how far it is."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from coincide.wire.fields import LONGEST_NAME
from coincide.wire.rebuild_record import RebuildRecord
from services.alerting.api.result_models import problems
from services.alerting.queries.acts import Acts
from services.alerting.store.query_rows import read_rebuilds
from services.common.access.caller import LONGEST_REASON_BYTES
from services.common.access.who import Author
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH

RebuildId = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH, description="The rebuild's id.")]

UNFINISHED = ("asked", "running")


class WantedRebuild(BaseModel):
    """Why fusion is to begin anew."""

    model_config = ConfigDict(extra="forbid")

    why: str = Field(
        min_length=1,
        max_length=LONGEST_REASON_BYTES,
        description="For the audit trail.",
        examples=["the template of mic-2 was wrong since Monday"],
    )


class RebuildBody(BaseModel):
    """A rebuild, and how far it is."""

    id: str
    state: Literal["asked", "running", "failed", "done"] = Field(
        description="asked: fusion has not begun, for it is away or ends its batch. failed: fusion waits for a person; "
        "another rebuild may be asked for."
    )
    asked_at_us: int | None = Field(description="When it was asked for; null where nobody asked over REST.")
    by: str | None = Field(description="The name of the key that asked.")
    why: str | None
    began_at_us: int | None = Field(description="When fusion began anew.")
    ended_at_us: int | None = Field(description="When it had read all that was there when it began.")
    records: int = Field(description="Records of detections that were there when it began.")
    read: int = Field(description="How many of them are read, and their answers written.")
    percent: float = Field(ge=0, le=100, description="How far it is; 100 only once it is done.")
    seconds_left: float | None = Field(description="As fast as it has been so far; null while that is unknown.")
    failure: str | None = Field(description="What keeps fusion from going on; null unless it failed.")


class RebuildList(BaseModel):
    """Rebuilds, the newest first."""

    items: list[RebuildBody]


def rebuilds_router(engine: Engine, acts: Acts) -> APIRouter:
    """Return the routes of rebuilds."""
    router = APIRouter(prefix="/v1/rebuilds", tags=["rebuilds"])

    @router.get("", summary="The last rebuilds, the newest first")
    def list_rebuilds() -> RebuildList:
        """Return those that were asked for over REST, and all others."""
        return RebuildList(items=[_shown(each) for each in _all(engine)])

    @router.get("/{id}", responses=problems(404, 422), summary="How far a rebuild is")
    def get_rebuild(id: RebuildId) -> RebuildBody:  # noqa: A002 - the path's name for it
        """Return one rebuild."""
        found = next((each for each in _all(engine) if each.id == id), None)
        if found is None:
            raise Problem(404, f"there is no rebuild {id[:100]!r}")
        return _shown(found)

    @router.post("", status_code=202, responses=problems(409, 422, 503), summary="Have fusion begin anew")
    async def post_rebuild(wanted: WantedRebuild, who: Author, response: Response) -> RebuildBody:
        """Let fusion read all detections again, as far as Kafka keeps them; old answers are served meanwhile."""
        unfinished = next((each for each in await run_in_threadpool(_all, engine) if each.state in UNFINISHED), None)
        if unfinished is not None:
            raise Problem(409, f"the rebuild {unfinished.id} is {unfinished.state}: wait until it is done")
        asked = await acts.ask_for_rebuild(replace(who, why=wanted.why))
        response.headers["Location"] = f"/v1/rebuilds/{asked.id}"
        return _shown(asked)

    return router


def _shown(rebuild: RebuildRecord) -> RebuildBody:
    is_done = rebuild.state == "done"
    return RebuildBody(
        id=rebuild.id,
        state=rebuild.state,
        asked_at_us=rebuild.asked_at_us,
        by=rebuild.by,
        why=rebuild.why,
        began_at_us=rebuild.began_at_us,
        ended_at_us=rebuild.told_at_us if is_done else None,
        records=rebuild.records,
        read=rebuild.read,
        percent=100.0 if is_done else min(99.9, 100 * rebuild.read / max(rebuild.records, 1)),
        seconds_left=0.0 if is_done else _seconds_left(rebuild),
        failure=rebuild.failure,
    )


def _seconds_left(rebuild: RebuildRecord) -> float | None:
    if rebuild.state == "failed" or rebuild.began_at_us is None or rebuild.told_at_us is None or not rebuild.read:
        return None
    took_s = max(0, rebuild.told_at_us - rebuild.began_at_us) / 1e6
    return round(took_s * (rebuild.records - rebuild.read) / rebuild.read, 1)


def _all(engine: Engine) -> list[RebuildRecord]:
    with engine.connect() as connection:
        return read_rebuilds(connection)
