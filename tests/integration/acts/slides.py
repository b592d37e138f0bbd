"""Queries over readings in windows that slide: the answers of one straight run, whatever was killed or sent twice."""

import json
from typing import Any

from coincide import Stream
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.integration.acts.stage import STREAMS, Stage, received_now
from tests.integration.fusion_process import START_S

SECONDS = 200  # with a reading of each of two regions in each
STREAM = Stream("pressure", max_delay_s=STREAMS["pressure"]["max_delay_s"])
WINDOW = {"time_s": 60, "slide_s": 1}
COALESCE = {"from": STREAM.name, "by": "attributes.region", "value": "attributes.celsius", "window": WINDOW}
QUERIES: dict[str, dict[str, Any]] = {
    "longest": {"coalesce": {**COALESCE, "where": {"above": 100}}, "longest": True},
    "steady": {"coalesce": COALESCE, "lasting_s": 20},
    "alike": {"coalesce": COALESCE, "join": {"within": 1, "lasting_s": 4}},
}


class Slides:
    """Two regions change now and then; the south is a little late."""

    in_vain = 10

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.records = received_now(second(number) for number in range(SECONDS))
        changes = [put(offset, {"id": id_, **query}) for offset, (id_, query) in enumerate(QUERIES.items())]
        straight = started(*changes, streams={STREAM.name: STREAM})
        self.expected = by_id([json.loads(answer.value) for answer in straight.push(self.records).episodes])

    def begin(self) -> None:
        for id_, query in QUERIES.items():
            self.stage.put_query(id_, query)
        for first in range(0, SECONDS // 2, 20):
            self.stage.fusion.send("detections", self.records[first : first + 20])

    def see_begun(self) -> None:
        self.stage.wait(lambda: len(self.answers()) > len(self.expected) // 8)

    def go_on_without_fusion(self) -> None:
        """Nothing is read meanwhile."""

    def go_on(self) -> None:
        self.stage.fusion.send("detections", self.records[SECONDS // 2 - 5 :])  # some of them once more

    def judge(self) -> None:
        assert {answer["query"] for answer in self.expected.values()} == QUERIES.keys()
        self.stage.wait(lambda: len(self.answers()) >= len(self.expected))
        assert self.answers() == self.expected
        of_steady = [each["queries"]["steady"] for each in self.last_statuses() if "steady" in each["queries"]]
        assert {each["coalescing"]["scheme"] for each in of_steady if each["coalescing"]} <= {"eager", "lazy"}
        told = sum(each["query"] == "steady" for each in self.expected.values())
        assert sum(each["episodes"] for each in of_steady) == told

    def answers(self) -> dict[str, dict[str, Any]]:
        return by_id([each for each in self.stage.fusion.read_all("episodes") if each["query"] in QUERIES])

    def last_statuses(self) -> list[dict[str, Any]]:
        return list({each["shard"]: each for each in self.stage.fusion.read_all("status")}.values())


def second(number: int) -> InputRecord:
    def reading(region: str, every: int, late_s: int) -> Row:
        attributes = (("celsius", 99 + number // every % 3), ("region", region))
        at_s = START_S + number - late_s
        return Row(f"{region}-{number}", at_s, stream=STREAM.name, sensor=region, attributes=attributes)

    rows = [reading("north", 25, 0), reading("south", 7, 2)]
    return frame(number, rows, f"slide-{number % 2}", received_at_s=START_S + number + 1)


def by_id(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was written, once; what is written twice is written alike."""
    written: dict[str, dict[str, Any]] = {}
    for record in records:
        assert written.setdefault(record["id"], record) == record
    return written
