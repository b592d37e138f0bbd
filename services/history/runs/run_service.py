"""What the server of runs stands on: how a request is read, what a query's id means, and how runs are compared."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json
from services.history.replaying.request import RunError, RunRequest, RunSource
from services.history.rows.topic_records import Topics
from services.history.runs.comparing import compared
from services.history.runs.live_answer import query_history
from services.history.runs.run_queue import RunQueue, RunStates
from services.history.runs.run_server import RunService, read_request


def run_service(
    queue: RunQueue, topics: Topics, archive_path: Path | None, why_not_ready: Callable[[], list[str]] = list
) -> RunService:
    """Return what the server stands on."""

    def request_of(fields: Mapping[str, Any]) -> RunRequest:
        source = usual_source(archive_path, as_live=bool(fields.get("as_live")))
        return read_request(fields, partial(_query_of, topics), source)

    def compare(run: str, other: str) -> dict[str, Any]:
        return compared(queue.folder(run), None if other == "live" else queue.folder(other), topics)

    return RunService(queue, run_metrics(queue), request_of, compare, why_not_ready)


def usual_source(archive_path: Path | None, *, as_live: bool) -> RunSource:
    """Return where a run reads that names no source: the archive, where there is one and it can tell what is asked."""
    return "topic" if as_live or archive_path is None else "archive"


def run_metrics(queue: RunQueue) -> CollectorRegistry:
    """Return the metrics of runs."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(RunStates(queue))
    return registry


def read_query(what: str, document: Any) -> AnyQuery:
    """Return the query of a document; a `RunError` says what is wrong with it."""
    try:
        return query_from_json(document)
    except QueryError as error:
        raise RunError(f"{what}: {error}") from None


def query_named(id_: str, topics: Topics) -> AnyQuery:
    """Return the newest version of a query of the system."""
    history = query_history(id_, topics)
    if history is None:
        raise RunError(f"there is no file {id_}, and no query with that id")
    return history.query


def _query_of(topics: Topics, given: Any) -> AnyQuery:
    return query_named(given, topics) if isinstance(given, str) else read_query("query", given)
