"""Bangs that two sensors of an area report over HTTP: what matches and what is late, by the rules of the watermark."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.integration.acts.stage import Stage
from tests.integration.fusion_process import START_S
from tests.patience import until

SLOW_S = 2.5  # more than the window, so that only a template that knows of it lets such reports match
APART_S = 5  # between bangs; each gives one match if both its reports are on time
MERGE_PATCH = "application/merge-patch+json"
CLOCK = {"uniform": [-0.5, 0.5]}


@dataclass
class Bangs:
    """A stream that is declared over REST, its query, and what must have become of each bang by now."""

    stage: Stage
    stream: str
    area: str
    now_s: float = START_S
    posted: int = 0
    matched: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)

    @property
    def path(self) -> str:
        return f"/v1/streams/{self.stream}"

    @property
    def query(self) -> str:
        return f"boom-{self.area}"

    @property
    def document(self) -> dict[str, Any]:
        return {
            "from": {"s": "seismic", "i": self.stream},
            "within": [{"between": ["s", "i"], "window_s": 2.0, "threshold": 0.6}],
            "areas": [self.area],
        }

    def declare(self, barometer: Any = CLOCK) -> None:
        """Declare the stream, its sensors and its query; before, there can be no such query."""
        refused = self.stage.alerting.call("PUT", f"/v1/queries/{self.query}", json=self.document)
        assert (refused.status_code, self.stream in refused.text) == (422, True)
        fields = {"max_delay_s": 30, "longest_template_s": 10}
        assert self.stage.ingest.call("PUT", self.path, json=fields).status_code == 201
        self.stage.put_sensor(self._sensor("geophone"), self.area, {"seismic": CLOCK})
        self.stage.put_sensor(self._sensor("barometer"), self.area, {self.stream: barometer})
        until(lambda: self._put_query() in {200, 201})
        self.stage.wait(lambda: self.stage.applied_version(self.query) == 1)

    def _put_query(self) -> int:
        return self.stage.alerting.call("PUT", f"/v1/queries/{self.query}", json=self.document).status_code

    def remove(self) -> None:
        """Remove sensor, query and stream in turn: nothing goes that is still used."""
        assert self._remove(self.stage.ingest, self.path)[0] == 409
        assert self._remove(self.stage.ingest, f"/v1/sensors/{self._sensor('barometer')}")[0] == 204
        status, said = self._remove(self.stage.ingest, self.path)
        assert (status, f"query '{self.query}' reads" in said) == (409, True)
        assert self._remove(self.stage.alerting, f"/v1/queries/{self.query}")[0] == 204
        until(lambda: self._remove(self.stage.ingest, self.path)[0] == 204)
        headers = {"If-None-Match": "*"}
        put = self.stage.alerting.call("PUT", f"/v1/queries/{self.query}", json=self.document, headers=headers)
        assert put.status_code == 422

    def _remove(self, service: Any, path: str) -> tuple[int, str]:
        answer = service.call("DELETE", path, headers={"If-Match": "*"})
        return answer.status_code, answer.text

    def change(self, path: str, **fields: Any) -> None:
        headers = {"Content-Type": MERGE_PATCH, "If-Match": "*"}
        answer = self.stage.ingest.call("PATCH", path, content=json.dumps(fields), headers=headers)
        assert answer.status_code == 200, answer.text

    def bang(self) -> None:
        """Post a bang that both sensors report in time."""
        self.now_s += APART_S
        self.matched.add(self._post(self.now_s, ["geophone", "barometer"]))

    def held_back(self, seconds: float, *, is_late: bool) -> None:
        """Post a bang between the last one and the next only so much later; first the geophone's report of it."""
        at_s = self.now_s + APART_S / 2
        self._move_on(seconds)
        number = self._post(at_s, ["geophone"])
        self._move_on(APART_S)
        self._post(at_s, ["barometer"], number)
        (self.late if is_late else self.matched).add(number)

    def heard(self, sensor: str, number: str | None = None, *, is_matched: bool = False) -> str:
        """Post a bang that the geophone reports now, or the barometer's report of it, which comes `SLOW_S` later."""
        self.now_s += SLOW_S if sensor == "barometer" else APART_S
        number = self._post(self.now_s, [sensor], number)
        if is_matched:
            self.matched.add(number)
        return number

    def _move_on(self, seconds: float) -> None:
        """Let the area's watermark be so much later; another report of the geophone says so."""
        self.now_s += seconds
        self._post(self.now_s, ["geophone"])

    def _post(self, at_s: float, sensors: list[str], number: str | None = None) -> str:
        if number is None:
            self.posted += 1
            number = str(self.posted)
        at_us = round(at_s * 1e6)
        items = [{"sensor": self._sensor(each), "detected_at": at_us, "id": f"{each}-{number}"} for each in sensors]
        answer = self.stage.ingest.post(items)
        assert (answer.status_code, answer.json()["accepted"]) == (202, len(items)), answer.text
        return number

    @contextmanager
    def load(self) -> Iterator[None]:
        """Post bangs all the time while the block runs."""
        ended = threading.Event()

        def post() -> None:
            while not ended.is_set():
                self.bang()
                time.sleep(0.02)

        thread = threading.Thread(target=post)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def check(self) -> None:
        """Wait until it says what it must, and see that it says no more."""
        self.stage.wait(
            lambda: self.seen() >= self.matched and self.refused() >= self.late,
            lambda: (self.matched ^ self.seen(), self.late ^ self.refused()),
        )
        assert (self.seen(), self.refused()) == (self.matched, self.late)
        assert len({each["id"] for each in self.stage.written("matches", self.query)}) == len(self.matched)

    def seen(self) -> set[str]:
        return {_number(each["members"][0]["id"]) for each in self.matches()}

    def matches(self) -> list[dict[str, Any]]:
        return self.stage.alerting.items("/v1/matches", query=self.query, limit=1000)

    def refused(self) -> set[str]:
        letters = self.stage.alerting.items("/v1/dead-letters", reason="late", area=self.area)
        return {_number(each["record"]["id"]) for each in letters}

    def _sensor(self, name: str) -> str:
        return f"{self.area}-{name}"


def _number(id_: str) -> str:
    return id_.rpartition("-")[2]
