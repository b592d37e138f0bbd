"""What every service has for whoever operates it: problem documents, /livez, /readyz, /metrics, and logs as JSON."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, disable_created_metrics, generate_latest

from services.common.access.component_access import export_readiness
from services.common.http.problem import install_problem_handlers, problem_response

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


def install_operations(
    app: FastAPI,
    registry: CollectorRegistry,
    not_ready_because: Callable[[], list[str]],
    besides: Callable[[], dict[str, bool]] = dict,
) -> None:
    """Have ``app`` answer every error as a problem document, and add the routes for an orchestrator and Prometheus.

    ``not_ready_because`` returns a sentence for each reason why the service is not ready, and ``besides`` what else
    ``/readyz`` says of one that is. Every ``/readyz`` calls them, so they must not block.
    """
    install_problem_handlers(app)
    readiness = CollectorRegistry()  # of this app; the other may be that of a process with several
    export_readiness(readiness, lambda: not not_ready_because())
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series for each series, which nobody reads

    @app.get("/livez", summary="Is the process alive?", tags=["operations"])
    async def livez() -> dict[str, str]:
        return {"status": "alive"}

    not_ready: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready, and why"}}

    @app.get("/readyz", summary="Can it do its work now?", tags=["operations"], responses=not_ready)
    async def readyz() -> Response:
        reasons = not_ready_because()
        if reasons:
            return problem_response(503, "; ".join(reasons), {"Retry-After": "1"})
        return JSONResponse({"status": "ready", **besides()})

    @app.get("/metrics", summary="Prometheus metrics", tags=["operations"], response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry) + generate_latest(readiness), media_type=CONTENT_TYPE_LATEST)


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object; whatever was passed as ``extra`` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """Return ``record`` as one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "at": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logs(level: str = "INFO") -> None:
    """Send every logger's records at or above ``level`` to standard error, one line of JSON each."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it tells of every attempt; what fails is ours to report
    for chatterer in ("httpx2", "py4j"):  # a line for each request would hide all others
        logging.getLogger(chatterer).setLevel(logging.WARNING)
