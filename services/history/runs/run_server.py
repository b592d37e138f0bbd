"""The application of runs over HTTP: ask, look, read the matches or templates, compare, delete."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from prometheus_client import CollectorRegistry
from starlette.types import Lifespan

from coincide.queries import AnyQuery
from coincide.wire.declarations.names import REGISTERED_NAME_IN_WORDS, RegisteredName
from services.common.access.audit import AuditTrail
from services.common.access.who import Author, Who
from services.common.http.problem import Problem, problem_response
from services.common.http.query_contract import QueryId
from services.common.http.strict_requests import StrictRequests, bounded_body, json_in
from services.common.log.faults import LogError
from services.common.operations import install_operations
from services.history.replaying.request import (
    LearningRequest,
    RunError,
    RunRequest,
    RunSource,
    asks_query,
    parsed_time,
)
from services.history.replaying.run_folder import EPISODES, MATCHES, TEMPLATES
from services.history.runs.run_queue import QueueFullError, RunQueue

RUN = re.compile(r"r-[0-9a-f]{32}")
FILES = {"matches": MATCHES, "episodes": EPISODES, "templates": TEMPLATES}
PARTS = {"history": ("matches", "episodes", "curve", "compare"), "learning": ("templates",)}
KINDS = {
    "as_live": bool,
    "keeps_matches": bool,
    "min_threshold": float | int,
    "warm_up_s": float | int,
    "slides": int,
}
KIND_NAMES: dict[object, str] = {bool: "truth value", int: "whole number"}
FIELDS = ("query", "from", "to", "source", *KINDS)
WHAT_IF_FIELDS = tuple(name for name in FIELDS if name not in ("query", "keeps_matches"))
LEARNING_FIELDS = ("from", "to", "within", "reference_stream", "area", "streams", "buckets")

Kind = Literal["history", "learning"]
With = Annotated[str, Query(alias="with", pattern=rf"^(live|{RUN.pattern})$")]


@dataclass(frozen=True)
class RunService:
    """What the routes stand on: the queue, metrics, how a request is read, and how a run is compared with another."""

    queue: RunQueue
    registry: CollectorRegistry
    request_of: Callable[[Mapping[str, Any]], RunRequest]
    compare: Callable[[str, str], dict[str, Any]]
    why_not_ready: Callable[[], list[str]] = list


async def _fields(request: Request) -> Mapping[str, Any]:
    """Return the members of the body, which is a JSON object."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
    content = json_in(await bounded_body(request))
    if not isinstance(content, dict):
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "the body must be a JSON object")
    return content


Fields = Annotated[Mapping[str, Any], Depends(_fields)]


