"""The whole line on a Spark cluster whose workers are lost and replaced: a real master, four shards, keys on."""

import json
import subprocess
import sys
from collections.abc import Iterator
from os import getloadavg
from pathlib import Path
from random import Random

import httpx2
import pytest

from deploy.host.machine import ROOT
from deploy.local.layout import Layout
from deploy.local.system import System
from tests.integration.topics import read_all
from tests.patience import until
from tests.reference.spark_cluster import Cluster, executors, running_cluster, runs_python
from trials.chaos.balance import QUIET_S, balance
from trials.chaos.load import Load, prepare
from trials.chaos.probe import Probe

pytestmark = [pytest.mark.jvm, pytest.mark.night]

SHARDS = 4
CORES = 2  # of each worker
STATUS = "coincide.status"
DETECTIONS_HZ = 20.0


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with running_cluster(folder, workers=2, memory="2G", cores=CORES) as cluster:
        yield cluster


@pytest.fixture
def system(cluster: Cluster, tmp_path: Path) -> Iterator[System]:
    """The whole line, fusion on the cluster; ingest and alerting answer nobody without a key."""
    own = {
        "COINCIDE_FUSION_MASTER": cluster.url,
        "COINCIDE_FUSION_SHARDS": str(SHARDS),
        "COINCIDE_FUSION_SPARK_CONF": json.dumps({"spark.executor.memory": "900m"}),
        "COINCIDE_FUSION_QUIET_S": str(QUIET_S),
        "COINCIDE_INGEST_REQUIRE_KEYS": "true",
        "COINCIDE_ALERTING_REQUIRE_KEYS": "true",
    }
    system = System(Layout.isolated(tmp_path / "running", own))
    try:
        system.up()
        yield system
    finally:
        system.down()


@pytest.fixture
def load(system: System) -> Load:
    """Gateways that show a key for posting; the clients of the system show keys that may do no more than they need."""
    asked = {system.ingest: "/v1/sensors", system.alerting: "/v1/queries"}
    assert [client.get(path).status_code for client, path in asked.items()] == [401, 401]
    admin, gateway, reader = (new_key(system, scope) for scope in ("admin", "ingest", "read"))
    for client, path in asked.items():
        show(client, admin, path)
    load = Load.of(system.layout.url("ingest"), Random(18), DETECTIONS_HZ, headers=gateway)
    prepare(system, load)
    system.ingest.headers.update(gateway)
    system.alerting.headers.update(reader)
    return load


def new_key(system: System, scope: str) -> dict[str, str]:
    """Make a key as an operator does, and return the header that shows it."""
    command = [sys.executable, "-m", "services.common.access", "--kafka", system.layout.bootstrap, "create"]
    made = subprocess.run(
        [*command, "--scope", scope], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return {"Authorization": f"Bearer {made.stdout.strip()}"}


def show(client: httpx2.Client, key: dict[str, str], path: str) -> None:
    """Have ``client`` show the key from now on; return when it is known."""
    client.headers.update(key)
    until(lambda: client.get(path).status_code == 200)


def wait_for_shards(cluster: Cluster) -> None:
    """Return when every executor of every worker has had a shard: only the stateful operator needs Python."""
    wanted = [[True] * CORES] * len(cluster.workers)

    def at_work() -> list[list[bool]]:
        return [[runs_python(executor) for executor in executors(worker)] for worker in cluster.workers]

    until(lambda: at_work() == wanted, tell=at_work)


def wait_for_a_match(probe: Probe, what: str) -> None:
    took_s = probe.seconds_until_matched()
    assert took_s is not None, f"no match {what}"
    print(f"{what}: a match {took_s:.1f} s after its detections were posted, load {getloadavg()[0]:.1f}", flush=True)


def test_workers_are_lost_and_replaced_and_nothing_is_lost_or_twice(
    cluster: Cluster, system: System, load: Load
) -> None:
    probe, driver = Probe(system, load.ledger), system.supervision.pid("fusion")
    with load.running():
        wait_for_a_match(probe, "at the start")
        wait_for_shards(cluster)
        wait_for_a_match(probe, "on two workers")
        cluster.lose(cluster.workers[0])
        wait_for_a_match(probe, "when a worker is lost for good")
        wait_for_a_match(probe, "on the worker that is left")
        old, _new = *cluster.workers, cluster.add_worker()
        wait_for_shards(cluster)
        wait_for_a_match(probe, "with a new worker")
        cluster.retire(old)
        wait_for_a_match(probe, "on the new worker alone")
    assert system.supervision.pid("fusion") == driver
    found = balance(system, load.ledger)
    assert found.is_even, found.shortened()
    assert found.matches > 0
    accepted = {each["shard"]: each["totals"]["accepted"] for each in read_all(system.layout.bootstrap, STATUS)}
    assert sorted(accepted) == [*range(SHARDS)]
    assert all(accepted.values()), "a shard has had nothing to do"
