"""Bodies of requests that bring a document, such as a query: their size, their media type and the JSON they have."""

import json
from typing import Annotated, Any, NoReturn

from fastapi import Depends, Path, Request

from services.alerting.api.query_models import QueryDocument
from services.common.problem import Problem

LARGEST_BODY_BYTES = 64 * 1024
MEDIA_TYPES = ("", "application/json", "application/merge-patch+json")


async def json_body(request: Request) -> Any:
    """Return the JSON; a `Problem`, 413, 415 or 422, refuses its size, its media type or what it says."""
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type not in MEDIA_TYPES:
        raise Problem(415, f"Content-Type is {media_type[:100]!r}: application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY_BYTES:
            raise Problem(413, f"the body is larger than {LARGEST_BODY_BYTES} bytes")
    return parse_json(bytes(body))


def parse_json(body: bytes) -> Any:
    """Return the JSON in `body`; a Problem, 422, says what is wrong with it."""
    try:
        document = json.loads(body, object_pairs_hook=_once_each, parse_constant=_refuse_constant)
        json.dumps(document, allow_nan=False, ensure_ascii=False).encode()  # 1e999 and lone surrogates
    except (ValueError, RecursionError) as error:
        raise Problem(422, f"the body is not JSON: {str(error)[:200]}") from None
    return document


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has a member twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


Id = Annotated[str, Path(max_length=200, description="The query's id.")]
Body = Annotated[Any, Depends(json_body)]

_SCHEMA = {"$ref": f"#/components/schemas/{QueryDocument.__name__}"}
DOCUMENT: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}}
