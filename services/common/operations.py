"""Operational endpoints that every service has: ``/livez``, ``/readyz`` and ``/metrics``."""

from collections.abc import Callable

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, disable_created_metrics, generate_latest

from services.common.problem import problem_response

#: Returns why the service is not ready, one sentence each; empty means ready.
ReadyCheck = Callable[[], list[str]]


def operations_router(registry: CollectorRegistry, not_ready_because: ReadyCheck) -> APIRouter:
    """Return the routes an orchestrator and Prometheus use; the check, called at every ``/readyz``, must not block."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series for each series, which nobody reads
    router = APIRouter(tags=["operations"])

    @router.get("/livez", summary="Is the process alive?")
    async def livez() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", summary="Can it do its work now?", responses={503: {"description": "Not ready, and why"}})
    async def readyz() -> Response:
        reasons = not_ready_because()
        if reasons:
            return problem_response(503, "; ".join(reasons), {"Retry-After": "1"})
        return JSONResponse({"status": "ready"})

    @router.get("/metrics", summary="Prometheus metrics", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router
