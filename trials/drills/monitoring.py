"""Prometheus and Alertmanager beside a system, as `make monitor` runs them, and what they say."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx2

from deploy.host.machine import LocalError, free_ports, wait_until
from deploy.local.layout import Layout
from deploy.local.monitor import commands, find_programs

READY_WITHIN_S = 60.0


@dataclass(frozen=True)
class Monitoring:
    """Where the two answer."""

    prometheus: str
    alertmanager: str

    def ask(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return what Prometheus answers to an expression now; an `HTTPStatusError` where it is none."""
        answer = httpx2.get(f"{self.prometheus}/api/v1/query", params={"query": expression}, trust_env=False)
        result = answer.raise_for_status().json()["data"]["result"]
        return [(each["metric"], float(each["value"][1])) for each in result]

    def ringing(self) -> dict[str, str]:
        """Return what somebody hears of now, and its sentence: alerts that neither are silenced nor follow from one."""
        only = {"active": "true", "silenced": "false", "inhibited": "false"}
        answer = httpx2.get(f"{self.alertmanager}/api/v2/alerts", params=only, trust_env=False)
        heard = answer.raise_for_status().json()
        return {str(each["labels"]["alertname"]): str(each["annotations"].get("summary", "")) for each in heard}

    def answers(self) -> bool:
        """Whether both are ready."""
        urls = (f"{self.prometheus}/-/ready", f"{self.alertmanager}/-/ready")
        try:
            return all(httpx2.get(url, trust_env=False).status_code == httpx2.codes.OK for url in urls)
        except httpx2.TransportError:
            return False


@contextmanager
def monitored(layout: Layout) -> Iterator[Monitoring]:
    """Run both beside the system of ``layout``, with the rules and intervals that are shipped, until the block ends."""
    ports = dict(zip(("prometheus", "alertmanager"), free_ports(2), strict=True))
    with ExitStack() as stack:
        for name, command in commands(layout, find_programs(), ports).items():
            log = stack.enter_context((layout.runtime / "monitor" / f"{name}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            stack.callback(process.terminate)
        monitoring = Monitoring(*(f"http://127.0.0.1:{port}" for port in ports.values()))
        if not wait_until(monitoring.answers, READY_WITHIN_S):
            raise LocalError(f"Prometheus or Alertmanager does not start; the logs are in {layout.runtime / 'monitor'}")
        yield monitoring
