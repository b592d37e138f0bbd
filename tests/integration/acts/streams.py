"""A stream through its life by REST: declared, changed under load, kept through kills, and removed again."""

from tests.integration.acts.bangs import Bangs
from tests.integration.acts.stage import Stage
from tests.patience import until


class Streams:
    """How late a report may be is what the stream says when it comes."""

    in_vain = 4  # the second one comes too late for the geophone's stream, too

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.bangs = Bangs(stage, "infrasound", "hill")

    def begin(self) -> None:
        self.bangs.declare()
        self.bangs.bang()
        self.bangs.held_back(20, is_late=False)
        self.bangs.held_back(50, is_late=True)
        self.bangs.check()  # else a change may be in force before fusion reads what was posted before it
        self._change_under_load(90)
        self.bangs.held_back(50, is_late=False)
        self.bangs.held_back(200, is_late=True)

    def see_begun(self) -> None:
        self.bangs.check()

    def go_on_without_fusion(self) -> None:
        self.bangs.held_back(60, is_late=False)

    def go_on(self) -> None:
        self.bangs.check()
        self._change_under_load(10)
        self.bangs.held_back(5, is_late=False)
        self.bangs.held_back(20, is_late=True)

    def judge(self) -> None:
        self.bangs.check()
        self.bangs.remove()

    def _change_under_load(self, max_delay_s: float) -> None:
        with self.bangs.load():
            self.bangs.change(self.bangs.path, max_delay_s=max_delay_s)
            before = self.bangs.posted
            until(lambda: self.bangs.posted > before + 30)
