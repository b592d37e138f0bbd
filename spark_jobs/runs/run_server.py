"""RunServer: runs over HTTP: ask, look, read the matches or templates, compare, delete."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from coincide.queries import AnyQuery
from services.common.access.caller import REASON_HEADER, Caller, ReasonError
from services.common.access.component_access import ComponentAccess, export_readiness
from services.common.http.header_limits import body_length
from services.common.http.route_table import PathRoute, RouteTable
from services.common.http.strict_json import BodyError, parse_json
from services.common.settings import ComponentSettings
from spark_jobs.job.http_server import GuardedHandler, GuardedServer
from spark_jobs.replaying.request import (
    LearningRequest,
    RunError,
    RunRequest,
    RunSource,
    asks_query,
    parsed_time,
)
from spark_jobs.replaying.run_folder import EPISODES, MATCHES, TEMPLATES
from spark_jobs.runs.run_queue import QueueFullError, RunQueue

LONGEST_BODY = 65_536
RUN = re.compile(r"/v1/(history|learning)-runs/(r-[0-9a-f]{32})(?:/([a-z]+))?")
PARTS = {"history": ("matches", "episodes", "curve", "compare"), "learning": ("templates",)}
PATHS = tuple(f"/v1/{kind}-runs" for kind in PARTS)
WHAT_IF = re.compile(r"/v1/queries/([A-Za-z0-9][A-Za-z0-9._-]{0,99})/what-if")
FILES = {"matches": MATCHES, "episodes": EPISODES, "templates": TEMPLATES}
KINDS = {"as_live": bool, "keeps_matches": bool, "min_threshold": float | int, "warm_up_s": float | int}
FIELDS = ("query", "from", "to", "source", "as_live", "min_threshold", "warm_up_s", "keeps_matches")
WHAT_IF_FIELDS = tuple(name for name in FIELDS if name not in ("query", "keeps_matches"))
LEARNING_FIELDS = ("from", "to", "within", "reference_stream", "area", "streams", "buckets")
LONGEST_NAME = 128
_READ = ("/livez", "/readyz", "/metrics", *(f"{path}/{{id}}/{{part}}" for path in PATHS))
ROUTES = RouteTable(
    [
        *(PathRoute.of(path, "GET") for path in _READ),
        PathRoute.of("/v1/queries/{id}/what-if", "POST"),
        *(PathRoute.of(path, "GET", "POST") for path in PATHS),
        *(PathRoute.of(f"{path}/{{id}}", "GET", "DELETE") for path in PATHS),
    ]
)


class ProblemError(Exception):
    """What is wrong with a request, as a problem document (RFC 9457)."""

    def __init__(self, status: HTTPStatus, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status, self.members = status, members


@dataclass(frozen=True)
class RunService:
    """What the server stands on: the queue, metrics, how a request is read, and how a run is compared with another."""

    queue: RunQueue
    registry: CollectorRegistry
    request_of: Callable[[Mapping[str, Any]], RunRequest]
    compare: Callable[[str, str], dict[str, Any]]


class RunServer(GuardedServer):
    """Serves on the address of its settings what `access` lets pass; SettingsError if it cannot."""

    def __init__(self, settings: ComponentSettings, access: ComponentAccess, service: RunService) -> None:
        super().__init__(settings, access, _Handler)
        self.service = service
        export_readiness(service.registry, lambda: True)


class _Handler(GuardedHandler):
    timeout = 30.0  # seconds for a request
    server: RunServer
    routes = ROUTES

    def do_GET(self) -> None:  # noqa: N802 - the base class calls it
        self._answered(self._get)

    def do_POST(self) -> None:  # noqa: N802
        self._answered(self._post)

    def do_DELETE(self) -> None:  # noqa: N802
        self._answered(self._delete)

    def _get(self) -> None:
        queue = self.server.service.queue
        if self.place in ("/livez", "/readyz"):
            self._answer(HTTPStatus.OK, {"status": "ready"})
        elif self.place == "/metrics":
            self._send(HTTPStatus.OK, generate_latest(self.server.service.registry), CONTENT_TYPE_LATEST)
        elif self.place in PATHS:
            runs = [said for said in queue.summaries() if self.place == f"/v1/{_kind(said)}-runs"]
            self._answer(HTTPStatus.OK, {"items": runs})
        else:
            run, part = self._run()
            if part in FILES:
                self._send_lines(run, part)
            elif part == "compare":
                self._answer(HTTPStatus.OK, self.server.service.compare(run, _other(self.query)))
            elif part == "curve":
                said = queue.summary(run) or {}
                self._answer(HTTPStatus.OK, {name: said.get(name) for name in ("run", "state", "curve", "histogram")})
            else:
                self._answer(HTTPStatus.OK, queue.summary(run) or {})

    def _post(self) -> None:
        if self.headers.get_content_type() != "application/json":  # no page of another origin can send that unasked
            raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
        fields = self._body()
        if what_if := WHAT_IF.fullmatch(self.place):
            _refuse_unknown(fields, WHAT_IF_FIELDS)
            self._submitted({**fields, "query": what_if[1], "keeps_matches": False})
        elif self.place == "/v1/history-runs":
            self._submitted(fields)
        else:
            _refuse_unknown(fields, LEARNING_FIELDS)
            self._learning(read_learning(fields))

    def _delete(self) -> None:
        run, _ = self._run()
        queue, author = self.server.service.queue, self._author()
        said = queue.summary(run) or {}
        is_deleted = queue.leave(run) if _leaves(self.query) else queue.delete(run)
        if is_deleted and said and _kind(said) == "learning":
            self.server.access.audit.note(author, "learning_run.deleted", run, said["request"], None)
        self._send(HTTPStatus.NO_CONTENT, b"")

    def _submitted(self, fields: Mapping[str, Any]) -> None:
        _refuse_unknown(fields, FIELDS)
        summary, _ = self.server.service.queue.submit(self.server.service.request_of(fields), self.caller.key)
        self._told(summary)

    def _learning(self, request: LearningRequest) -> None:
        """Learn, and tell the audit trail who wants that: it ends with proposals."""
        author = self._author()
        summary, is_new = self.server.service.queue.submit(request, self.caller.key)
        if is_new:
            self.server.access.audit.note(author, "learning_run.asked", request.id, None, summary["request"])
        self._told(summary)

    def _author(self) -> Caller:
        try:
            return self.caller.because(self.headers.get(REASON_HEADER))
        except ReasonError as error:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None

    def _told(self, summary: Mapping[str, Any]) -> None:
        self._answer(HTTPStatus.OK if summary["state"] == "done" else HTTPStatus.ACCEPTED, summary)

    def _run(self) -> tuple[str, str | None]:
        """Return the run that the path names, and which part of it."""
        matched = RUN.fullmatch(self.place)
        said = None if matched is None else self.server.service.queue.summary(matched[2])
        if matched is None or said is None or matched[1] != _kind(said) or matched[3] not in (None, *PARTS[matched[1]]):
            raise ProblemError(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path[:200]}")
        return matched[2], matched[3]

    def _body(self) -> Mapping[str, Any]:
        length = body_length(self.headers.get("Content-Length", ""))
        if length is None:
            raise ProblemError(HTTPStatus.LENGTH_REQUIRED, "Content-Length must say how many bytes the body has")
        if length > LONGEST_BODY:
            raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body must have at most {LONGEST_BODY} bytes")
        try:
            content = parse_json(self.rfile.read(length))
        except BodyError as error:
            raise ProblemError(HTTPStatus.BAD_REQUEST, str(error), **error.members) from None
        if not isinstance(content, dict):
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "the body must be a JSON object")
        return content

    def _send_lines(self, run: str, part: str) -> None:
        path = self.server.service.queue.folder(run).path / FILES[part]
        if not path.exists():
            raise ProblemError(
                HTTPStatus.CONFLICT,
                f"there are no {part}: the state says why, or the run counts only, or its query has none",
            )
        with path.open("rb") as lines:
            self._head(HTTPStatus.OK, "application/x-ndjson", path.stat().st_size)
            while block := lines.read(1 << 16):
                self.wfile.write(block)

    def _answered(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except ProblemError as error:
            self.problem(error.status, str(error), **error.members)
        except RunError as error:
            self.problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except QueueFullError as error:
            self.problem(HTTPStatus.TOO_MANY_REQUESTS, str(error))
        except KafkaError as error:
            self.problem(HTTPStatus.SERVICE_UNAVAILABLE, f"Kafka cannot be asked: {error}")

    def _answer(self, status: HTTPStatus, content: Mapping[str, Any]) -> None:
        self._send(status, json.dumps(content).encode())

    def _send(self, status: HTTPStatus, body: bytes, content_type: str = "application/json") -> None:
        self._head(status, content_type, len(body))
        self.wfile.write(body)

    def _head(self, status: HTTPStatus, content_type: str, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(length))
        self.end_headers()


def read_request(fields: Mapping[str, Any], query_of: Callable[[Any], AnyQuery], source: RunSource) -> RunRequest:
    """Read what somebody asks: `query` is an id or a document, `from` and `to` are times; else RunError."""
    missing = [name for name in ("query", "from", "to") if name not in fields]
    if missing:
        raise RunError(f"{missing[0]} is missing")
    more = {name: fields[name] for name in ("as_live", "min_threshold", "warm_up_s", "keeps_matches") if name in fields}
    for name, kind in KINDS.items():
        if name in more and (not isinstance(more[name], kind) or isinstance(more[name], bool) is not (kind is bool)):
            raise RunError(f"{name} is {more[name]!r}: a {'truth value' if kind is bool else 'number'}")
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
    if not (isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable()):
        raise RunError(f"{field} is {value!r:.80}: a name of at most {LONGEST_NAME} characters that can be printed")
    return value


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
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, field=unknown[0], allowed=allowed)


def _kind(summary: Mapping[str, Any]) -> str:
    """Return in which collection a run is."""
    return "history" if asks_query(summary["request"]) else "learning"


def _parameter(query: str, name: str, usual: str) -> str:
    said = [value for each, value in parse_qsl(query) if each == name]
    if len(said) > 1:
        raise RunError(f"{name}: stands {len(said)} times in the query string: it may stand there once")
    return said[0] if said else usual


def _leaves(query: str) -> bool:
    leaves = _parameter(query, "leave", "false")
    if leaves not in ("true", "false"):
        raise RunError(f"leave is {leaves[:80]!r}: true or false")
    return leaves == "true"


def _other(query: str) -> str:
    other = _parameter(query, "with", "live")
    if other != "live" and not RUN.fullmatch(f"/v1/history-runs/{other}"):
        raise RunError(f"with is {other[:80]!r}: live, or the id of a run")
    return other
