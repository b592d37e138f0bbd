"""A line in one process, as a person starts it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.host.machine import free_ports
from tests.integration.service_process import ServiceProcess, pages_of, run_module

READY = [f"/components/{name}/readyz" for name in ("ingest", "alerting", "fusion")]


class LineProcess(ServiceProcess):
    """Speaks to it."""

    def put(self, path: str, document: Any) -> None:
        self.call("PUT", path, json=document).raise_for_status()

    def post(self, *detections: dict[str, Any]) -> None:
        self.call("POST", "/v1/detections", json=detections).raise_for_status()

    def matches(self, query: str) -> list[dict[str, Any]]:
        def page(cursor: dict[str, str]) -> Any:
            asked = {"query": query, "limit": 1000, **cursor}
            return self.call("GET", "/v1/matches", params=asked).raise_for_status().json()

        return pages_of(page)


@contextmanager
def running_line(folder: Path, *arguments: str, port: int = 0, **environ: str) -> Iterator[LineProcess]:
    """Run one on ``folder``, ready; it is killed at the end if it still runs."""
    folder.mkdir(parents=True, exist_ok=True)
    port = port or free_ports(1)[0]
    given = "--folder", str(folder), "--port", str(port), *arguments
    line = LineProcess(port, run_module("services.line", folder / "line.log", "ingest", {}, given, **environ))
    try:
        for path in READY:
            line.wait_for(path, 200)
        yield line
    finally:
        line.kill()
