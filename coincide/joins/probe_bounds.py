"""ProbeBounds: where partners of an event lie in the other stream's sorted times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.offsets.cache import OffsetCache
from coincide.offsets.satisfaction_table import NEVER_HI_US, NEVER_LO_US, SatisfactionTable


class OffsetJudge(Protocol):
    """Tells which offsets qualify for their templates, as an `OffsetCache` does."""

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates; arrays of shape (n,)."""


@dataclass(frozen=True, eq=False)
class ProbeBounds:
    """Qualifying offsets, stored minus probing time, by (probing template, stored template).

    The papers' partition: outside the outer range is the violation range, inside the sure range the satisfaction
    range, between them the probing range.

    Attributes
    ----------
    lo_us, hi_us : ndarray of int64, shape (p, s)
        Closed hulls; lo > hi if nothing qualifies.
    outer_lo_us, outer_hi_us : ndarray of int64, shape (p,)
        Beyond them no stored template matches.
    sure_lo_us, sure_hi_us : ndarray of int64, shape (p,)
        Between them every stored template matches; lo > hi if there is no such range.
    table : SatisfactionTable or None
        Judges too where some pair has more than one interval; else None.
    probes_with_b : bool
        Whether the probing events are the b side of `table` or `cache`.
    cache : OffsetJudge or None
        Judges in place of the hulls, which are then one for each probing template, whatever the stored one.
    """

    lo_us: Int64Array
    hi_us: Int64Array
    outer_lo_us: Int64Array
    outer_hi_us: Int64Array
    sure_lo_us: Int64Array
    sure_hi_us: Int64Array
    table: SatisfactionTable | None
    probes_with_b: bool
    cache: OffsetJudge | None = None

    @classmethod
    def of_a(cls, table: SatisfactionTable, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of a that look for b; offsets tb - ta below `least_us` do not count."""
        return cls._of(np.maximum(table.lo_us, least_us), table.hi_us, table, probes_with_b=False)

    @classmethod
    def of_b(cls, table: SatisfactionTable, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of b that look for a; offsets tb - ta below `least_us` do not count."""
        return cls._of(-table.hi_us.T, -np.maximum(table.lo_us, least_us).T, table, probes_with_b=True)

    @classmethod
    def _of(cls, lo_us: Int64Array, hi_us: Int64Array, table: SatisfactionTable, *, probes_with_b: bool) -> ProbeBounds:
        single = table.is_single
        return cls(
            lo_us=np.ascontiguousarray(lo_us),
            hi_us=np.ascontiguousarray(hi_us),
            outer_lo_us=lo_us.min(axis=1, initial=NEVER_LO_US),
            outer_hi_us=hi_us.max(axis=1, initial=NEVER_HI_US),
            sure_lo_us=lo_us.max(axis=1, initial=NEVER_HI_US) if single else np.full(len(lo_us), NEVER_LO_US),
            sure_hi_us=hi_us.min(axis=1, initial=NEVER_LO_US) if single else np.full(len(lo_us), NEVER_HI_US),
            table=None if single else table,
            probes_with_b=probes_with_b,
        )

    @classmethod
    def possible_of_a(cls, cache: OffsetCache, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of a beyond which Xb - Xa cannot lie in the window; what they leave `cache` judges."""
        window, us, vs = cache.window, cache.us, cache.vs
        lo_us = window.lo_us - 1 + us.earliest_us - vs.latest_us.max(initial=NEVER_HI_US)
        hi_us = window.hi_us + 1 + us.latest_us - vs.earliest_us.min(initial=NEVER_LO_US)
        return cls.possible(np.maximum(lo_us, least_us), hi_us, cache, probes_with_b=False)

    @classmethod
    def possible_of_b(cls, cache: OffsetCache, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of b, as `possible_of_a`."""
        window, us, vs = cache.window, cache.us, cache.vs
        lo_us = window.lo_us - 1 + us.earliest_us.min(initial=NEVER_LO_US) - vs.latest_us
        hi_us = window.hi_us + 1 + us.latest_us.max(initial=NEVER_HI_US) - vs.earliest_us
        return cls.possible(-hi_us, -np.maximum(lo_us, least_us), cache, probes_with_b=True)

    @classmethod
    def possible(
        cls, lo_us: Int64Array, hi_us: Int64Array, cache: OffsetJudge | None, *, probes_with_b: bool
    ) -> ProbeBounds:
        """Bounds by probing template beyond which no stored template matches; what they leave `cache` judges."""
        none = np.full_like(lo_us, NEVER_LO_US), np.full_like(lo_us, NEVER_HI_US)
        return cls(lo_us[:, None], hi_us[:, None], lo_us, hi_us, *none, None, probes_with_b, cache)

    @property
    def outer_us(self) -> tuple[int, int]:
        """The outer range over all probing templates (lo > hi if nothing ever matches)."""
        return int(self.outer_lo_us.min(initial=NEVER_LO_US)), int(self.outer_hi_us.max(initial=NEVER_HI_US))

    @property
    def is_sharp(self) -> bool:
        """One stored template and one interval each: the outer range is the answer, nothing is left to test."""
        return self.table is None and self.cache is None and self.lo_us.shape[1] == 1

    def qualify(self, probing: CodeArray, stored: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether offsets (stored minus probing time) qualify for their templates; arrays of shape (n,)."""
        if self.cache is not None:
            if self.probes_with_b:
                return self.cache.contain(stored, probing, -offset_us)
            return self.cache.contain(probing, stored, offset_us)
        pair = probing.astype(np.intp) * self.lo_us.shape[1] + stored
        inside: BoolArray = (offset_us >= self.lo_us.ravel()[pair]) & (offset_us <= self.hi_us.ravel()[pair])
        if self.table is None:
            return inside
        if self.probes_with_b:
            return inside & self.table.contains(stored, probing, -offset_us)
        return inside & self.table.contains(probing, stored, offset_us)
