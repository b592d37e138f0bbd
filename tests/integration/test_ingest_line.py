"""Ingest on a real broker: frames, dead letters, and the sensor registry as it changes."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import httpx2
import pytest

from coincide import Histogram
from deploy.local.broker import Broker
from services.ingest.registry.seed import main, present_sensors, seed
from services.ingest.registry.sensors import Sensor
from tests.integration.service_process import IngestProcess, running_ingest
from tests.integration.topics import detections_of, read_all, records_of
from tests.patience import until
from tests.reference.frames import rows_of

pytestmark = pytest.mark.jvm

CLOCK = Histogram.uniform(-2, 1)
AREAS = {"ingest-a": "ingest-bay", "ingest-b": "ingest-hill"}
TYPED = b"POST /v1/detections HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEAD = TYPED + b"Content-Length: %d\r\n\r\n"
SENSORS = MappingProxyType({name: Sensor(name, area, {"seismic": CLOCK}) for name, area in AREAS.items()})


@pytest.fixture(scope="module")
def ingest(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngestProcess]:
    seed(kafka.connection, SENSORS, prune=False, dry_run=False)
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
    for area, parity in ((b"ingest-bay", 0), (b"ingest-hill", 1)):
        of_area = [each for each in records if each.key == area]
        assert [len(list(rows_of(record.value))) for record in of_area] == [500, 100]
        assert [each["id"] for record in of_area for each in rows_of(record.value)] == ids[parity::2]
        assert len({record.partition for record in of_area}) == 1
    for record in records:
        assert record.value["received_at_us"] == answer["received_at_us"]
        assert record.timestamp == answer["received_at_us"] // 1000  # never 1987: retention would delete it
        assert record.value["templates"] == {CLOCK.id: CLOCK.to_json()}


def test_refused_items_are_found_among_the_dead_letters(ingest: IngestProcess, kafka: Broker) -> None:
    assert ingest.post([{"sensor": "ingest-a", "detected_at": 1_700_000_000, "id": "bad"}]).status_code == 422

    def letters() -> list[dict[str, object]]:
        return [each for each in read_all(kafka.bootstrap, "coincide.dead-letters") if each["id"] == "bad"]

    until(lambda: len(letters()) == 1)
    [letter] = letters()
    assert (letter["reason"], letter["area"]) == ("looks_like_seconds", "ingest-bay")
    assert letter["record"] == {"sensor": "ingest-a", "detected_at": 1_700_000_000, "id": "bad"}


def test_the_registry_follows_the_topic(ingest: IngestProcess, kafka: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the shared broker: what other tests have registered is declared along, and so is not pruned."""
    others = present_sensors(kafka.connection)
    item = {"sensor": "ingest-new", "detected_at": 1_700_000_000_000_000}
    assert ingest.post(item).json()["detections"][0]["reason"] == "unknown_sensor"
    newcomer = Sensor("ingest-new", "ingest-bay", {"seismic": CLOCK})
    done = seed(kafka.connection, {**SENSORS, newcomer.id: newcomer}, prune=False, dry_run=False)
    assert "added ingest-new" in done
    until(lambda: ingest.post(item).status_code == 202)
    assert httpx2.get(f"{ingest.url}/v1/sensors/ingest-new").json()["area"] == "ingest-bay"
    assert seed(kafka.connection, SENSORS, prune=False, dry_run=False)[-1] == "2 of 2 declared sensors were as declared"

    assert "would be removed ingest-new" in seed(kafka.connection, others, prune=True, dry_run=True)
    assert newcomer.id in present_sensors(kafka.connection)
    assert "removed ingest-new" in seed(kafka.connection, others, prune=True, dry_run=False)
    assert present_sensors(kafka.connection) == others
    monkeypatch.setenv("COINCIDE_KAFKA_SERVERS", kafka.bootstrap)
    assert main(["--first"]) == 0  # which is not the first: what was removed stays so, and nothing else comes
    assert present_sensors(kafka.connection) == others
    told = [each for each in read_all(kafka.bootstrap, "coincide.audit") if each["subject"] == newcomer.id]
    assert [(each["component"], each["action"]) for each in told] == [
        ("command", "sensor.created"),
        ("command", "sensor.removed"),
    ]
    assert told[0]["after"] == told[1]["before"]
    assert told[0]["name"].startswith("command of ")
    until(lambda: ingest.status_of("/v1/sensors/ingest-new") == 404)


