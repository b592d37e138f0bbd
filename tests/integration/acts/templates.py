"""A template that changes: what is posted after the answer has the new one, whatever is killed; no older report has."""

from coincide import Histogram
from tests.integration.acts.bangs import APART_S, SLOW_S, Bangs
from tests.integration.acts.stage import Stage

TEMPLATE = "/v1/templates/clock"


class Templates:
    """A barometer turns out to report `SLOW_S` late."""

    in_vain = 0

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.bangs = Bangs(stage, "pressure-wave", "vale")
        self.across = ""

    def begin(self) -> None:
        put = self.stage.ingest.call("PUT", TEMPLATE, json={"edges_s": [-0.5, 0.5], "mass": [1.0]})
        assert put.status_code == 201, put.text
        self.bangs.declare(barometer="clock")
        self.bangs.bang()
        self.bangs.heard("barometer", self.bangs.heard("geophone"))  # before: too far apart

    def see_begun(self) -> None:
        self.bangs.check()
        self.across = self.bangs.heard("geophone")
        self.bangs.heard("barometer")  # it has the old template, and keeps it
        self.bangs.now_s -= SLOW_S

    def go_on_without_fusion(self) -> None:
        self.bangs.change(TEMPLATE, edges_s=[-0.5 - SLOW_S, 0.5 - SLOW_S])
        self.bangs.heard("barometer", self.across, is_matched=True)

    def go_on(self) -> None:
        self.bangs.heard("barometer", self.bangs.heard("geophone"), is_matched=True)
        self.bangs.check()
        members = [each for match in self.bangs.matches() for each in match["members"]]
        assert {each["template"] for each in members if each["sensor"].endswith("barometer")} == {
            Histogram.uniform(at_s - 0.5, at_s + 0.5).id for at_s in (0, -SLOW_S)
        }
        self._change_what_the_stream_bears()

    def judge(self) -> None:
        self.bangs.check()
        changes = [each["change"] for each in self.stage.fusion.read_all("activations")]
        told = [each for each in changes if each.get("stream") == self.bangs.stream]
        said = {each["version"]: each["longest_template_s"] for each in told}
        assert said == {1: 10, 2: 0.5, 3: 10}

    def _change_what_the_stream_bears(self) -> None:
        self.bangs.change(self.bangs.path, longest_template_s=0.5)
        self.bangs.now_s += APART_S
        late_us = round(self.bangs.now_s * 1e6)
        refused = self.stage.ingest.post([{"sensor": f"{self.bangs.area}-barometer", "detected_at": late_us}])
        [verdict] = refused.json()["detections"]
        assert (refused.status_code, verdict["reason"]) == (422, "template_too_long")
        self.bangs.change(self.bangs.path, longest_template_s=10)
        self.bangs.heard("barometer", self.bangs.heard("geophone"), is_matched=True)
