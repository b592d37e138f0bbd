"""A real Alertmanager: where it is not, the test is skipped, and in CI it fails."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from deploy.host.machine import free_ports
from tests.needs import found
from tests.patience import until

CONFIG = "route: {receiver: nobody, group_wait: 0s}\nreceivers: [{name: nobody}]\n"


def find_alertmanager() -> str:
    """Return the program."""
    return found("prometheus-alertmanager")


@dataclass
class Alertmanager:
    url: str

    def alerts(self) -> list[dict[str, Any]]:
        """What it has, resolved ones left out."""
        return list(httpx2.get(f"{self.url}/api/v2/alerts", trust_env=False).raise_for_status().json())

    def answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/-/ready", trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False


@contextmanager
def running_alertmanager(folder: Path, port: int | None = None) -> Iterator[Alertmanager]:
    """Run it on a port of the loopback, with nothing kept from before."""
    program = find_alertmanager()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "alertmanager.yml"
    config.write_text(CONFIG)
    [chosen] = [port] if port is not None else free_ports(1)
    options = [f"--config.file={config}", f"--storage.path={folder / 'data'}", "--cluster.listen-address="]
    command = [program, *options, f"--web.listen-address=127.0.0.1:{chosen}"]
    with (folder / "alertmanager.log").open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        alertmanager = Alertmanager(f"http://127.0.0.1:{chosen}")
        try:
            until(alertmanager.answers)
            yield alertmanager
        finally:
            process.kill()