def test_a_change_of_a_template_that_a_kill_cuts_short_is_finished_at_the_next_start(
    kafka: Broker, tmp_path: Path
) -> None:
    others, new = present_sensors(kafka.connection), Histogram.uniform(-2, 0)
    names = [f"ingest-cut-{nth}" for nth in range(3_000)]
    many = [{"id": name, "area": "ingest-cut", "streams": {"seismic": "ingest-cut"}} for name in names]

    def has_new() -> list[bool]:
        present = present_sensors(kafka.connection)
        return [present[name].streams["seismic"] == new for name in names]

    with running_ingest(kafka.bootstrap, tmp_path) as ingest, ThreadPoolExecutor(1) as asking:
        ingest.wait_for("/readyz", 200)
        assert ingest.call("PUT", "/v1/templates/ingest-cut", json={"uniform": [-1, 0]}).status_code == 201
        for first in range(0, len(many), 1_000):
            made = ingest.call("POST", "/v1/sensors", json={"sensors": many[first : first + 1_000]}).json()["items"]
            assert {each["status"] for each in made} == {"created"}
        change = {"json": {"uniform": [-2, 0]}, "headers": {"If-Match": '"1"'}}
        answer = asking.submit(ingest.call, "PUT", "/v1/templates/ingest-cut", **change)
        until(lambda: 0 < ingest.call("GET", "/v1/templates/ingest-cut").json()["behind"] < len(names))
        ingest.kill()
        assert isinstance(answer.exception(), httpx2.TransportError)
    assert len({*has_new()}) == 2, "the kill came too early, or too late"
    with running_ingest(kafka.bootstrap, tmp_path) as ingest:
        ingest.wait_for("/readyz", 200)
        until(lambda: ingest.call("GET", "/v1/templates/ingest-cut").json()["behind"] == 0)
        shown = ingest.call("GET", "/v1/templates/ingest-cut").json()
        assert (shown["id"], shown["sensors"], all(has_new())) == (new.id, len(names), True)
    seed(kafka.connection, others, prune=True, dry_run=False)


def test_a_sensor_changed_over_rest_is_stamped_anew_from_the_answer_on_and_outlives_a_restart(
    kafka: Broker, tmp_path: Path
) -> None:
    def put(ingest: IngestProcess, form: dict[str, object], **headers: str) -> httpx2.Response:
        document = {"area": "ingest-reef", "streams": {"seismic": form}, "labels": {"site": "reef"}}
        return ingest.call("PUT", "/v1/sensors/ingest-rest", json=document, headers=headers)

    def post(ingest: IngestProcess, id_: str) -> None:
        item = {"sensor": "ingest-rest", "detected_at": 1_700_000_000_000_000, "id": id_}
        assert ingest.post(item).status_code == 202

    with running_ingest(kafka.bootstrap, tmp_path) as ingest:
        ingest.wait_for("/readyz", 200)
        assert put(ingest, {"uniform": [-1, 0]}).status_code == 201
        post(ingest, "before")
        assert put(ingest, {"uniform": [-2, 0]}, **{"if-match": '"1"'}).headers["etag"] == '"2"'
        post(ingest, "after")
        assert put(ingest, {"uniform": [-3, 0]}, **{"if-match": '"1"'}).status_code == 412
    with running_ingest(kafka.bootstrap, tmp_path) as ingest:
        ingest.wait_for("/readyz", 200)
        post(ingest, "restarted")
        shown = ingest.call("GET", "/v1/sensors/ingest-rest")
        assert (shown.json()["version"], shown.json()["labels"]) == (2, {"site": "reef"})
        gone = ingest.call("DELETE", "/v1/sensors/ingest-rest", headers={"if-match": shown.headers["etag"]})
        assert gone.status_code == 204
    records = [each for each in records_of(kafka.bootstrap, "coincide.detections") if each.key == b"ingest-reef"]
    used = {each["id"]: each["template"] for record in records for each in rows_of(record.value)}
    first, second = (Histogram.uniform(start_s, 0).id for start_s in (-1, -2))
    assert used == {"before": first, "after": second, "restarted": second}
    assert "ingest-rest" not in present_sensors(kafka.connection)


def test_an_endless_body_is_cut_off(kafka: Broker, tmp_path: Path) -> None:
    with running_ingest(kafka.bootstrap, tmp_path, body_timeout_s=0.5) as impatient:
        impatient.wait_for("/readyz", 200)
        with socket.create_connection(("127.0.0.1", impatient.port), 10) as connection:
            connection.sendall(HEAD % 100 + b"[")
            answer = connection.makefile("rb").read()  # until the server closes
        assert answer.startswith(b"HTTP/1.1 408")


def test_sigterm_finishes_the_post_in_work(ingest: IngestProcess, kafka: Broker) -> None:
    """It ends the ingest of this module, so it comes last."""
    body = b'{"sensor":"ingest-a","detected_at":1700000000000000,"id":"last"}'
    with socket.create_connection(("127.0.0.1", ingest.port), 10) as connection:
        connection.sendall(HEAD % len(body) + body[:10])
        until(lambda: "coincide_ingest_posts_arriving 1.0" in httpx2.get(f"{ingest.url}/metrics").text)
        ingest.terminate()
        until(lambda: ingest.status_of("/livez") == 0)  # it takes no new connections
        connection.sendall(body[10:])
        assert connection.recv(4096).startswith(b"HTTP/1.1 202")
    assert ingest.wait() == 0
    assert "last" in {each["id"] for each in detections_of(kafka.bootstrap)}
