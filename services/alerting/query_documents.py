"""Reading queries that people wrote: whole or refused, with the field, the value and what is allowed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coincide.query import Query
from coincide.within import QueryError
from services.common.settings import SettingsError, read_yaml
from services.common.streams import Streams


def read_query(document: object, streams: Streams) -> Query:
    """Return the query that `document` describes.

    Raises
    ------
    QueryError
        It is not a query, names a stream that is not declared, or asks for what is not available yet.
    """
    query = Query.from_json(document)
    for role, stream in query.roles:
        if stream not in streams:
            allowed = ", ".join(sorted(streams))
            raise QueryError(f"from.{role}", f"names the stream {stream!r}, which is not declared: one of {allowed}")
    return query


def load_queries(path: Path | None, streams: Streams) -> list[Query]:
    """Return the queries in the YAML file at `path`; none without a path.

    Raises
    ------
    SettingsError
        The file cannot be read, a query is not valid, or two have the same id.
    """
    if path is None:
        return []
    document = read_yaml(path)
    listed = document.get("queries") if isinstance(document, Mapping) else None
    if not isinstance(listed, list) or set(document) != {"queries"}:
        raise SettingsError(f"{path}: expected one list named 'queries'")
    queries = [_query(path, number, item, streams) for number, item in enumerate(listed)]
    ids = [query.id for query in queries]
    if len(set(ids)) < len(ids):
        raise SettingsError(f"{path}: two queries have the same id: {', '.join(ids)}")
    return queries


def _query(path: Path, number: int, item: Any, streams: Streams) -> Query:
    try:
        return read_query(item, streams)
    except QueryError as error:
        raise SettingsError(f"{path}: queries[{number}].{error.field}: {error.message}") from error