def create_app(service: RunService, audit: AuditTrail, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return the application; routes that look into files or ask the log run in threads."""
    strict = [Depends(StrictRequests())]
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, dependencies=strict, lifespan=lifespan)
    install_operations(app, service.registry, service.why_not_ready)
    for kind in (RunError, QueueFullError, LogError):
        app.add_exception_handler(kind, _on_fault)
    routes = RunRoutes(service, audit)
    app.include_router(routes.of_history())
    app.include_router(routes.of_learning())
    return app


async def _on_fault(_request: Request, error: Exception) -> Response:
    if isinstance(error, QueueFullError):
        return problem_response(HTTPStatus.TOO_MANY_REQUESTS, str(error))
    if isinstance(error, LogError):
        return problem_response(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))


class RunRoutes:
    """The routes of runs that answer a query, and of those that learn templates."""

    def __init__(self, service: RunService, audit: AuditTrail) -> None:
        self._service, self._queue, self._audit = service, service.queue, audit

    def of_history(self) -> APIRouter:
        """Return the routes of runs that answer a query."""
        router = self._reading("history")

        @router.post("/v1/history-runs")
        def start(fields: Fields, who: Who) -> Response:
            return self._submitted(fields, who.key)

        @router.post("/v1/queries/{id}/what-if")
        def ask_what_if(id: QueryId, fields: Fields, who: Who) -> Response:  # noqa: A002
            _refuse_unknown(fields, WHAT_IF_FIELDS)
            return self._submitted({**fields, "query": id, "keeps_matches": False}, who.key)

        @router.delete("/v1/history-runs/{id}", status_code=HTTPStatus.NO_CONTENT)
        def delete(id: str, leave: bool = False) -> None:  # noqa: A002
            self._deleted("history", id, leave=leave)

        return router

    def of_learning(self) -> APIRouter:
        """Return the routes of runs that learn; the audit trail is told who wants that, for it ends with proposals."""
        router = self._reading("learning")

        @router.post("/v1/learning-runs")
        def start(fields: Fields, author: Author) -> Response:
            _refuse_unknown(fields, LEARNING_FIELDS)
            request = read_learning(fields)
            summary, is_new = self._queue.submit(request, author.key)
            if is_new:
                self._audit.note(author, "learning_run.asked", request.id, None, summary["request"])
            return _told(summary)

        @router.delete("/v1/learning-runs/{id}", status_code=HTTPStatus.NO_CONTENT)
        def delete(id: str, author: Author, leave: bool = False) -> None:  # noqa: A002
            said = self._summary("learning", id)
            if self._deleted("learning", id, leave=leave):
                self._audit.note(author, "learning_run.deleted", id, said["request"], None)

        return router

    def _reading(self, kind: Kind) -> APIRouter:
        router = APIRouter()
        path = f"/v1/{kind}-runs"

        @router.get(path)
        def list_runs() -> Response:
            return JSONResponse({"items": [each for each in self._queue.summaries() if _kind(each) == kind]})

        @router.get(f"{path}/{{id}}")
        def read_run(id: str) -> Response:  # noqa: A002
            return JSONResponse(self._summary(kind, id))

        @router.get(f"{path}/{{id}}/{{part}}")
        def read_part(id: str, part: str, other: With = "live") -> Response:  # noqa: A002
            said = self._summary(kind, id)
            if part not in PARTS[kind]:
                raise Problem(HTTPStatus.NOT_FOUND, f"a run has no {part[:100]}: {', '.join(PARTS[kind])}")
            if part == "compare":
                return JSONResponse(self._service.compare(id, other))
            if part == "curve":
                return JSONResponse({name: said.get(name) for name in ("run", "state", "curve", "histogram")})
            return self._lines(id, part)

        return router

    def _summary(self, kind: Kind, run: str) -> dict[str, Any]:
        """Return what is known of a run; a `Problem` where there is none of this kind."""
        said = self._queue.summary(run) if RUN.fullmatch(run) else None
        if said is None or _kind(said) != kind:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no run {run[:100]}")
        return said

    def _lines(self, run: str, part: str) -> Response:
        path = self._queue.folder(run).path / FILES[part]
        if not path.exists():
            why = f"there are no {part}: the state says why, or the run counts only, or its query has none"
            raise Problem(HTTPStatus.CONFLICT, why)
        return FileResponse(path, media_type="application/x-ndjson")

    def _deleted(self, kind: Kind, run: str, *, leave: bool) -> bool:
        self._summary(kind, run)
        return self._queue.leave(run) if leave else self._queue.delete(run)

    def _submitted(self, fields: Mapping[str, Any], key: str | None) -> Response:
        _refuse_unknown(fields, FIELDS)
        summary, _ = self._queue.submit(self._service.request_of(fields), key)
        return _told(summary)


def _told(summary: Mapping[str, Any]) -> Response:
    return JSONResponse(summary, HTTPStatus.OK if summary["state"] == "done" else HTTPStatus.ACCEPTED)


def read_request(fields: Mapping[str, Any], query_of: Callable[[Any], AnyQuery], source: RunSource) -> RunRequest:
    """Read what somebody asks: `query` is an id or a document, `from` and `to` are times; else RunError."""
    missing = [name for name in ("query", "from", "to") if name not in fields]
    if missing:
        raise RunError(f"{missing[0]} is missing")
    more = {name: fields[name] for name in KINDS if name in fields}
    for name, kind in KINDS.items():
        if name in more and (not isinstance(more[name], kind) or isinstance(more[name], bool) is not (kind is bool)):
            raise RunError(f"{name} is {more[name]!r}: a {KIND_NAMES.get(kind, 'number')}")
    follows = isinstance(fields["query"], str) and bool(more.get("as_live"))
    from_us, to_us = (_time(name, fields[name]) for name in ("from", "to"))
    asked = query_of(fields["query"]), from_us, to_us, fields.get("source", source)
    return RunRequest(*asked, **more, follows_changes=follows)


def read_learning(fields: Mapping[str, Any]) -> LearningRequest:
    """Read what is to be learnt: `from` and `to` are times, `within` is where errors are looked for, in seconds."""
    if missing := [name for name in ("from", "to") if name not in fields]:
        raise RunError(f"{missing[0]} is missing")
    from_us, to_us = (_time(name, fields[name]) for name in ("from", "to"))
    more: dict[str, Any] = {
        name: _name(name, fields[name]) for name in ("area", "reference_stream") if fields.get(name) is not None
    }
    if fields.get("streams") is not None:
        more["streams"] = _names("streams", fields["streams"])
    if fields.get("within") is not None:
        more["lo_s"], more["hi_s"] = _bounds("within", fields["within"])
    if "buckets" in fields:
        more["buckets"] = _whole("buckets", fields["buckets"])
    return LearningRequest(from_us, to_us, **more)


def _time(field: str, value: Any) -> int:
    try:
        return parsed_time(str(value))
    except RunError as error:
        raise RunError(f"{field}: {error}") from None


def _name(field: str, value: Any) -> str:
    try:
        return msgspec.convert(value, RegisteredName)
    except msgspec.ValidationError:
        raise RunError(f"{field} is {value!r:.80}: {REGISTERED_NAME_IN_WORDS}") from None


def _names(field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise RunError(f"{field} is {value!r:.80}: a list of names")
    return tuple(sorted({_name(field, each) for each in value}))


def _bounds(field: str, value: Any) -> tuple[float, float]:
    if not (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))):
        raise RunError(f"{field} is {value!r:.80}: two numbers in seconds, such as [-10, 2]")
    return float(value[0]), float(value[1])


def _whole(field: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RunError(f"{field} is {value!r:.80}: a whole number")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _refuse_unknown(fields: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if unknown := sorted(set(fields) - set(known)):
        allowed = ", ".join(known)
        detail = f"{unknown[0]}: unknown; known are {allowed}"
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=unknown[0], allowed=allowed)


def _kind(summary: Mapping[str, Any]) -> str:
    """Return in which collection a run is."""
    return "history" if asks_query(summary["request"]) else "learning"
