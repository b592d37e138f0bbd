"""Pairs of two streams, written to Kafka as ingest does; some are written again, and one record is no frame."""

from collections.abc import Iterable

from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import record
from tests.integration.acts.stage import Stage, received_now
from tests.integration.fusion_process import QUERY, acoustic, seismic

COUNT = 30


class Pairs:
    """Thirty detections of one stream, each with one of the other half a second later."""

    in_vain = 4

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def begin(self) -> None:
        query = {name: value for name, value in QUERY.items() if name != "id"}
        self.stage.put_query("intruder", {**query, "areas": ["area-*"]})
        self._send([*seismic(range(COUNT)), *acoustic(range(20))])
        self.stage.fusion.send("detections", [record(0, b"{not json", "area-0")])

    def see_begun(self) -> None:
        self.stage.wait(lambda: len(self.matched()) == 20)

    def go_on_without_fusion(self) -> None:
        self._send(acoustic(range(20, 24)))

    def go_on(self) -> None:
        self._send(acoustic(range(20, COUNT)))  # four of them once more

    def judge(self) -> None:
        self.stage.wait(lambda: len(self.matched()) >= COUNT)
        assert sorted(self.matched()) == sorted(f"seismic-{number}" for number in range(COUNT))
        self.stage.wait(lambda: self.served() == sorted(self.matched()), self.served)
        malformed = {each["dead_id"] for each in self.stage.fusion.read_all("dead-letters") if is_malformed(each)}
        assert len(malformed) == 1
        assert self.stage.fusion.metric('coincide_fusion_matches_total{query="intruder"}') == COUNT
        assert self.stage.fusion.metric("coincide_fusion_malformed_total") == 1

    def matched(self) -> list[str]:
        """Return what matched, by the seismic member's id, each match once."""
        members = {each["id"]: each["members"][0]["id"] for each in self.stage.written("matches", "intruder")}
        return list(members.values())

    def served(self) -> list[str]:
        items = self.stage.alerting.items("/v1/matches", query="intruder", limit=1000)
        return sorted(each["members"][0]["id"] for each in items)

    def _send(self, records: Iterable[InputRecord]) -> None:
        self.stage.fusion.send("detections", received_now(records))


def is_malformed(letter: dict[str, object]) -> bool:
    return letter["reason"] == "malformed_frame"
