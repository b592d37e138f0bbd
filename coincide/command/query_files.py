"""Query documents: the JSON or the SQL that ``PUT /v1/queries/{id}`` takes, read from files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from coincide.command.faults import CommandError, note
from coincide.errors import QueryError
from coincide.queries import AnyQuery, Kind, Query, ReadingsQuery, query_from_json
from coincide.queries.sql import query_from_sql
from coincide.sliding.questions import Similar

PAST = "python -m spark_jobs.history run --query answers it over the past"
ANSWERED_BY: Mapping[Kind, str] = {
    "join": "joins streams: coincide join --query answers it",
    "windows": "is over readings: coincide coalesce --query answers it",
}
"""Commands for kinds that have one of their own."""
Asked = TypeVar("Asked", Query, ReadingsQuery)


def read_queries(paths: Sequence[Path], *, with_places: bool = False) -> list[Query]:
    """Read a query from each file; one without an id is called as its file is.

    One that asks where sensors are is refused, unless the command reads rows `with_places`.
    """
    queries = [_read_query(path) for path in paths]
    names = [query.id for query in queries]
    for path, name in zip(paths, names, strict=True):
        if names.count(name) > 1:
            raise CommandError(f"{path}: another file has a query of the id {name!r}, too")
    for path, query in zip(paths, queries, strict=True):
        if query.needs_places and not with_places:
            raise CommandError(f"{path}: query {query.id} asks where sensors are: coincide join and replay answer it")
    return queries


def read_readings_query(path: Path) -> ReadingsQuery:
    """Read from a file a query over readings that asks for runs."""
    query = _read_as(ReadingsQuery, path)
    if isinstance(query.question, Similar):
        raise CommandError(f"{path}: query {query.id} joins runs of two groups: {PAST}")
    return query


def _read_query(path: Path) -> Query:
    query = _read_as(Query, path)
    if query.coalesce is not None:
        note(f"query {query.id}: its matches are written, not the episodes that coalesce makes of them")
    return query


def _read_as(kind: type[Asked], path: Path) -> Asked:
    query = _read_document(path)
    if not isinstance(query, kind):
        raise CommandError(f"{path}: query {query.id} {ANSWERED_BY.get(query.kind, f'tells {query.kind}: {PAST}')}")
    return query


def _read_document(path: Path) -> AnyQuery:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return query_from_sql(text, path.stem) if path.suffix.lower() == ".sql" else _query_of_json(path, text)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{path}: no UTF-8: {error}") from None
    except (QueryError, ImportError) as error:
        raise CommandError(f"{path}: {error}") from None


def _query_of_json(path: Path, text: str) -> AnyQuery:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: no JSON: {error}") from None
    return query_from_json({"id": path.stem, **document} if isinstance(document, dict) else document)
