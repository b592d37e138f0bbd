"""Ingest on a real broker: frames, dead letters, and the sensor registry as it changes."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import httpx
import pytest

from coincide import Histogram
from deploy.local.broker import Broker
from services.ingest.registry.seed import present_sensors, seed
from services.ingest.registry.sensors import Sensor
from tests.integration.service_process import IngestProcess, running_ingest, until
from tests.integration.topics import records_of

pytestmark = pytest.mark.jvm

CLOCK = Histogram.uniform(-2, 1)
SENSORS = MappingProxyType(
    {
        name: Sensor(name, area, {"seismic": CLOCK})
        for name, area in (("ingest-a", "ingest-bay"), ("ingest-b", "ingest-hill"))
    }
)


@pytest.fixture(scope="module")
def ingest(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngestProcess]:
    seed(kafka.bootstrap, SENSORS, prune=False, dry_run=False)
    with running_ingest(kafka.bootstrap, tmp_path_factory.mktemp("ingest")) as process:
        process.wait_for("/readyz", 200)
        yield process


def test_a_post_is_found_in_kafka_as_it_was_answered(ingest: IngestProcess, kafka: Broker) -> None:
    items = [{"sensor": f"ingest-{'ab'[n % 2]}", "detected_at": 1_700_000_000_000_000 + n} for n in range(1200)]
    response = ingest.post(items)
    assert response.status_code == 202
    answer = response.json()
    assert answer["accepted"] == 1200
    ids = [each["id"] for each in answer["detections"]]
    records = [each for each in records_of(kafka.bootstrap, "coincide.detections") if b"ingest-" in (each.key or b"")]
    by_area = {area: [each for each in records if each.key == area] for area in (b"ingest-bay", b"ingest-hill")}
    for area, parity in ((b"ingest-bay", 0), (b"ingest-hill", 1)):
        assert [len(record.value["detections"]) for record in by_area[area]] == [500, 100]
        assert [each["id"] for record in by_area[area] for each in record.value["detections"]] == ids[parity::2]
        assert len({record.partition for record in by_area[area]}) == 1
    for record in records:
        assert record.value["received_at_us"] == answer["received_at_us"]
        assert record.timestamp == answer["received_at_us"] // 1000  # never 1987: retention would delete it
        assert record.value["templates"] == {CLOCK.id: CLOCK.to_json()}


def test_refused_items_are_found_among_the_dead_letters(ingest: IngestProcess, kafka: Broker) -> None:
    assert ingest.post([{"sensor": "ingest-a", "detected_at": 1_700_000_000, "id": "bad"}]).status_code == 422

    def letters() -> list[dict[str, object]]:
        records = records_of(kafka.bootstrap, "coincide.dead-letters")
        return [record.value for record in records if record.value["id"] == "bad"]

    until(lambda: len(letters()) == 1)
    (letter,) = letters()
    assert letter["reason"] == "looks_like_seconds"
    assert letter["area"] == "ingest-bay"
    assert letter["record"] == {"sensor": "ingest-a", "detected_at": 1_700_000_000, "id": "bad"}


def test_the_registry_follows_the_topic(ingest: IngestProcess, kafka: Broker) -> None:
    newcomer = Sensor("ingest-new", "ingest-bay", {"seismic": CLOCK})
    item = {"sensor": "ingest-new", "detected_at": 1_700_000_000_000_000}
    assert ingest.post(item).json()["detections"][0]["reason"] == "unknown_sensor"
    done = seed(kafka.bootstrap, {**SENSORS, "ingest-new": newcomer}, prune=False, dry_run=False)
    assert "added ingest-new" in done
    until(lambda: ingest.post(item).status_code == 202)
    assert httpx.get(f"{ingest.url}/v1/sensors/ingest-new").json()["area"] == "ingest-bay"
    assert seed(kafka.bootstrap, SENSORS, prune=False, dry_run=False)[-1] == "2 of 2 declared sensors were as declared"


def test_pruning_removes_what_is_not_declared(tmp_path: Path, kafka: Broker) -> None:
    """On the shared broker: what other tests have registered is declared along, and so stays."""
    others = present_sensors(kafka.bootstrap)
    leaving = Sensor("ingest-leaving", "ingest-bay", {"seismic": CLOCK})
    seed(kafka.bootstrap, {**others, leaving.id: leaving}, prune=False, dry_run=False)
    would = seed(kafka.bootstrap, others, prune=True, dry_run=True)
    assert "would be removed ingest-leaving" in would
    assert leaving.id in present_sensors(kafka.bootstrap)
    assert "removed ingest-leaving" in seed(kafka.bootstrap, others, prune=True, dry_run=False)
    assert present_sensors(kafka.bootstrap) == others
    with running_ingest(kafka.bootstrap, tmp_path) as fresh:
        fresh.wait_for("/readyz", 200)
        assert fresh.status_of("/v1/sensors/ingest-leaving") == 404
