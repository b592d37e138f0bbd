"""GET, PUT, PATCH and DELETE of a resource, with If-Match and ETag."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from services.common.access.caller import Caller
from services.common.access.who import Author
from services.common.http.preconditions import IfMatch, Precondition, entity_tag
from services.common.http.route_table import IN_PATH
from services.common.resources.resource import Edit, Resource, patched, removal, replacement

JSON, PATCH = "application/json", "application/merge-patch+json"
OBJECT: dict[str, Any] = {"type": "object"}
Responses = dict[int | str, dict[str, Any]]
PROBLEMS: Responses = {
    412: {"description": "It is not as If-Match or If-None-Match says"},
    413: {"description": "The body is too long"},
    415: {"description": "The body is no JSON by its Content-Type"},
    428: {"description": "If-Match is missing"},
    503: {"description": "The log did not acknowledge the change; it may still take effect"},
}

T = TypeVar("T")

Make = Callable[[str, Edit[T], Precondition, Caller], Awaitable[bool]]
"""What changes a thing and returns whether it was created once the process goes by it, as `Changes.make` does."""


@dataclass(frozen=True)
class Described:
    """How the routes read: what varies in their path, what they answer, and what the OpenAPI document says.

    `show` returns a body with the version of what it shows; a `Problem`, 404, where there is none. `effect` is so once
    PUT or PATCH is answered, `form` says what their body may be, `removal` what DELETE does, and `conflict` when they
    answer 409. `schema` is that of a whole document. Without `has_get` somebody else shows one.
    """

    parameter: str
    longest: int
    body: type[BaseModel]
    show: Callable[[str], Any]
    effect: str
    form: str
    removal: str
    conflict: str | None = None
    schema: dict[str, Any] = field(default_factory=OBJECT.copy)
    has_get: bool = True


def shown(described: Described, name: str, response: Response) -> Any:
    """Return the body of one, and set its ETag; it may look at every sensor, or into a database."""
    body = described.show(name)
    response.headers["ETag"] = entity_tag(body.version)
    return body


def add_routes(
    router: APIRouter,
    of: Resource[T],
    make: Make[T],
    read: Callable[[Request], Awaitable[Any]],
    described: Described,
) -> None:
    """Add the routes that show and change a resource; `read` reads the document in a body."""
    of_path = f"Which {of.noun}."
    of_name = Path(alias=described.parameter, max_length=described.longest, pattern=IN_PATH, description=of_path)
    name_in_path = Annotated[str, of_name]
    path = f"/{{{described.parameter}}}"
    problems = {**PROBLEMS, 422: {"description": f"The {of.noun} is not usable"}}
    in_use: Responses = {409: {"description": described.conflict}} if described.conflict else {}
    missing = {404: {"description": f"No such {of.noun}"}, **in_use, **problems}

    def get(name: name_in_path, response: Response) -> Any:
        return shown(described, name, response)

    async def put(
        name: name_in_path, content: Annotated[Any, Depends(read)], seen: IfMatch, who: Author, response: Response
    ) -> Any:
        created = await make(name, replacement(of, name, content), seen, who)
        response.status_code = 201 if created else 200
        return await run_in_threadpool(shown, described, name, response)

    async def patch(
        name: name_in_path, content: Annotated[Any, Depends(read)], seen: IfMatch, who: Author, response: Response
    ) -> Any:
        await make(name, patched(of, name, content), seen, who)
        return await run_in_threadpool(shown, described, name, response)

    async def delete(name: name_in_path, seen: IfMatch, who: Author) -> None:
        await make(name, removal(of), seen, who)

    def add(method: str, answer: Callable[..., Any], does: str, text: str, **more: Any) -> None:
        more |= {"name": f"{method.lower()}_{of.noun}", "summary": f"{does} a {of.noun}", "description": text}
        router.add_api_route(path, answer, methods=[method], **more)

    once, form = f"once the log has acknowledged it and {described.effect}", described.form
    created = {201: {"model": described.body, "description": "Created"}, **in_use, **problems}
    whole, parts = json_body(JSON, described.schema), json_body(PATCH)
    of_put = {"response_model": described.body, "responses": created, "openapi_extra": whole}
    of_patch = {"response_model": described.body, "responses": missing, "openapi_extra": parts}
    if described.has_get:
        no_such: Responses = {404: missing[404]}
        add("GET", get, "Show", "A change needs its ETag.", response_model=described.body, responses=no_such)
    add("PUT", put, "Create or replace", f"Answer {once}; replacing one needs If-Match. {form}", **of_put)
    add("PATCH", patch, "Change parts of", f"Apply a JSON merge patch (RFC 7396); answer {once}. {form}", **of_patch)
    add("DELETE", delete, "Remove", described.removal, status_code=204, responses=missing)


def json_body(kind: str, schema: Any = OBJECT) -> dict[str, Any]:
    """Return what OpenAPI says of a body of this media type."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}
