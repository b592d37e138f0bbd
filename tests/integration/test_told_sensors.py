"""Sensor health through real Kafka, Spark and HTTP: who was heard of, whose clock went wrong, what a kill leaves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Particulars, Sensor
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.integration.service_process import IngestProcess, metric, running_ingest, until
from tests.integration.topics import running_broker
from tests.spark_jobs.inputs import edge, put

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

START_US = 1_700_000_000_000_000
BANGS = 60  # their 240 reports are fewer than the members that one batch looks at, so that no batching hides one
BOUNDS_S = {"mic-0": (-1, 1), "mic-1": (-2, 0), "mic-2": (-0.8, 0.8), "mic-3": (-1.5, 1.5)}
SENSORS = {
    name: Sensor(name, "harbour", {"noise": Histogram.uniform(*bounds)}, Particulars(model="M"))
    for name, bounds in BOUNDS_S.items()
}
BANG = {
    "id": "bang",
    "from": dict.fromkeys("abcd", "noise"),
    "form": "clique",
    "within": [edge(8.0, 0.1)],
    "joint_threshold": 0.05,
}


@pytest.fixture
def line(tmp_path: Path) -> Iterator[tuple[FusionProcess, IngestProcess]]:
    """Run fusion and ingest on a broker of their own."""
    with running_broker(tmp_path / "kafka") as broker:
        seed(broker.bootstrap, SENSORS, prune=False, dry_run=False)
        with (
            fusion_job(broker.bootstrap, "coincide.", tmp_path) as job,
            running_ingest(broker.bootstrap, tmp_path, heartbeat_s=0.5) as ingest,
        ):
            ingest.wait_for("/readyz", 200)
            job.send("queries", [put(0, BANG)])
            job.start_and_wait()
            yield job, ingest


def bangs(numbers: range, wrong_s: float) -> list[dict[str, Any]]:
    """Return what four microphones say of bangs half a minute apart; the clock of the last is wrong by so much."""
    rng, items = np.random.default_rng(numbers.start), []
    for number in numbers:
        for name, bounds in BOUNDS_S.items():
            error_s = rng.uniform(*bounds) - (wrong_s if name == "mic-3" else 0.0)
            at_us = START_US + number * 30_000_000 - round(error_s * 1e6)
            items.append({"sensor": name, "detected_at": at_us, "id": f"{number}"})
    return items


def health(ingest: IngestProcess, sensor: str) -> dict[str, Any]:
    found = ingest.call("GET", f"/v1/sensors/{sensor}").json()["health"].get("noise")
    return found or {"last_seen_us": 0, "drift": None}


def test_a_wrong_clock_is_seen_and_a_kill_forgets_nobody(line: tuple[FusionProcess, IngestProcess]) -> None:
    job, ingest = line
    for first in range(0, BANGS, 20):
        posted = ingest.post(bangs(range(first, first + 20), wrong_s=1.2)).json()
    until(lambda: health(ingest, "mic-3")["last_seen_us"] == posted["received_at_us"], 60)
    until(lambda: (health(ingest, "mic-3")["drift"] or {"errors": 0})["errors"] == BANGS, 60)
    drifts = {name: health(ingest, name)["drift"] for name in SENSORS}
    assert drifts["mic-3"]["p_value"] < 1e-6
    assert drifts["mic-3"]["distance"] == max(each["distance"] for each in drifts.values())
    page = ingest.call("GET", "/v1/sensors", params={"area": "harbour", "model": "M", "stream": "noise"}).json()
    assert [each["id"] for each in page["items"]] == sorted(SENSORS)
    until(lambda: metric(ingest.url, "coincide_ingest_drifting_templates") == 1, 30)

    job.kill()
    job.start()
    later = ingest.post({"sensor": "mic-0", "detected_at": START_US + 3_030_000_000}).json()
    until(lambda: health(ingest, "mic-0")["last_seen_us"] == later["received_at_us"], 120)
    assert health(ingest, "mic-3") == {**health(ingest, "mic-3"), "drift": drifts["mic-3"]}
    assert health(ingest, "mic-3")["last_seen_us"] == posted["received_at_us"]
    silent = ingest.call("GET", "/v1/sensors", params={"silent_for_s": 0.001}).json()["items"]
    assert {each["id"] for each in silent} == set(SENSORS)
