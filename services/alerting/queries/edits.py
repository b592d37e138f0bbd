"""Queries as people write them, in a file or over HTTP, and edits: each makes a query's next state from its present."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json
from services.alerting.store.query_rows import QueryVersion
from services.common.http.preconditions import merge_patch
from services.common.http.problem import Problem
from services.common.settings import SettingsError, Streams, read_declarations


def read_query(document: object, streams: Streams) -> AnyQuery:
    """Return the query that `document` describes; a `QueryError` where it is none or its stream is not declared."""
    query = query_from_json(document)
    for field, stream in query.named_streams.items():
        if stream not in streams:
            allowed = ", ".join(sorted(streams))
            raise QueryError(field, f"names the stream {stream!r}, which is not declared: one of {allowed}")
    return query


def load_queries(path: Path | None, streams: Streams) -> list[AnyQuery]:
    """Return the queries in the YAML file, none without a path; a `SettingsError` says what is wrong with it."""
    if path is None:
        return []
    listed = read_declarations(path, "queries", list)
    queries = [_listed_query(path, number, item, streams) for number, item in enumerate(listed)]
    ids = [query.id for query in queries]
    if len(set(ids)) < len(ids):
        raise SettingsError(f"{path}: two queries have the same id: {', '.join(ids)}")
    return queries


def _listed_query(path: Path, number: int, item: Any, streams: Streams) -> AnyQuery:
    try:
        return read_query(item, streams)
    except QueryError as error:
        raise SettingsError(f"{path}: queries[{number}].{error.field}: {error.message}") from error


@dataclass(frozen=True)
class Target:
    """What a query shall become; `query` None removes it.

    `lifts_suspension` makes a new version of a query that the fusion job has suspended, even if nothing else changes.
    """

    query: AnyQuery | None
    paused: bool = False
    lifts_suspension: bool = False


#: From the query as it is, None when there is none, to what it shall become; a `Problem` when that cannot be.
Edit = Callable[[QueryVersion | None], Target]


def replacement(id_: str, document: object, streams: Streams) -> Edit:
    """Create the query or replace its document; a paused one stays paused."""
    query = checked_query(id_, document, streams)
    return lambda current: Target(query, current is not None and current.paused)


def checked_query(id_: str, document: object, streams: Streams) -> AnyQuery:
    """Return the query that `document` describes under `id_`; a `Problem`, 422, where it is none."""
    return _query(_with_id(id_, document), streams)


def patched(id_: str, patch: object, streams: Streams) -> Edit:
    """Change parts of the document by a JSON merge patch."""
    return _change(id_, lambda current: _with_id(id_, merge_patch(current.query, patch)), streams)


def with_threshold(id_: str, threshold: float, between: Sequence[str] | None, streams: Streams) -> Edit:
    """Change the threshold of every edge, or of the one `between` two roles named in either order."""

    def changed(current: QueryVersion) -> object:
        document = _document_with_edges(current, "threshold")
        return {**document, "within": _edges_with(document["within"], threshold, between)}

    return _change(id_, changed, streams)


def with_joint_threshold(id_: str, threshold: float, streams: Streams) -> Edit:
    """Change the threshold of all edges holding at once; the edges keep their own."""
    name = "joint_threshold"
    return _change(id_, lambda current: {**_document_with_edges(current, name), name: threshold}, streams)


def with_pause(id_: str, paused: bool, streams: Streams) -> Edit:
    """Pause or resume the query; to resume it lifts a suspension, too."""
    return lambda current: Target(_query(_existing(id_, current).query, streams), paused, lifts_suspension=not paused)


def removal(id_: str) -> Edit:
    """Remove the query; its matches and its history stay."""

    def edit(current: QueryVersion | None) -> Target:
        _existing(id_, current)
        return Target(None)

    return edit


def changes_nothing(current: QueryVersion, target: Target) -> bool:
    """Whether the query is already what it shall become."""
    if target.query is None or current.paused != target.paused:
        return False
    try:
        return query_from_json(current.query) == target.query
    except QueryError:
        return False  # written by a newer version of alerting


def _change(id_: str, changed: Callable[[QueryVersion], object], streams: Streams) -> Edit:
    """Edit the document of an existing query, which stays paused if it is."""

    def edit(version: QueryVersion | None) -> Target:
        current = _existing(id_, version)
        return Target(_query(changed(current), streams), current.paused)

    return edit


def _existing(id_: str, current: QueryVersion | None) -> QueryVersion:
    if current is None:
        raise Problem(404, f"there is no query {id_[:100]!r}")
    return current


def _document_with_edges(current: QueryVersion, field: str) -> dict[str, Any]:
    document = current.query or {}
    if not document.get("within"):
        raise Problem(422, f"{field}: the query {current.id!r} has no edges (within) that could have one", field=field)
    return document


def _edges_with(edges: Sequence[Mapping[str, Any]], threshold: float, between: Sequence[str] | None) -> list[object]:
    named = [edge for edge in edges if between is None or set(between) == set(edge["between"])]
    if not named:
        allowed = ", ".join(str(edge["between"]) for edge in edges)
        raise Problem(422, f"between: is {between}: no edge of the query; there are {allowed}", field="between")
    return [{**edge, "threshold": threshold} if edge in named else edge for edge in edges]


def _query(document: object, streams: Streams) -> AnyQuery:
    try:
        return read_query(document, streams)
    except QueryError as error:
        raise Problem(422, f"{error.field}: {error.message}", field=error.field) from error


def _with_id(id_: str, document: object) -> object:
    if not isinstance(document, dict):
        return document
    given = document.get("id", id_)
    if given != id_:
        raise Problem(422, f"id: is {given!r}, but the path names {id_!r}; leave it out or repeat it", field="id")
    return {**document, "id": id_}
