"""OnTime: from when on detections are on time, by area and stream. That time never moves back.

The law: a detection is late if the latest time at which it may have happened lies before its area's watermark minus
its stream's delay. When the delay is raised while the job runs, that time stays a floor: windows before it were
answered, ids forgotten and rows dropped, so nobody waits for it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.rows.areas import Areas
from coincide.joins.lateness import BEFORE_ALL_US, late_by_us


@dataclass(frozen=True)
class OnTime:
    """Watermarks by area code, delays by stream code, and floors by stream code, then by area code, at one moment."""

    watermark_us: Int64Array
    delays_us: Int64Array
    floors_us: Mapping[int, Int64Array]

    @classmethod
    def now(cls, areas: Areas, streams: KnownStreams) -> Self:
        """Return how it is now; later changes do not show in it."""
        return cls(areas.watermark.state_us, streams.delays_us, areas.floors_us)

    def since_us(self, stream: int, areas: int | None = None) -> Int64Array:
        """Return from when on a stream's detections are on time, by area code; of so many areas, if that is given.

        Nothing was late in an area, or of a stream, that came later.
        """
        since_us = self._behind_us(stream)
        floor_us = self.floors_us.get(stream, since_us[:0])[: len(since_us)]
        np.maximum(since_us[: len(floor_us)], floor_us, out=since_us[: len(floor_us)])
        missing = 0 if areas is None else areas - len(since_us)
        return np.append(since_us, np.full(missing, BEFORE_ALL_US)) if missing > 0 else since_us

    def moved_since(self, before: OnTime, stream: int) -> set[int]:
        """Return the codes of the areas whose watermark, or what is on time there on a stream, was another before."""
        areas = len(self.watermark_us)
        watermark_us = np.full(areas, BEFORE_ALL_US)
        watermark_us[: len(before.watermark_us)] = before.watermark_us
        is_other = (self.watermark_us != watermark_us) | (self.since_us(stream) != before.since_us(stream, areas))
        return set(np.flatnonzero(is_other).tolist())

    def _behind_us(self, stream: int) -> Int64Array:
        if stream < len(self.delays_us):
            behind_us: Int64Array = self.watermark_us - self.delays_us[stream]
            return behind_us
        return np.full(len(self.watermark_us), BEFORE_ALL_US)

    def late_by_us(
        self, watermark_us: Int64Array, latest_us: Int64Array, area: CodeArray, stream: CodeArray
    ) -> Int64Array:
        """How far each row lies before what is on time at its own watermark: it is late where this is above 0."""
        late_us = late_by_us(watermark_us, latest_us, self.delays_us[stream])
        if self.floors_us:
            np.maximum(late_us, self._floor_us(area, stream) - latest_us, out=late_us)
        return late_us

    def stands_until_us(self, latest_us: Int64Array, area: CodeArray, stream: CodeArray) -> Int64Array:
        """Return the last watermark at which each row is not late; BEFORE_ALL_US for one that always is by now."""
        until_us: Int64Array = latest_us + self.delays_us[stream]
        if self.floors_us:
            until_us[latest_us < self._floor_us(area, stream)] = BEFORE_ALL_US
        return until_us

    def is_late(self, latest_us: Int64Array, area: CodeArray, stream: CodeArray) -> BoolArray:
        """Whether each row would be late if it came now."""
        late: BoolArray = self.watermark_us[area] > self.stands_until_us(latest_us, area, stream)
        return late

    def _floor_us(self, area: CodeArray, stream: CodeArray) -> Int64Array:
        floor_us = np.full(len(area), BEFORE_ALL_US)
        for code, by_area in self.floors_us.items():
            at = np.flatnonzero((stream == code) & (area < len(by_area)))
            floor_us[at] = by_area[area[at]]
        return floor_us
