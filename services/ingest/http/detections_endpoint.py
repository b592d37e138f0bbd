"""POST /v1/detections: the endpoint, an ASGI application of its own for speed."""

import logging
import time
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from services.common.access.caller import caller_in
from services.common.http.problem import Problem, unexpected_problem
from services.ingest.http.openapi import DETECTION_COMPONENTS, DETECTIONS_OPENAPI
from services.ingest.http.request_limits import form_of, items_of, read_body
from services.ingest.intake.intake import Intake
from services.ingest.metrics import IngestMetrics
from services.ingest.publishing.publisher import PublisherBusyError
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from services.ingest.stamping.parsing import Form
from services.ingest.verdicts import Outcome, Refused

PATH = "/v1/detections"

log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode


class DetectionsEndpoint:
    """Answers POSTs of detections: reads, parses, hands over to the intake, and says what became of each item."""

    def __init__(self, settings: IngestSettings, registry: Registry, intake: Intake, metrics: IngestMetrics) -> None:
        self._settings = settings
        self._registry = registry
        self._intake = intake
        self._metrics = metrics
        self._posts_arriving = self._posts_in_work = 0
        metrics.posts_arriving.set_function(lambda: self._posts_arriving)
        metrics.posts_in_work.set_function(lambda: self._posts_in_work)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as an ASGI application."""
        response = await self.respond(Request(scope, receive))
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """Return the answer; every error is a problem document."""
        started_s = time.perf_counter()
        try:
            response = await self._answer(form_of(request), await self._body(request), request)
        except Problem as problem:
            response = problem.response()
        except Exception:
            log.exception("a POST of detections failed")
            response = unexpected_problem()
        self._metrics.posts[response.status_code].inc()
        self._metrics.post_seconds.observe(time.perf_counter() - started_s)
        return response

    async def _body(self, request: Request) -> bytes:
        self._posts_arriving += 1
        try:
            body = await read_body(request, self._settings)
        finally:
            self._posts_arriving -= 1
        self._metrics.body_bytes.inc(len(body))
        return body

    async def _answer(self, form: Form, body: bytes, request: Request) -> Response:
        """Answer a POST that is complete; one that still arrives is no work yet, however slowly it does."""
        if self._posts_in_work >= self._settings.max_concurrent_posts:
            raise self._unavailable(f"{self._posts_in_work} POSTs are in work (max_concurrent_posts)")
        self._posts_in_work += 1
        try:
            return await self._take(form, body, request)
        finally:
            self._posts_in_work -= 1

    async def _take(self, form: Form, body: bytes, request: Request) -> Response:
        if not self._registry.caught_up:
            raise self._unavailable("the sensor registry has not been read yet")
        if self._intake.publisher.problem is not None:  # before the work on a body that would come again
            raise self._unavailable(f"{self._intake.publisher.log_name} is away")
        try:
            items = items_of(body, form, self._settings.max_detections_per_post)
        except Refused as refused:
            self._metrics.refused[refused.reason].inc()
            raise Problem(400, f"the body is not usable: {refused.allowed}", reason=refused.reason) from None
        try:
            return self._response(await self._intake.take(items, caller_in(request.scope).posts))
        except PublisherBusyError as busy:
            raise self._unavailable(str(busy)) from None

    def _unavailable(self, why: str) -> Problem:
        retry = {"Retry-After": str(self._settings.retry_after_s)}
        return Problem(503, f"{why}; nothing was taken, send the whole POST again", retry)

    def _response(self, outcome: Outcome) -> Response:
        if outcome.unacknowledged:
            retry = {"Retry-After": str(self._settings.retry_after_s)}
            who = self._intake.publisher.log_name
            detail = f"{who} did not acknowledge {outcome.unacknowledged} detections; repeat the whole POST"
            return _problem(503, detail, outcome, retry)
        if not outcome.accepted:
            return _problem(422, "no detection was accepted", outcome)
        return Response(_encode(outcome), 202, media_type="application/json")


def _problem(status: int, detail: str, outcome: Outcome, headers: dict[str, str] | None = None) -> Response:
    members = {**msgspec.to_builtins(outcome), "unacknowledged": outcome.unacknowledged}
    return Problem(status, detail, headers, **members).response()


class IngestApp(FastAPI):
    """FastAPI, but a POST of detections goes straight to its endpoint: the layers around cost as much as 5 of them."""

    def __init__(self, endpoint: DetectionsEndpoint, **options: Any) -> None:
        super().__init__(**options)
        self._endpoint = endpoint
        # So that another method is answered 405.
        self.router.routes.append(Route(PATH, endpoint, methods=["POST"], include_in_schema=False))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as an ASGI application."""
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST":
            await self._endpoint(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """Return the description, the endpoint's own included."""
        description = super().openapi()
        description["paths"].setdefault(PATH, {})["post"] = DETECTIONS_OPENAPI
        description["components"]["schemas"] |= DETECTION_COMPONENTS
        return description
