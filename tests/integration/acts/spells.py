"""Spells from REST to REST: readings are hot for a while, each spell is one episode and rings once at each end."""

from typing import Any

from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import Row, frame
from tests.integration.acts.stage import Stage, received_now
from tests.integration.fusion_process import START_S

EVERY_S = 10
COALESCE = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 40}}
HOT = {
    "coalesce": COALESCE,
    "lasting_s": 60,
    "alert": {"severity": "critical", "title": "Too hot in {area}", "resolve_after_s": 1},
}
RUNG = ["firing", "resolved"]


class Spells:
    """A spell that ends, one that goes on while processes are killed, and one of another limit."""

    in_vain = 30

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.opened: dict[str, Any] = {}
        told = {minutes(2, 9): 45, minutes(10, 10.5): 60, minutes(12, 13.5): "broken", minutes(15, 99): 42}
        self.first = readings(0, 22, told)

    def begin(self) -> None:
        self.stage.put_query("hot", HOT)
        self._send(self.first)

    def see_begun(self) -> None:
        begun = [(2.0, "final"), (15.0, "open")]  # how far the open one has come is told now and then
        self.stage.wait(lambda: [each[::2] for each in self.spells()] == begun, self.spells)
        self.stage.wait(lambda: self.rung() == {2.0: RUNG, 15.0: ["firing"]}, self.rung)
        [self.opened] = [each for each in self.stage.alerting.items("/v1/episodes", query="hot") if each["open"]]

    def go_on_without_fusion(self) -> None:
        self._send(self.first[-30:])  # once more
        self._send(readings(22, 26, {minutes(22, 23): 42}))

    def go_on(self) -> None:
        self._wait_for([(2.0, 9.0, "final"), (15.0, 23.0, "final")], {2.0: RUNG, 15.0: RUNG})
        episodes = self.stage.alerting.items("/v1/episodes", query="hot")
        [ended] = [each for each in episodes if each["start_us"] == self.opened["start_us"]]
        assert ended["id"] == self.opened["id"]
        assert (ended["count"], ended["best_probability"]) == (48, 1.0)
        assert self.rings()[-1]["members"] == 48
        headers, warmer = {"If-Match": "*"}, {"coalesce": {"where": {"above": 50}}}
        changed = self.stage.alerting.call("PATCH", "/v1/queries/hot", json=warmer, headers=headers)
        assert changed.status_code == 200, changed.text
        self.stage.wait(lambda: self.stage.applied_version("hot") == 2)
        self._send(readings(26, 40, {minutes(27, 30): 45, minutes(31, 34): 55}))

    def judge(self) -> None:
        ended = [(begin, end, "final") for begin, end in ((2.0, 9.0), (15.0, 23.0), (31.0, 34.0))]
        self._wait_for(ended, dict.fromkeys((2.0, 15.0, 31.0), RUNG))
        assert len(set(self.stage.sink.tried)) == len(self.stage.sink.tried)
        assert {each["title"] for each in self.rings()} == {"Too hot in house (sensor hall, stream temperature)"}
        assert len(self.stage.alerting.items("/v1/dead-letters", reason="no_number")) == 9
        assert self.stage.fusion.metric("coincide_fusion_no_number_total") == 9

    def _wait_for(self, spells: list[tuple[float, float, str]], rung: dict[float, list[str]]) -> None:
        self.stage.wait(lambda: (self.spells(), self.rung()) == (spells, rung), lambda: (self.spells(), self.rung()))

    def _send(self, records: list[InputRecord]) -> None:
        self.stage.fusion.send("detections", received_now(records))

    def spells(self) -> list[tuple[float, float, str]]:
        """Return each episode there is: from which minute to which, and whether it goes on."""
        return sorted(
            (
                (each["start_us"] / 1e6 - START_S) / 60,
                (each["end_us"] / 1e6 - START_S) / 60,
                "open" if each["open"] else "final" if each["final"] else "closed",
            )
            for each in self.stage.alerting.items("/v1/episodes", query="hot")
            if not each.get("retracted")
        )

    def rings(self) -> list[dict[str, Any]]:
        return [event["data"] for event in self.stage.sink.events if event["data"]["kind"] == "episode"]

    def rung(self) -> dict[float, list[str]]:
        """Return what was told of each spell, by the minute in which it began."""
        told: dict[float, list[str]] = {}
        for event in self.stage.sink.events:
            if event["data"]["kind"] == "episode":
                minute = (event["data"]["start_us"] / 1e6 - START_S) / 60
                told.setdefault(minute, []).append(event["type"].rpartition(".")[2])
        return told


def readings(begin: int, end: int, celsius: dict[range, Any], area: str = "house") -> list[InputRecord]:
    """A reading every 10 s of a minute's number, 20 degrees where nothing else is said; one in four is 20 s late."""
    rows = []
    for at_s in range(begin * 60, end * 60, EVERY_S):
        value = next((value for when, value in celsius.items() if at_s in when), 20)
        attributes = (("celsius", value),)
        late_s = 20 if at_s % 40 == 0 else 0
        row = Row(f"{area}-{at_s}", START_S + at_s, stream="temperature", sensor="hall", attributes=attributes)
        rows.append((at_s + late_s, row))
    rows.sort(key=lambda each: each[0])
    return [frame(0, [row], area, received_at_s=START_S + at_s + 1) for at_s, row in rows]


def minutes(begin: float, end: float) -> range:
    return range(round(begin * 60), round(end * 60))
