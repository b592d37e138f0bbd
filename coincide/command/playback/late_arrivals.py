"""Late arrivals of a replay: how many there are, and behind which detection, for one clock that is ahead makes many."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import PositionArray
from coincide.arrays.spoken import spoken_s
from coincide.command.faults import note
from coincide.command.input.arrivals import Arrivals
from coincide.joins.lateness import BEFORE_ALL_US

SHOWN_LEADERS = 3


@dataclass(frozen=True)
class Leader:
    """The detection that was the newest of its area, and how far it went beyond all before it; None if none were."""

    sensor: str
    file: str
    row: int
    detected_at_us: int
    beyond_us: int | None

    def __str__(self) -> str:
        who = f"sensor {self.sensor} ({self.file} row {self.row})" if self.sensor else f"{self.file} row {self.row}"
        beyond = "before all others" if self.beyond_us is None else f"{_spoken(self.beyond_us)} beyond all before it"
        return f"{who}, which says {np.datetime64(self.detected_at_us, 'us')}Z and came {beyond}"


def _spoken(length_us: int) -> str:
    days = length_us / 86_400e6
    return f"{days:.3g} days" if days >= 2 else spoken_s(round(length_us / 1e6))


class _Area:
    """How far the sensors of an area have come, and which of them jumped ahead of all others."""

    def __init__(self) -> None:
        self._newest, self._newest_us = "", BEFORE_ALL_US
        self._second_us = BEFORE_ALL_US  # how far the other sensors have come
        self._jumps: dict[str, Leader] = {}

    def go_on(self, sensor: str, reached_us: int) -> int | None:
        """Let a sensor come so far; return by how much it is the newest now, None if it is not."""
        beyond_us = reached_us - self._newest_us
        if beyond_us <= 0:
            self._second_us = self._second_us if sensor == self._newest else max(self._second_us, reached_us)
            return None
        if sensor != self._newest:
            self._newest, self._second_us = sensor, self._newest_us
        elif (leader := self._jumps.get(sensor)) is not None and leader.beyond_us is None:
            del self._jumps[sensor]  # it goes on from its first detection
        self._newest_us = reached_us
        return beyond_us

    def jump(self, sensor: str, leader: Leader) -> None:
        """Note by which detection a sensor jumped."""
        self._jumps[sensor] = leader

    def ahead_of(self, latest_us: int, max_delay_us: float) -> Leader | None:
        """Return the leader without whose sensor a late detection had been on time; None if there is none."""
        return self._jumps.get(self._newest) if latest_us >= self._second_us - max_delay_us else None


class LateArrivals:
    """Counts late detections, and those that are late because one clock is ahead."""

    def __init__(self, max_delay_s: float) -> None:
        self._max_delay_us = max_delay_s * 1e6
        self._areas: defaultdict[str, _Area] = defaultdict(_Area)
        self._behind: Counter[Leader] = Counter()
        self.count = 0

    def take(self, batch: Arrivals, late: PositionArray) -> None:
        """Take a batch in, and which of its rows are late."""
        of_templates = np.array([each.latest_us for each in batch.templates], np.int64)
        latest = batch.rows["anchor_us"] + of_templates[batch.rows["template"]]
        progress_us = np.minimum(latest, batch.rows["received_at_us"]).tolist()
        latest_us, is_late = latest.tolist(), set(late.tolist())
        self.count += len(is_late)
        for row, (name, sensor) in enumerate(zip(batch.rows["area"], batch.rows["sensor"], strict=True)):
            area = self._areas[name]
            if row in is_late:
                leader = area.ahead_of(latest_us[row], self._max_delay_us)
                self._behind.update([leader] if leader else [])
            beyond_us = area.go_on(sensor, progress_us[row])
            if beyond_us is not None and beyond_us > self._max_delay_us:
                area.jump(sensor, _leader(batch, row, beyond_us))

    def tell(self) -> None:
        """Say how many were late, and behind whom."""
        if not self.count:
            return
        came = "1 detection came" if self.count == 1 else f"{self.count} detections came"
        delay_s = self._max_delay_us / 1e6
        note(f"{came} too late and left out: more than {delay_s:g} s (--max-delay) behind their area")
        for leader, count in self._behind.most_common(SHOWN_LEADERS):
            if count > 1:  # else it may as well be the other one that is behind
                note(f"{count} of them are behind {leader}: is its clock ahead?")


def _leader(batch: Arrivals, row: int, beyond_us: int) -> Leader:
    sensor, file, number, at_us = (batch.rows[name][row] for name in ("sensor", "file", "row", "detected_at_us"))
    is_first = beyond_us > -BEFORE_ALL_US // 2
    return Leader(str(sensor), str(file), int(number), int(at_us), None if is_first else beyond_us)
