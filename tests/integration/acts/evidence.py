"""Evidence of matches: what the line in one process tells of the same log, and what a twin says that sees all of it."""

from fractions import Fraction
from typing import Any

import numpy as np

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from services.common.settings import load_streams
from tests.coincide.fusion.inputs import Row, frame, put
from tests.integration.acts.slides import by_id
from tests.integration.acts.stage import Stage, received_now
from tests.integration.fusion_process import START_S
from tests.reference.weighed_matches import assert_as_defined
from tests.services.line.fused_logs import wait_until_taken
from tests.services.line.hosts import logged, one_process, told_in

AREA, SECONDS = "mill", 600
CLOCK = Histogram.uniform(-1, 0.5)
EVENT = {"per_day": 2_000, "heard_by": 0.8}
QUERY = {
    "from": dict.fromkeys("abc", "noise"),
    "form": "clique",
    "within": [{"window_s": 2, "threshold": 0.1}],
    "joint_threshold": 0.05,
    "at_least": 2,
    "event": EVENT,
    "areas": [AREA],
}


class Evidence:
    """Three sensors hear events and report other things; each match gets its evidence once nothing can join it."""

    in_vain = 0

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.frames = received_now(frame(nth, [row], AREA) for nth, row in enumerate(reports()))

    def begin(self) -> None:
        self.stage.put_query("one-event", QUERY)
        self._send(0, len(self.frames) // 2)

    def see_begun(self) -> None:
        self.stage.wait(lambda: len(self.told("matches")) > 20)  # their evidence waits

    def go_on_without_fusion(self) -> None:
        self._send(len(self.frames) // 2, len(self.frames) * 3 // 4)

    def go_on(self) -> None:
        self._send(len(self.frames) * 3 // 4, len(self.frames))

    def judge(self) -> None:
        expected = self._of_one_process()
        self.stage.wait(lambda: len(self.told("evidence")) >= len(expected["evidence"]))
        assert {topic: self.told(topic) for topic in expected} == expected
        evidence, matches = expected["evidence"], list(expected["matches"].values())
        assert evidence.keys() == expected["matches"].keys()
        assert len({each["posterior"] for each in evidence.values()}) > 10
        assert assert_as_defined(matches, evidence, [CLOCK], Fraction(2_000, 86_400), Fraction(4, 5)) > 5

    def told(self, topic: str) -> dict[str, dict[str, Any]]:
        return by_id(self.stage.written(topic, "one-event"))

    def _of_one_process(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return what the line in one process tells of the same records, which is killed now and then."""
        folder = self.stage.fusion.folder / "evidence"
        folder.mkdir()
        streams = load_streams(self.stage.fusion.folder / "streams.yaml")
        with one_process(folder, 50, ["before", "after"] * 4, streams, Limits()) as (log, thread):
            for push in ([put(0, {"id": "one-event", **QUERY})], self.frames):
                logged(log, push)
                wait_until_taken(log, thread)
            told = told_in(log)
        return {topic: by_id(told[topic]) for topic in ("matches", "evidence")}

    def _send(self, first: int, stop: int) -> None:
        self.stage.fusion.send("detections", self.frames[first:stop])


def reports() -> list[Row]:
    """Return reports in the order of time, and one long after."""
    rng, rows = np.random.default_rng(35), [Row("after", START_S + 90_000.0, CLOCK, "noise", "west")]
    for nth, happened_s in enumerate(rng.uniform(0, SECONDS, 20).tolist()):
        heard = np.flatnonzero(rng.random(3) < 0.8).tolist()
        rows += (_row(f"e{nth}", at, happened_s - CLOCK.quantile(rng.random())) for at in heard)
    for at in range(3):
        rows += (_row(f"n{nth}", at, at_s) for nth, at_s in enumerate(rng.uniform(0, SECONDS, 30).tolist()))
    return sorted(rows, key=lambda row: row.at_s)


def _row(id_: str, sensor: int, at_s: float) -> Row:
    return Row(id_, START_S + at_s, CLOCK, "noise", f"mill-{sensor}")
