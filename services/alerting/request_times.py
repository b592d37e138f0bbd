"""Measuring requests, without a wrapper that would buffer a live stream."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.alerting.metrics import Metrics

UNROUTED = "unrouted"
LIVE = "/v1/live"


class RequestTimes:
    """ASGI middleware: observes how long each request took, by route and status."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and measure it."""
        if scope["type"] != "http" or scope["path"] == LIVE:
            await self._app(scope, receive, send)
            return
        status = 500

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        started_s = time.perf_counter()
        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            route = getattr(scope.get("route"), "path", UNROUTED)
            self._metrics.requests.labels(route, str(status)).observe(time.perf_counter() - started_s)
