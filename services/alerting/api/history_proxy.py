"""Runs over history at this front door: each request is passed on to the history process, and its answer back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ssl import SSLContext
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from services.alerting.settings import AlertingSettings
from services.common.access.caller import REASON_HEADER, caller_in
from services.common.access.component_access import trust_context
from services.common.access.who import Author
from services.common.http.problem import Problem
from services.common.http.query_contract import QueryId
from services.common.http.shares import RETRY_S, Shares
from services.common.http.strict_requests import bounded_body

MOST_AT_ONCE = 8
LONG_PARTS = ("matches", "episodes", "templates")
BLOCK_BYTES = 65_536
URL_CHARACTERS = "%/?&=+:,;@!$'()*~-._"  # all that a target may have as it is
PASSED_ON = ("authorization", "content-type", "accept", REASON_HEADER.lower())
PASSED_BACK = ("content-type", "content-length", "www-authenticate", "retry-after")

RunId = Annotated[str, Path(pattern=r"^r-[0-9a-f]{32}$", description="The run's id.")]
Leave = Annotated[
    bool, Query(description="Only take back that it was asked for: it goes with the last of those that asked for it.")
]
Part = Literal["matches", "episodes", "curve", "compare"]
LEARNING: dict[str, Any] = {
    "type": "object",
    "required": ["from", "to"],
    "additionalProperties": False,
    "properties": {
        "from": {
            "type": "string",
            "description": "RFC 3339, or microseconds; the range is of detected_at, and at most 366 days.",
        },
        "to": {"type": "string", "description": "The same; not included."},
        "within": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
            "default": [-60, 60],
            "description": "Errors to look for, true minus reported time, in seconds.",
        },
        "reference_stream": {
            "type": ["string", "null"],
            "description": "A stream that is right. null: what the other sensors of an area say together is.",
        },
        "area": {"type": ["string", "null"], "description": "null: all."},
        "streams": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 100,
            "description": "Those that are learnt. null: all.",
        },
        "buckets": {"type": "integer", "minimum": 1, "maximum": 64, "default": 8, "description": "At most so many."},
    },
}
WHAT_IF: dict[str, Any] = {
    "type": "object",
    "required": ["from", "to"],
    "additionalProperties": False,
    "properties": {
        "from": {"type": ["string", "integer"], "description": "RFC 3339, or microseconds."},
        "to": {"type": ["string", "integer"], "description": "The same; not included."},
        "min_threshold": {"type": "number", "description": "Where the curve begins, below the threshold."},
        "source": {"enum": ["archive", "topic"], "description": "Where detections are read."},
        "as_live": {"type": "boolean", "default": False, "description": "Answer as the live job did."},
        "warm_up_s": {"type": "number", "description": "With as_live: begin so long before."},
        "slides": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000,
            "description": "Count what chance gives by so many time slides, beside the formula. Without: none.",
        },
    },
}
PROBLEMS: dict[int | str, dict[str, Any]] = {503: {"description": "No history process is configured, or it is away"}}


@dataclass(frozen=True)
class HistoryProcess:
    """The process that does runs, by its URL; None: there is none. At most `MOST_AT_ONCE` requests wait for it.

    As many read a long answer, so that whoever does it slowly keeps nobody from asking.
    """

    url: str | None
    timeout_s: float
    trusts: SSLContext
    _asking: Shares = field(default_factory=lambda: Shares(MOST_AT_ONCE, "requests to the history process"))
    _reading: Shares = field(default_factory=lambda: Shares(MOST_AT_ONCE, "long answers of the history process"))

    def ask(self, method: str, target: str, headers: Mapping[str, str], body: bytes, peer: str | None) -> Response:
        """Return what it answers, streamed; `Problem` 503 where it does not. Blocks for at most the timeout."""
        if self.url is None:
            raise Problem(503, "runs over history are off here: the setting history_url names no history process")
        places = self._reading if target.partition("?")[0].endswith(LONG_PARTS) else self._asking
        places.take(peer)
        connection = self._connection(self.url)

        def end() -> None:
            connection.close()
            places.leave(peer)

        try:
            connection.request(method, f"{urlsplit(self.url).path}{target}", body or None, dict(headers))
            answer = connection.getresponse()
        except (OSError, HTTPException):
            end()
            raise Problem(503, "the history process does not answer", {"Retry-After": str(RETRY_S)}) from None
        told = {name: value for name, value in answer.headers.items() if name.lower() in PASSED_BACK}
        return _Streamed(_blocks(answer), answer.status, told, ended=end)

    def _connection(self, url: str) -> HTTPConnection:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return HTTPSConnection(host, parts.port, timeout=self.timeout_s, context=self.trusts)
        return HTTPConnection(host, parts.port, timeout=self.timeout_s)


class _Streamed(StreamingResponse):
    """A response that says when it has ended, however that came about."""

    def __init__(
        self, content: Iterator[bytes], status: int, headers: Mapping[str, str], ended: Callable[[], None]
    ) -> None:
        super().__init__(content, status, headers)
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()


def _blocks(answer: HTTPResponse) -> Iterator[bytes]:
    while block := answer.read(BLOCK_BYTES):
        yield block


def history_router(settings: AlertingSettings) -> APIRouter:
    """Return the routes of runs, of what-ifs, and of learning."""
    router = APIRouter(prefix="/v1", tags=["history"], responses=PROBLEMS)
    trusts = trust_context(settings.trusted_certificates)
    process = HistoryProcess(settings.history_url, settings.history_timeout_s, trusts)

    async def passed_on(request: Request) -> Response:
        body = await bounded_body(request)
        query = request.scope["query_string"].decode("latin-1")
        target = quote(f"{request.url.path}?{query}" if query else request.url.path, safe=URL_CHARACTERS)
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        peer = caller_in(request.scope).peer
        return await run_in_threadpool(process.ask, request.method, target, headers, body, peer)

    @router.get("/history-runs", summary="Runs over history, the newest first")
    async def list_runs(request: Request) -> Response:
        return await passed_on(request)

    @router.post("/history-runs", summary="Ask for a run", status_code=202)
    async def start_run(request: Request) -> Response:
        return await passed_on(request)

    @router.get("/history-runs/{id}", summary="The state and summary of a run: docs/contracts/history-run.schema.json")
    async def read_run(request: Request, id: RunId) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    @router.delete("/history-runs/{id}", summary="Cancel a run and delete its results", status_code=204)
    async def delete_run(request: Request, id: RunId, leave: Leave = False) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    @router.get(
        "/history-runs/{id}/{part}", summary="Its matches or episodes as NDJSON, its curve, or it beside another run"
    )
    async def read_part(request: Request, id: RunId, part: Part) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    @router.post(
        "/queries/{id}/what-if",
        summary="Matches, episodes and chance of a range against the threshold: a run that counts only",
        status_code=202,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": WHAT_IF}}}},
    )
    async def what_if(request: Request, id: QueryId) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    _add_learning(router, passed_on)
    return router


def _add_learning(router: APIRouter, passed_on: Callable[[Request], Awaitable[Response]]) -> None:
    """Add the routes of runs that learn templates; the history process tells the audit trail who asked."""

    @router.get("/learning-runs", summary="Runs that learn templates, the newest first")
    async def list_learning(request: Request) -> Response:
        return await passed_on(request)

    @router.post(
        "/learning-runs",
        summary="Learn templates from the archive, and propose those that do better",
        status_code=202,
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": LEARNING}}}},
    )
    async def start_learning(request: Request, _who: Author) -> Response:
        return await passed_on(request)

    @router.get("/learning-runs/{id}", summary="The state of a learning run: docs/contracts/learning-run.schema.json")
    async def read_learning(request: Request, id: RunId) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    @router.delete("/learning-runs/{id}", summary="Cancel it and delete what it says; proposals stay", status_code=204)
    async def delete_learning(request: Request, id: RunId, _who: Author) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)

    @router.get("/learning-runs/{id}/templates", summary="Its templates as NDJSON, a line for each sensor and stream")
    async def read_templates(request: Request, id: RunId) -> Response:  # noqa: A002, ARG001
        return await passed_on(request)
