"""Schemathesis, all its checks, against both services and their OpenAPI documents, with and without keys."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from deploy.host.machine import ROOT
from deploy.local.broker import Broker
from services.ingest.registry.seed import seed
from tests.integration.service_process import ServiceProcess, running_alerting, running_ingest
from tests.integration.topics import running_broker
from tests.patience import until
from tests.services.ingest.building import SENSORS

pytestmark = [pytest.mark.jvm, pytest.mark.night]

SPENT_S = int(os.environ.get("COINCIDE_SCHEMATHESIS_S", "30"))  # the fixed cases of coverage take 15 s
SEED = os.environ.get("COINCIDE_SCHEMATHESIS_SEED", "1")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of its own, for what is written there is nonsense."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        seed(
            broker.connection,
            {name: SENSORS[name] for name in ("geo", "imb")},
            prune=False,
            dry_run=False,
        )
        yield broker


@pytest.fixture(scope="module")
def key(broker: Broker) -> str:
    command = [sys.executable, "-m", "services.common.access", "--kafka", broker.bootstrap, "create"]
    command += ["--scope", "admin", "--requests-per-s", "100000"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.parametrize("needs_key", [False, True], ids=["without keys", "with keys"])
def test_both_services_do_what_their_documents_say(broker: Broker, key: str, tmp_path: Path, needs_key: bool) -> None:
    folders = [tmp_path / name for name in ("ingest", "alerting")]
    for folder in folders:
        folder.mkdir()
    with (
        running_ingest(broker.bootstrap, folders[0], require_keys=needs_key) as ingest,
        running_alerting(broker.bootstrap, folders[1], require_keys=needs_key) as alerting,
        ThreadPoolExecutor(2) as pool,  # at a time, for each takes half a minute
    ):
        for process in (ingest, alerting):
            process.wait_for("/readyz", 200)
        list(pool.map(fuzz, (ingest, alerting), [key if needs_key else None] * 2, folders))


def fuzz(process: ServiceProcess, key: str | None, folder: Path) -> None:
    shown = ["--header", f"Authorization: Bearer {key}"] if key else []
    if key:
        authorization = {"Authorization": f"Bearer {key}"}
        until(lambda: process.call("GET", "/openapi.json", headers=authorization).status_code == 200)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{process.url}/openapi.json", "--checks", "all", "--max-time", str(SPENT_S), "--seed", SEED]
    command += ["--continue-on-failure", "--warnings", "off", "--no-color", *shown]
    # Many sensors are posted at once, and one that is refused has no id: it is looked for as `None`, and is not there.
    command += ["--exclude-checks", "ensure_resource_availability"]
    environ = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.integration.rest_hooks", "PYTHONPATH": str(ROOT)}
    longest_s = SPENT_S + 170
    ran = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=longest_s, check=False
    )
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-2_000:]
    assert httpx2.get(f"{process.url}/readyz").status_code == 200
