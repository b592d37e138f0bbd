"""A rebuild asked for over REST: meanwhile what is there is served, and what comes is taken."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from coincide import Histogram
from services.ingest.registry.seed import seed
from services.ingest.registry.sensors import Sensor
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.integration.service_process import (
    AlertingProcess,
    Event,
    IngestProcess,
    LiveReader,
    running_alerting,
    running_ingest,
)
from tests.integration.topics import read_all, running_broker

pytestmark = [pytest.mark.jvm, pytest.mark.night]

STREAMS = "streams: {seismic: {max_delay_s: 120, longest_template_s: 60}, acoustic: {max_delay_s: 120}}"
BANG = {
    "from": {"s": "seismic", "a": "acoustic"},
    "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}],
}
SENSORS = {
    name: Sensor(name, "hill", {stream: Histogram.uniform(-0.5, 0.5)})
    for name, stream in (("geophone", "seismic"), ("microphone", "acoustic"))
}
START_S = 1_700_000_000
APART_S = 5
BANGS_A_POST = 500
#: So Spark writes snapshots of the state that was, too, after a rebuild has begun.
MAINTAINS_ALL_THE_TIME = {"spark.sql.streaming.stateStore.maintenanceInterval": "500ms"}
HISTORY = 8_000  # bangs that are matched before


@dataclass
class Line:
    """The three processes; every bang that was acknowledged gives one match."""

    fusion: FusionProcess
    ingest: IngestProcess
    alerting: AlertingProcess
    bangs: int = 0
    before: set[str] = field(default_factory=set)

    def post(self, bangs: int) -> None:
        times_us = [(START_S + APART_S * number) * 1_000_000 for number in range(self.bangs, self.bangs + bangs)]
        items = [
            {"sensor": sensor, "detected_at": at_us, "id": f"{sensor}-{at_us}"}
            for at_us in times_us
            for sensor in SENSORS
        ]
        answer = self.ingest.post(items)
        assert (answer.status_code, answer.json()["accepted"]) == (202, len(items)), answer.text
        self.bangs += bangs

    def matched(self) -> list[str]:
        """Return the ids of all matches, as one list without pages has them."""
        answer = self.alerting.call("GET", "/v1/matches", params={"format": "ndjson"})
        return [line.split('"id":"', 1)[1].split('"', 1)[0] for line in answer.raise_for_status().text.splitlines()]

    def ask(self, why: str = "the test wants it") -> httpx2.Response:
        return self.alerting.call("POST", "/v1/rebuilds", json={"why": why})

    def rebuilds(self) -> list[dict[str, Any]]:
        return list(self.alerting.get("/v1/rebuilds")["items"])


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    path = tmp_path / "streams.yaml"
    path.write_text(STREAMS)
    common: dict[str, Any] = {"streams_path": str(path)}
    kept_s = 9 * 365 * 86_400  # the bangs are of 2023
    with (
        running_broker(tmp_path / "kafka") as broker,
        fusion_job(broker.bootstrap, "coincide.", tmp_path, **common, spark_conf=MAINTAINS_ALL_THE_TIME) as fusion,
        running_ingest(broker.bootstrap, tmp_path, **common) as ingest,
        running_alerting(broker.bootstrap, tmp_path, **common, queries_path=None, matches_kept_s=kept_s) as alerting,
    ):
        seed(broker.connection, SENSORS, prune=False, dry_run=False)
        fusion.start_and_wait()
        for process in (ingest, alerting):
            process.wait_for("/readyz", 200)
        line = Line(fusion, ingest, alerting)
        assert alerting.call("PUT", "/v1/queries/bang", json=BANG).status_code == 201
        fusion.until(lambda: alerting.get("/v1/queries/bang")["applied_version"] == 1)
        yield line


def test_old_answers_are_served_and_new_detections_taken_while_all_is_found_again(line: Line) -> None:
    while line.bangs < HISTORY:
        line.post(BANGS_A_POST)  # and wait, for the query may give only so many matches a second
        line.fusion.until(lambda: len(line.matched()) == line.bangs)
    line.before = set(line.matched())
    written = len(line.fusion.read_all("matches"))

    reader, bangs = LiveReader("query=bang"), line.bangs
    expected = bangs + 1
    fusion = line.fusion.process.pid
    asked = line.ask()
    assert asked.status_code == 202, asked.text
    [path] = asked.headers.get_list("Location")
    refused = line.ask()
    assert (refused.status_code, asked.json()["id"] in refused.json()["detail"]) == (409, True)

    def has_all_new(events: list[Event]) -> bool:
        return len({event.data["id"] for event in events} - line.before) >= expected - bangs

    live = threading.Thread(target=reader.read, args=(line.alerting.url, has_all_new), daemon=True)
    live.start()
    shown = [line.alerting.get(path)]
    while shown[-1]["state"] != "done":
        assert line.before <= set(line.matched()), "an old answer is not served"
        if shown[-1]["state"] == "running" and line.bangs == bangs:
            line.post(1)
        line.fusion.until(lambda: line.alerting.get(path) != shown[-1])
        shown.append(line.alerting.get(path))
    if line.bangs == bangs:  # it was so quick
        line.post(1)

    percents = [each["percent"] for each in shown]
    assert percents == sorted(percents)
    assert percents[-1] == 100
    assert shown[0]["state"] == "asked"
    assert "running" in [each["state"] for each in shown]
    assert shown[-1]["read"] == shown[-1]["records"] > 0
    assert len(line.fusion.read_all("matches")) >= written + HISTORY, "it is done before all is found again"
    line.fusion.until(lambda: len(line.matched()) == expected)
    live.join(60)
    assert not live.is_alive(), "the live stream has no match of what came meanwhile"
    assert line.before < set(line.matched())
    assert line.fusion.process.pid == fusion
    assert line.fusion.process.is_running()
    [change] = [each for each in read_all(line.fusion.bootstrap, "coincide.audit") if each["action"] == "rebuild.asked"]
    assert (change["why"], change["subject"]) == ("the test wants it", asked.json()["id"])

    line.fusion.kill()  # whoever asks, and however: it is a rebuild as any other
    line.fusion.start("--rebuild")
    line.fusion.until(lambda: [each["state"] for each in line.rebuilds()] == ["done", "done"])
    assert (line.rebuilds()[0]["why"], line.rebuilds()[0]["percent"]) == (None, 100)
    assert set(line.matched()) > line.before
