"""SharedExtents: the readings of one area for several rules, each coalesced eagerly or lazily."""

from __future__ import annotations

from collections.abc import Mapping

from coincide.sliding.eager_extent import EagerExtent
from coincide.sliding.extent import SlidingExtent
from coincide.sliding.lazy_extent import HeldReadings, LazyExtent
from coincide.sliding.measures import Latest
from coincide.sliding.readings import Readings
from coincide.sliding.run_rule import RunRule
from coincide.watermark import BEFORE_ALL_US


class SharedExtents:
    """An eager extent for each rule that is eager, and one lazy extent for all the others, if there are any.

    Parameters
    ----------
    eager : mapping of RunRule to bool
        Whether each rule is coalesced eagerly.

    Attributes
    ----------
    latest_us : int
        Time of the latest reading that ever came; `BEFORE_ALL_US` if none did.
    """

    def __init__(self, eager: Mapping[RunRule, bool]) -> None:
        self._held = HeldReadings()
        self._eager = {rule: EagerExtent(rule) for rule, is_eager in eager.items() if is_eager}
        self._is_shared = not all(eager.values())
        self._latest = Latest()
        self.latest_us = BEFORE_ALL_US

    def add(self, readings: Readings) -> int:
        """Take readings in the order in which they came; return how many came after a later one of their group."""
        if self._is_shared:
            self._held.add(readings)
        for extent in self._eager.values():
            extent.add(readings)
        self.latest_us = max(self.latest_us, int(readings.ts_us.max(initial=BEFORE_ALL_US)))
        return self._latest.late(readings)

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""
        self._held.drop_before(us)
        for extent in self._eager.values():
            extent.drop_before(us)

    def switched(self, eager: Mapping[RunRule, bool]) -> SharedExtents:
        """Return the same readings coalesced another way."""
        other = SharedExtents(eager)
        other.add(self._held.counted() if self._is_shared else next(iter(self._eager.values())).counted())
        other._latest, other.latest_us = self._latest, self.latest_us
        return other

    def of(self, rule: RunRule) -> SlidingExtent:
        """Return the extent of a rule."""
        return self._eager.get(rule) or LazyExtent(rule, self._held)
