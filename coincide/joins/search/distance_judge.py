"""DistanceJudge: which offsets qualify for templates at places, for one window by distance and one threshold."""

from __future__ import annotations

from functools import partial

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.constraints.graph import WindowByDistance
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.search.earliest_offsets import EarliestOffsets
from coincide.offsets.cache import LookUps
from coincide.offsets.distance_cache import DistanceCache
from coincide.offsets.pair_work import PairLimits
from coincide.places.templates_at_places import TemplatesAtPlaces


class DistanceJudge:
    """An `EdgeJudge` where each two sensors have a window of their own.

    An event looks for partners as far as the longest window of its sensor with any that is known.
    """

    def __init__(
        self,
        window: WindowByDistance,
        threshold: float,
        us: TemplatesAtPlaces,
        vs: TemplatesAtPlaces,
        limits: PairLimits,
        *,
        is_unordered: bool,
    ) -> None:
        self._us, self._vs = us, vs
        self._cache = DistanceCache(window, threshold, us, vs, limits.cached)
        self._offsets = EarliestOffsets(self._cache.contain, us, vs, is_unordered)
        self._sizes = (-1, -1)  # has followed nothing yet
        self._set_bounds()

    @property
    def look_ups(self) -> LookUps:
        """What the cache has done so far."""
        return self._cache.look_ups

    def follow(self) -> bool:
        """Get to know all templates and places that are registered now; return whether any was new."""
        if self._sizes == (len(self._us), len(self._vs)):
            return False
        self._sizes = (len(self._us), len(self._vs))
        self._set_bounds()
        return True

    def recode(self, _u_code: CodeArray | None, _v_code: CodeArray | None) -> None:
        """Refuse: codes of templates at places never change their meaning."""
        raise ValueError("a search by distance begins anew where codes change")

    def _set_bounds(self) -> None:
        possible = partial(self._possible, *self._cache.reaches_us())
        self.as_first, self.as_second = possible(probes_with_second=False), possible(probes_with_second=True)

    def _possible(self, u_us: Int64Array, v_us: Int64Array, *, probes_with_second: bool) -> ProbeBounds:
        """Return bounds of stored minus probing earliest time, by probing code, given how far each code reaches."""
        ends = (self._us, u_us), (self._vs, v_us)
        (probing, reach_us), (stored, back_us) = ends[::-1] if probes_with_second else ends
        longest_us = int((stored.latest_us - stored.earliest_us).max(initial=0))
        lo_us = -reach_us - 1 - longest_us
        hi_us = reach_us + 1 + probing.latest_us - probing.earliest_us
        stored_lo_us = -back_us - 1 - (stored.latest_us - stored.earliest_us)
        return ProbeBounds.possible(lo_us, hi_us, self._offsets, stored_lo_us, probes_with_b=probes_with_second)
