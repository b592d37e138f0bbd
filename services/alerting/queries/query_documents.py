"""Reading queries that people wrote: a query is valid, or refused with the field, its value and what is allowed."""

from pathlib import Path
from typing import Any

from coincide.errors import QueryError
from coincide.queries import AnyQuery, Query, query_from_json
from services.common.declared_streams import Streams
from services.common.settings import SettingsError, read_declarations


def read_query(document: object, streams: Streams) -> AnyQuery:
    """Return the query that `document` describes; a `QueryError` where it is none or its stream is not declared."""
    query = query_from_json(document)
    named = [(f"from.{role}", stream) for role, stream in query.roles] if isinstance(query, Query) else []
    for field, stream in named or [("coalesce.from", stream) for stream in query.streams]:
        if stream not in streams:
            allowed = ", ".join(sorted(streams))
            raise QueryError(field, f"names the stream {stream!r}, which is not declared: one of {allowed}")
    return query


def load_queries(path: Path | None, streams: Streams) -> list[AnyQuery]:
    """Return the queries in the YAML file, none without a path; a `SettingsError` says what is wrong with it."""
    if path is None:
        return []
    listed = read_declarations(path, "queries", list)
    queries = [_query(path, number, item, streams) for number, item in enumerate(listed)]
    ids = [query.id for query in queries]
    if len(set(ids)) < len(ids):
        raise SettingsError(f"{path}: two queries have the same id: {', '.join(ids)}")
    return queries


def _query(path: Path, number: int, item: Any, streams: Streams) -> AnyQuery:
    try:
        return read_query(item, streams)
    except QueryError as error:
        raise SettingsError(f"{path}: queries[{number}].{error.field}: {error.message}") from error
