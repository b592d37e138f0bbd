"""Sensors of which one has a wrong clock: who was heard of and what drifts, told back to ingest."""

from typing import Any

import numpy as np

from tests.coincide.fusion.inputs import edge
from tests.integration.acts.stage import Stage
from tests.integration.service_process import metric

START_US = 1_700_000_000_000_000
BANGS = 60  # their 240 reports are fewer than the members that one batch looks at, so that no batching hides one
BOUNDS_S = {"mic-0": (-1, 1), "mic-1": (-2, 0), "mic-2": (-0.8, 0.8), "mic-3": (-1.5, 1.5)}
AREA = "harbour"
BANG = {
    "from": dict.fromkeys("abcd", "noise"),
    "form": "clique",
    "within": [edge(8.0, 0.1)],
    "joint_threshold": 0.05,
    "areas": [AREA],
}


class Health:
    """Four microphones hear every bang; the clock of the last is 1.2 s wrong."""

    in_vain = 0

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.posted: dict[str, Any] = {}
        self.later: dict[str, Any] = {}
        self.drifts: dict[str, Any] = {}

    def begin(self) -> None:
        for name, bounds in BOUNDS_S.items():
            self.stage.put_sensor(name, AREA, {"noise": {"uniform": list(bounds)}}, model="M")
        self.stage.put_query("bang", BANG)
        # At once: health is told and saved with the first batch of an area, and then not for ten seconds, in which
        # another Python worker may take the shard over and forget what came since.
        items = [item for first in range(0, BANGS, 20) for item in bangs(range(first, first + 20), wrong_s=1.2)]
        self.posted = self.stage.ingest.post(items).json()

    def see_begun(self) -> None:
        self.stage.wait(lambda: self.of("mic-3")["last_seen_us"] == self.posted["received_at_us"])
        self.stage.wait(lambda: (self.of("mic-3")["drift"] or {"errors": 0})["errors"] == BANGS)
        self.drifts = {name: self.of(name)["drift"] for name in BOUNDS_S}
        assert self.drifts["mic-3"]["p_value"] < 1e-6
        assert self.drifts["mic-3"]["distance"] == max(each["distance"] for each in self.drifts.values())
        asked = {"area": AREA, "model": "M", "stream": "noise"}
        page = self.stage.ingest.call("GET", "/v1/sensors", params=asked).json()
        assert [each["id"] for each in page["items"]] == sorted(BOUNDS_S)
        self.stage.wait(self._drifts_are_counted)

    def _drifts_are_counted(self) -> bool:
        return metric(self.stage.ingest.url, "coincide_ingest_drifting_templates") == 1

    def go_on_without_fusion(self) -> None:
        """Nothing is heard meanwhile."""

    def go_on(self) -> None:
        item = {"sensor": "mic-0", "detected_at": START_US + 3_030_000_000}
        self.later = self.stage.ingest.post(item).json()

    def judge(self) -> None:
        self.stage.wait(lambda: self.of("mic-0")["last_seen_us"] == self.later["received_at_us"])
        assert self.of("mic-3")["drift"] == self.drifts["mic-3"]
        assert self.of("mic-3")["last_seen_us"] == self.posted["received_at_us"]
        asked = {"silent_for_s": 0.001, "area": AREA}
        silent = self.stage.ingest.call("GET", "/v1/sensors", params=asked).json()["items"]
        assert {each["id"] for each in silent} == set(BOUNDS_S)
        self.stage.wait(self._drifts_are_counted)

    def of(self, sensor: str) -> dict[str, Any]:
        found = self.stage.ingest.call("GET", f"/v1/sensors/{sensor}").json()["health"].get("noise")
        return found or {"last_seen_us": 0, "drift": None}


def bangs(numbers: range, wrong_s: float) -> list[dict[str, Any]]:
    """Return what four microphones say of bangs half a minute apart; the clock of the last is wrong by so much."""
    rng, items = np.random.default_rng(numbers.start), []
    for number in numbers:
        for name, bounds in BOUNDS_S.items():
            error_s = rng.uniform(*bounds) - (wrong_s if name == "mic-3" else 0.0)
            at_us = START_US + number * 30_000_000 - round(error_s * 1e6)
            items.append({"sensor": name, "detected_at": at_us, "id": f"{number}"})
    return items
