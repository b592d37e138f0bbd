"""/v1/keys: make, show, revoke keys; /v1/audit: who changed what; both need the scope admin. /v1/caller: who asks."""

import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from coincide.wire.fields import LONGEST_NAME
from services.common.access.access_keys import (
    ANY,
    ID_PATTERN,
    KEYS,
    MOST_PATTERNS,
    MOST_REQUESTS_PER_S,
    NAME_PATTERN,
    AccessKey,
    new_key,
)
from services.common.access.audit import AuditedChange
from services.common.access.audit_topic import read_newest
from services.common.access.component_access import ComponentAccess
from services.common.access.key_scopes import KeyScope
from services.common.access.who import Author, Who
from services.common.clock import system_clock_us
from services.common.http.pages import (
    PAGE_ITEMS,
    PAGE_ITEMS_MAX,
    Page,
    PageParameters,
    decode_cursor,
    encode_cursor,
    page_limit,
    page_of_names,
)
from services.common.http.problem import Problem, try_again
from services.common.http.shares import Shares
from services.common.log.faults import LogError
from services.common.topics.compacted_topic import Connect
from services.common.topics.topic_names import TopicNames

SHOWN_WITHIN_S, LOOK_EVERY_S = 2.0, 0.01
MOST_READING = 8  # each reads up to 20,000 records through a consumer of its own
REQUESTS_PER_S = 1000.0

Pattern = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
KeyId = Annotated[str, Path(pattern=f"^{ID_PATTERN}$", description="The key's id: what its text has behind ck_.")]
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "No such key"}}
AWAY: dict[int | str, dict[str, Any]] = {503: {"description": "The log is silent; a change may still take effect"}}


