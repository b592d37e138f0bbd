"""One drill: cause a fault, see who says so and when, undo it, see when all is well again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from deploy.host.machine import wait_until
from trials.drills import first_row
from trials.drills.faults import Fault, Line
from trials.drills.first_row import GOOD, KNOWN, Shown
from trials.drills.monitoring import Monitoring

FIRES_WITHIN_S, CLEARS_WITHIN_S = 90.0, 60.0
LOOKS_EVERY_S = 1.0
LASTS_S, WATCHED_AFTER_S = 95.0, 75.0  # at most
GOES_ON_S = 15.0  # after all has been said, so that one alert too many shows
CALM_S, CALM_WITHIN_S = 15.0, 240.0


@dataclass
class Watch:
    """What has been seen since it began: when an alert rang first and last, and when a panel was lit."""

    monitoring: Monitoring
    since_s: float = field(default_factory=time.monotonic)
    rang_s: dict[str, list[float]] = field(default_factory=dict)  # first and last second of each alert
    said: dict[str, str] = field(default_factory=dict)
    lit_s: dict[str, list[float]] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)

    def look(self) -> None:
        now_s = time.monotonic() - self.since_s
        for alert, sentence in self.monitoring.ringing().items():
            self.said.setdefault(alert, sentence)
            self.rang_s.setdefault(alert, [now_s, now_s])[1] = now_s
        self.shown = list(first_row.shown(self.monitoring.ask))
        for panel in {each.panel for each in self.shown if each.is_lit}:
            self.lit_s.setdefault(panel, [now_s, now_s])[1] = now_s

    def until(self, all_said: Callable[[], bool], at_most_s: float) -> None:
        """Look every second until all has been said for a while, or for so long."""
        said_s: float | None = None
        while (now_s := time.monotonic() - self.since_s) < at_most_s:
            self.look()
            said_s = None if not all_said() else now_s if said_s is None else said_s
            if said_s is not None and now_s - said_s >= GOES_ON_S:
                return
            time.sleep(LOOKS_EVERY_S)


@dataclass(frozen=True)
class Outcome:
    """What a drill has shown."""

    fault: Fault
    during: Watch
    after: Watch
    lit: list[Shown]  # what is not good at the end of the fault

    @property
    def alert_s(self) -> float | None:
        """After how many seconds the right alert rang."""
        rang = self.during.rang_s.get(self.fault.alert)
        return rang[0] if rang else None

    @property
    def panel_s(self) -> float | None:
        """After how many seconds the right panel was lit."""
        lit = self.during.lit_s.get(self.fault.panel)
        return lit[0] if lit else None

    @property
    def last(self) -> tuple[float, str]:
        """How many seconds after the end of the fault something still rang or was red, and what."""
        seen = {**self.after.rang_s, **self.after.lit_s}
        return max(((each[1], name) for name, each in seen.items()), default=(0.0, "nothing"))

    @property
    def others(self) -> set[str]:
        """Alerts that rang and should not have."""
        return {*self.during.rang_s, *self.after.rang_s} - {self.fault.alert, *self.fault.also}

    @property
    def misled(self) -> set[str]:
        """Panels that were lit for long and should not have been."""
        return {each.panel for each in self.lit if each.is_lit} - {self.fault.panel}

    @property
    def is_good(self) -> bool:
        """Whether all bars hold."""
        alert_s, panel_s = self.alert_s, self.panel_s
        in_time = alert_s is not None and panel_s is not None and max(alert_s, panel_s) <= FIRES_WITHIN_S
        return bool(in_time) and not self.others and not self.misled and self.last[0] <= CLEARS_WITHIN_S


def is_calm(monitoring: Monitoring) -> bool:
    """Whether no alert rings, and every panel of the first row knows its values, and none is red."""
    return not monitoring.ringing() and all(each.colour in KNOWN for each in first_row.shown(monitoring.ask))


def wait_for_calm(monitoring: Monitoring) -> bool:
    """Return whether it has become calm, and stayed so for a while."""
    calm_since_s: list[float] = []

    def stays_calm() -> bool:
        if not is_calm(monitoring):
            calm_since_s.clear()
            return False
        calm_since_s.append(time.monotonic())
        return calm_since_s[-1] - calm_since_s[0] >= CALM_S

    return wait_until(stays_calm, CALM_WITHIN_S)


def drill(fault: Fault, line: Line, monitoring: Monitoring, report: Callable[[str], None]) -> Outcome:
    """Do it; the line is calm before."""
    report(f"{fault.name} ...")
    during = Watch(monitoring)
    try:
        fault.cause(line)
        during.until(lambda: fault.alert in during.rang_s and fault.panel in during.lit_s, LASTS_S)
    finally:
        after = Watch(monitoring)
        fault.cure(line)
    after.until(lambda: is_calm(monitoring), WATCHED_AFTER_S)
    return Outcome(fault, during, after, [each for each in during.shown if each.colour not in GOOD])
