"""A stream and a template through their lives by REST: changed under load, through kills, and removed again."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from coincide import Histogram
from deploy.local.machine import wait_until
from tests.integration.fusion_process import FusionProcess, fusion_job
from tests.integration.service_process import (
    AlertingProcess,
    IngestProcess,
    running_alerting,
    running_ingest,
    until,
)
from tests.integration.topics import running_broker

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(600)]

FILE = "streams: {seismic: {max_delay_s: 120, longest_template_s: 60}}"
INFRASOUND = {"max_delay_s": 30, "longest_template_s": 10}
BOOM = {
    "from": {"s": "seismic", "i": "infrasound"},
    "within": [{"between": ["s", "i"], "window_s": 2.0, "threshold": 0.6}],
}
SENSORS = {
    name: {"area": "hill", "streams": {stream: {"uniform": [-0.5, 0.5]}}}
    for name, stream in (("geophone", "seismic"), ("barometer", "infrasound"))
}
START_S = 1_700_000_000
SLOW_S = 2.5  # more than the window, so that only a template that knows of it lets such reports match
APART_S = 5  # between bangs; each gives one match if both its reports are on time
MERGE_PATCH = "application/merge-patch+json"


@dataclass
class Line:
    """The three processes, and what they must say by now."""

    fusion: FusionProcess
    ingest: IngestProcess
    alerting: AlertingProcess
    settings: dict[str, Any]
    now_s: float = START_S
    bangs: int = 0
    matched: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)

    def bang(self) -> None:
        """Post a bang that both sensors report in time."""
        self.now_s += APART_S
        number = self._posted(self.now_s, ["geophone", "barometer"])
        self.matched.add(number)

    def held_back(self, seconds: float, *, is_late: bool) -> None:
        """Post a bang between the last one and the next only so much later; first the geophone's report of it."""
        at_s = self.now_s + APART_S / 2
        self._moved_on(seconds)
        number = self._posted(at_s, ["geophone"])
        self._moved_on(APART_S)
        self._posted(at_s, ["barometer"], number)
        (self.late if is_late else self.matched).add(number)

    def heard(self, sensor: str, number: str | None = None, *, is_matched: bool = False) -> str:
        """Post a bang that the geophone reports now, or the barometer's report of it, which comes `SLOW_S` later."""
        self.now_s += SLOW_S if sensor == "barometer" else APART_S
        number = self._posted(self.now_s, [sensor], number)
        if is_matched:
            self.matched.add(number)
        return number

    def _moved_on(self, seconds: float) -> None:
        """Let the area's watermark be so much later; a heartbeat of the geophone says so."""
        self.now_s += seconds
        self._posted(self.now_s, ["geophone"])

    def _posted(self, at_s: float, sensors: list[str], number: str | None = None) -> str:
        if number is None:
            self.bangs += 1
            number = str(self.bangs)
        at_us = round(at_s * 1e6)
        items = [{"sensor": sensor, "detected_at": at_us, "id": f"{sensor}-{number}"} for sensor in sensors]
        answer = self.ingest.post(items)
        assert (answer.status_code, answer.json()["accepted"]) == (202, len(items)), answer.text
        return number

    def change(self, path: str = "/v1/streams/infrasound", **fields: Any) -> None:
        headers = {"Content-Type": MERGE_PATCH, "If-Match": "*"}
        answer = self.ingest.call("PATCH", path, content=json.dumps(fields), headers=headers)
        assert answer.status_code == 200, answer.text

    def check(self) -> None:
        """Wait until it says what it must, and see that it says no more."""
        self.wait(lambda: self.seen() >= self.matched and self.refused() >= self.late)
        assert (self.seen(), self.refused()) == (self.matched, self.late)
        ids = [match["id"] for match in self.fusion.read_all("matches")]
        assert len(set(ids)) == len(self.matched)

    def seen(self) -> set[str]:
        return {_number(match["members"][0]["id"]) for match in self.alerting.items("/v1/matches", query="boom")}

    def refused(self) -> set[str]:
        letters = self.alerting.items("/v1/dead-letters", reason="late")
        return {_number(letter["record"]["id"]) for letter in letters}

    def wait(self, condition: Callable[[], bool]) -> None:
        assert wait_until(condition, 90, every_s=0.5), (self.matched ^ self.seen(), self.late ^ self.refused())

    def applied(self) -> bool:
        return bool(self.alerting.get("/v1/queries/boom")["applied_version"] == 1)


def _number(id_: str) -> str:
    return id_.rpartition("-")[2]


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    """Run everything on a file that declares one stream."""
    path = tmp_path / "streams.yaml"
    path.write_text(FILE)
    common: dict[str, Any] = {"streams_path": str(path)}
    kept_s = 9 * 365 * 86_400  # the bangs are of 2023
    with (
        running_broker(tmp_path / "kafka") as broker,
        fusion_job(broker.bootstrap, "coincide.", tmp_path, **common) as fusion,
        running_ingest(broker.bootstrap, tmp_path, **common) as ingest,
        running_alerting(
            broker.bootstrap, tmp_path, **common, queries_path=None, matches_kept_s=kept_s, dead_letters_kept_s=kept_s
        ) as alerting,
    ):
        fusion.start_and_wait()
        ingest.wait_for("/readyz", 200)
        alerting.wait_for("/readyz", 200)
        yield Line(fusion, ingest, alerting, common)