class WantedKey(BaseModel):
    """A key to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=f"^{NAME_PATTERN}$", max_length=100, description="Whose it is, or what for.")
    scopes: list[KeyScope] = Field(
        min_length=1, max_length=len(KeyScope), description="; ".join(f"{each}: {each.meaning}" for each in KeyScope)
    )
    areas: list[Pattern] = Field(
        list(ANY), min_length=1, max_length=MOST_PATTERNS, description="Areas it may post for; * and ? stand for any."
    )
    sensors: list[Pattern] = Field(
        list(ANY), min_length=1, max_length=MOST_PATTERNS, description="Sensors it may post for; * and ? stand for any."
    )
    requests_per_s: float = Field(
        REQUESTS_PER_S, gt=0, le=MOST_REQUESTS_PER_S, description="Most requests a second, of each component."
    )


class KeyBody(BaseModel):
    """A key, without its text."""

    id: str
    name: str
    scopes: list[KeyScope]
    areas: list[str]
    sensors: list[str]
    requests_per_s: float
    created_at_us: int
    created_by: str = Field(description="name of the key, or the command, that made it")


class MadeKey(KeyBody):
    """A key that was just made, with its text."""

    key: str = Field(description="what Authorization: Bearer has; shown this once and kept nowhere")


class KeyPage(Page[KeyBody]):
    """A page of keys in the order of their ids."""


class ChangeBody(BaseModel):
    """A change: who made it, from where, and what it changed."""

    at_us: int
    component: str
    key: str | None = Field(description="id of the caller's key; null where it showed none")
    name: str = Field(description="name of that key, or anybody")
    address: str | None = Field(description="where the connection came from; behind a proxy, the proxy's")
    action: str = Field(description="what was done, such as query.changed")
    subject: str = Field(description="id of what was changed")
    before: Any = Field(description="what it was; null where it was made")
    after: Any = Field(description="what it is now; null where it was removed")
    why: str | None = Field(description="why, as the caller said in Change-Reason; null where nothing was said")


class CallerBody(BaseModel):
    """Who sends this request, as far as is known."""

    key: str | None = Field(description="id of the key that was shown; null where none was, and none is needed")
    name: str = Field(description="name of that key, or anybody")
    scopes: list[KeyScope] = Field(description="what it may do; admin where no key is needed")


class AuditPage(BaseModel):
    """A page of changes, newest first. It may hold few, even none, where the filters fit few."""

    items: list[ChangeBody]
    next_cursor: str | None = Field(description="Ask with it as `cursor` for older ones; null where there are none.")


class AuditParameters(PageParameters):
    """Filters of GET /v1/audit."""

    subject: str | None = Field(None, max_length=LONGEST_NAME, description="Only changes of what has this id.")
    action: str | None = Field(None, max_length=100, description="Only this action.")
    key: str | None = Field(None, max_length=100, description="Only changes made with the key of this id.")

    def filters(self) -> list[str | None]:
        """Return what a cursor is for."""
        return [self.subject, self.action, self.key]

    def fit(self, change: AuditedChange) -> bool:
        """Whether `change` is asked for."""
        said = (change.subject, change.action, change.key)
        return all(wanted in (None, each) for wanted, each in zip(self.filters(), said, strict=True))


def keys_router(access: ComponentAccess) -> APIRouter:
    """Return the routes that make, show and revoke keys."""
    router = APIRouter(prefix="/v1/keys", tags=["access"])

    @router.get("", summary="List keys")
    async def list_keys(wanted: Annotated[PageParameters, Query()]) -> KeyPage:
        """Return the keys that are valid now, without their texts."""
        keys = {key.id: key for key in access.ring}
        chosen, more = page_of_names(sorted(keys), wanted, KEYS)
        return KeyPage(items=[_body(keys[id_]) for id_ in chosen], next_cursor=more)

    @router.get("/{key_id}", summary="Show one key", responses=MISSING)
    async def show_key(key_id: KeyId) -> KeyBody:
        return _body(_existing(access, key_id))

    @router.post(
        "",
        status_code=201,
        summary="Make a key",
        responses=AWAY,
    )
    def make_key(wanted: WantedKey, who: Author, response: Response) -> MadeKey:
        """Return the key with its text, which nobody can show again. It is valid everywhere within 2 s."""
        key, text = new_key(wanted.model_dump(mode="json"), who.name, system_clock_us())
        _publish(access, key.id, msgspec.json.encode(key))
        access.audit.note(who, "key.made", key.id, None, key.shown())
        _wait_until(lambda: access.ring.get(key.id) is not None)
        response.headers["Cache-Control"] = "no-store"
        response.headers["Location"] = f"/v1/keys/{key.id}"
        return MadeKey.model_validate({**key.shown(), "key": text})

    @router.delete("/{key_id}", status_code=204, summary="Revoke a key", responses={**AWAY, **MISSING})
    def revoke_key(key_id: KeyId, who: Author) -> None:
        """Revoke it: it is refused everywhere within 2 s."""
        key = _existing(access, key_id)
        _publish(access, key.id, None)
        access.audit.note(who, "key.revoked", key.id, key.shown(), None)
        _wait_until(lambda: access.ring.get(key.id) is None)

    return router


def caller_router() -> APIRouter:
    """Return the route that tells a caller who it is, by which a page shows only what its key may do."""
    router = APIRouter(prefix="/v1/caller", tags=["access"])

    @router.get("", summary="Who am I, and what may I do?")
    async def show_caller(who: Who) -> CallerBody:
        scopes = [KeyScope.ADMIN] if who.scopes is None else list(who.scopes)
        return CallerBody(key=who.key, name=who.name, scopes=scopes)

    return router


def audit_router(connect: Connect, names: TopicNames) -> APIRouter:
    """Return the route that shows who changed what."""
    router = APIRouter(prefix="/v1/audit", tags=["access"])
    reading = Shares(MOST_READING, "lists of changes being read", retry_s=1)

    @router.get(
        "",
        summary="The audit trail: each change, and who made it",
        responses=AWAY,
    )
    def list_changes(wanted: Annotated[AuditParameters, Query()], who: Who) -> AuditPage:
        """Return changes of all components, newest first."""
        with reading.place(who.peer):
            return changes_read(wanted)

    def changes_read(wanted: AuditParameters) -> AuditPage:
        limit = page_limit(wanted.limit, PAGE_ITEMS, PAGE_ITEMS_MAX)
        before = decode_cursor(wanted.filters(), wanted.cursor)
        try:
            changes, older = read_newest(connect, names, before, limit, wanted.fit)
        except (LogError, OSError, RuntimeError):
            raise try_again("the log does not answer, so that nothing can be read") from None
        items = [ChangeBody.model_validate(msgspec.structs.asdict(change)) for change in changes]
        return AuditPage(items=items, next_cursor=None if older is None else encode_cursor(wanted.filters(), older))

    return router


def _existing(access: ComponentAccess, key_id: str) -> AccessKey:
    key = access.ring.get(key_id)
    if key is None:
        raise Problem(404, f"there is no key {key_id!r}, or no longer")
    return key


def _publish(access: ComponentAccess, id_: str, value: bytes | None) -> None:
    try:
        access.publisher.publish(KEYS, id_.encode(), value)
    except LogError:
        raise try_again(f"{access.publisher.log_name} did not acknowledge it; it may still take effect") from None


def _wait_until(is_shown: Callable[[], bool]) -> None:
    """Wait until this component itself goes by what was written; it is safe in the log already."""
    deadline_s = time.monotonic() + SHOWN_WITHIN_S
    while not is_shown() and time.monotonic() < deadline_s:
        time.sleep(LOOK_EVERY_S)


def _body(key: AccessKey) -> KeyBody:
    return KeyBody.model_validate(key.shown())
