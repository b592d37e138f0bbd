"""Bodies of requests that bring a document: their size and media type, their JSON, and of a query the SQL."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from coincide.errors import QueryError, QueryTextError
from coincide.queries import query_from_json
from coincide.queries.sql import LONGEST_TEXT, query_from_sql, sql_of
from coincide.wire.fields import LONGEST_NAME
from services.alerting.exports.result_formats import best_liked
from services.common.http.problem import Problem
from services.common.http.query_contract import QUERY_DOCUMENT
from services.common.http.route_table import IN_PATH
from services.common.http.strict_requests import bounded_body, json_in

JSON_TYPES = ("", "application/json", "application/merge-patch+json")
SQL_TYPES = ("text/plain", "application/sql")
_FORMATS = {
    **dict.fromkeys(("application/json", "application/*", "*/*"), "json"),
    **dict.fromkeys((*SQL_TYPES, "text/*"), "sql"),
}


Id = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH, description="The query's id.")]


async def json_body(request: Request) -> Any:
    """Return the JSON; a `Problem`, 413, 415 or 422, refuses its size, its media type or what it says."""
    _refuse_unless_one_of(JSON_TYPES, _media_type(request))
    return json_in(await bounded_body(request))


async def query_body(request: Request, id: Id) -> Any:  # noqa: A002
    """Return the JSON of a query that the body has as JSON or as SQL; a `Problem`, 413, 415 or 422, says why not."""
    media_type = _media_type(request)
    _refuse_unless_one_of((*JSON_TYPES, *SQL_TYPES), media_type)
    body = await bounded_body(request)
    return json_in(body) if media_type in JSON_TYPES else await run_in_threadpool(_document_of, body, id)


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").split(";")[0].strip().lower()


def _refuse_unless_one_of(allowed: Sequence[str], media_type: str) -> None:
    if media_type not in allowed:
        named = ", ".join(each for each in allowed if each not in ("", "application/merge-patch+json"))
        raise Problem(415, f"Content-Type is {media_type[:100]!r}: {named}")


def _document_of(body: bytes, id_: str) -> Any:
    """Return the JSON of the query whose SQL is in the body; a problem has its line and column."""
    try:
        return query_from_sql(body.decode(), id_).to_json()
    except UnicodeDecodeError as error:
        raise Problem(422, f"the body is not UTF-8: {error.reason} at byte {error.start}") from None
    except QueryTextError as error:
        detail = f"{error.field}: {error.message}"
        raise Problem(422, detail, field=error.field, line=error.line, column=error.column) from None
    except QueryError as error:
        raise Problem(422, f"{error.field}: {error.message}", field=error.field) from None


def likes_sql(accept: str | None) -> bool:
    """Whether the header Accept likes SQL better than JSON."""
    return bool(accept) and best_liked(accept or "", _FORMATS) == "sql"


def sql_response(document: object, etag: str) -> Response:
    """Return the SQL of a stored query; a `Problem`, 409, where it has none."""
    try:
        text = sql_of(query_from_json(document))
    except QueryError as error:
        raise Problem(409, f"the query cannot be written as SQL, read its JSON: {error}") from error
    return PlainTextResponse(f"{text}\n", headers={"ETag": etag, "Vary": "Accept"})


Body = Annotated[Any, Depends(json_body)]
Accept = Annotated[str | None, Header(description="text/plain for SQL; JSON otherwise.")]
QueryInBody = Annotated[Any, Depends(query_body)]

_SQL = {"schema": {"type": "string", "maxLength": LONGEST_TEXT, "description": "The query as SQL."}}
_SCHEMA = {"schema": {"$ref": f"#/components/schemas/{QUERY_DOCUMENT}"}}
AS_SQL: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": _SQL}}}


def described_body(*sql_types: str) -> dict[str, Any]:
    """Return what the OpenAPI document says of a body that is a query, as JSON or as SQL of these media types."""
    content = {"application/json": _SCHEMA, **dict.fromkeys(sql_types, _SQL)}
    return {"requestBody": {"required": True, "content": content}}