@contextmanager
def load(line: Line) -> Iterator[None]:
    """Post bangs all the time while something else happens."""
    ended = threading.Event()

    def post() -> None:
        while not ended.is_set():
            line.bang()
            time.sleep(0.02)

    thread = threading.Thread(target=post)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_stream_lives_and_ends_without_a_restart(line: Line) -> None:
    declared_by_rest(line)
    line.bang()
    line.held_back(20, is_late=False)
    line.held_back(50, is_late=True)
    line.check()

    with load(line):
        line.change(max_delay_s=90)
        bangs = line.bangs
        until(lambda: line.bangs > bangs + 30)
    line.held_back(50, is_late=False)
    line.held_back(200, is_late=True)
    line.fusion.kill()
    line.held_back(60, is_late=False)  # it lies in Kafka until fusion is back
    line.fusion.start_and_wait()
    line.check()

    with load(line):
        line.change(max_delay_s=10)
        bangs = line.bangs
        until(lambda: line.bangs > bangs + 30)
    line.held_back(5, is_late=False)
    line.held_back(20, is_late=True)
    line.check()
    removed_by_rest(line)


def declared_by_rest(line: Line, *, barometer: Any = None) -> None:
    refused = line.alerting.call("PUT", "/v1/queries/boom", json=BOOM)
    assert (refused.status_code, "infrasound" in refused.text) == (422, True)
    assert line.ingest.call("PUT", "/v1/streams/infrasound", json=INFRASOUND).status_code == 201
    templates = {"barometer": {"streams": {"infrasound": barometer}}} if barometer else {}
    for name, sensor in SENSORS.items():
        put = line.ingest.call("PUT", f"/v1/sensors/{name}", json=sensor | templates.get(name, {}))
        assert put.status_code == 201, put.text
    until(lambda: line.alerting.call("PUT", "/v1/queries/boom", json=BOOM).status_code in {200, 201})
    line.wait(line.applied)


def removed_by_rest(line: Line) -> None:
    def removal() -> Any:
        return line.ingest.call("DELETE", "/v1/streams/infrasound", headers={"If-Match": "*"})

    assert removal().status_code == 409
    assert line.ingest.call("DELETE", "/v1/sensors/barometer", headers={"If-Match": "*"}).status_code == 204
    refused = removal()
    assert (refused.status_code, "query 'boom' reads" in refused.json()["detail"]) == (409, True)
    assert line.alerting.call("DELETE", "/v1/queries/boom", headers={"If-Match": "*"}).status_code == 204
    until(lambda: removal().status_code == 204)
    put = line.alerting.call("PUT", "/v1/queries/boom", json=BOOM, headers={"If-None-Match": "*"})
    assert put.status_code == 422
    assert line.fusion.is_ready()


def test_a_template_changes_for_what_is_posted_after_the_answer(line: Line) -> None:
    put = line.ingest.call("PUT", "/v1/templates/clock", json={"edges_s": [-0.5, 0.5], "mass": [1.0]})
    assert put.status_code == 201, put.text
    declared_by_rest(line, barometer="clock")
    line.bang()
    line.heard("barometer", line.heard("geophone"))  # before: too far apart
    line.check()

    across = line.heard("geophone")
    line.heard("barometer")  # it has the old template, and keeps it
    line.now_s -= SLOW_S
    line.fusion.kill()
    line.change("/v1/templates/clock", edges_s=[-0.5 - SLOW_S, 0.5 - SLOW_S])
    line.heard("barometer", across, is_matched=True)
    line.ingest.kill()
    with running_ingest(line.fusion.bootstrap, line.fusion.folder, **line.settings) as line.ingest:
        line.ingest.wait_for("/readyz", 200)
        line.fusion.start_and_wait()
        line.heard("barometer", line.heard("geophone"), is_matched=True)
        line.check()
        assert templates_of_barometer(line) == {Histogram.uniform(at_s - 0.5, at_s + 0.5).id for at_s in (0, -SLOW_S)}
        too_long_by_rest(line)
    told = [each["change"] for each in line.fusion.read_all("activations") if "stream" in each["change"]]
    assert [(each["stream"], each["version"], each["longest_template_s"]) for each in told] == [
        ("infrasound", version, longest_s) for version, longest_s in ((1, 10), (2, 0.5), (3, 10))
    ]


def templates_of_barometer(line: Line) -> set[str]:
    members = [each for match in line.alerting.items("/v1/matches", query="boom") for each in match["members"]]
    return {each["template"] for each in members if each["sensor"] == "barometer"}


def too_long_by_rest(line: Line) -> None:
    line.change(longest_template_s=0.5)
    line.now_s += APART_S
    refused = line.ingest.post([{"sensor": "barometer", "detected_at": round(line.now_s * 1e6)}])
    [verdict] = refused.json()["detections"]
    assert (refused.status_code, verdict["reason"]) == (422, "template_too_long")
    line.change(longest_template_s=10)
    line.heard("barometer", line.heard("geophone"), is_matched=True)
    line.check()
