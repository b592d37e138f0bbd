"""AreaRates: how often each stream reports in each area, as the shard tells it to those who judge queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import nlargest

from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.rates import Background
from coincide.wire.status_record import MOST_AREAS, RatesByArea

SIGNIFICANT_DIGITS = 6


class AreaRates:
    """The newest rates of each area, from the second whole minute of its event time on; not saved.

    `busiest_hz` has the greatest rate that each stream has had in one area.
    """

    def __init__(self) -> None:
        self.busiest_hz: dict[str, float] = {}
        self._noted: dict[str, Background] = {}
        self._by_area: dict[str, dict[str, float]] = {}
        self._told = RatesByArea({}, {})
        self._is_told = True
        self._forgotten = 0  # areas, when it was told

    def note(
        self, backgrounds: Mapping[tuple[int, int], Background | None], areas: Areas, streams: Sequence[str]
    ) -> None:
        """Take what was counted, by area code and minute; the minutes of an area follow each other."""
        for (code, _), background in backgrounds.items():
            name = areas.area_of(code).name
            if background is not None and self._noted.get(name) is not background:  # which is another each minute
                rates_hz = {streams[stream]: rate_hz for stream, rate_hz in background.rates_hz.items()}
                self._noted[name], self._by_area[name], self._is_told = background, rates_hz, False
                for stream, rate_hz in rates_hz.items():
                    self.busiest_hz[stream] = max(rate_hz, self.busiest_hz.get(stream, 0.0))

    def told(self, areas: Areas) -> RatesByArea:
        """Return the rates of the busiest areas, and those of all others together; of areas still known."""
        if not self._is_told or self._forgotten != areas.forgotten:
            self._noted = {name: each for name, each in self._noted.items() if areas.get(name) is not None}
            self._by_area = {name: each for name, each in self._by_area.items() if areas.get(name) is not None}
            busiest = nlargest(MOST_AREAS, self._by_area, key=lambda name: sum(self._by_area[name].values()))
            elsewhere = Counter[str]()
            for name in self._by_area.keys() - {*busiest}:
                elsewhere.update(self._by_area[name])
            self._told = RatesByArea({name: _rounded(self._by_area[name]) for name in busiest}, _rounded(elsewhere))
            self._is_told, self._forgotten = True, areas.forgotten
        return self._told


def _rounded(rates_hz: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{rate_hz:.{SIGNIFICANT_DIGITS}g}") for name, rate_hz in rates_hz.items()}
