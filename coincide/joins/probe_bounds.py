"""ProbeBounds: where partners of an event lie in the other stream's sorted times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.offsets.cache import OffsetCache
from coincide.offsets.ranges import NEVER_HI_US, NEVER_LO_US
from coincide.offsets.satisfaction_table import SatisfactionTable


class OffsetJudge(Protocol):
    """Tells which offsets qualify for their templates, as an `OffsetCache` does."""

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates; arrays of shape (n,)."""


@dataclass(frozen=True, eq=False)
class ProbeBounds:
    """Qualifying offsets, stored minus probing time, by (probing template, stored template).

    This is the papers' partition. Outside the outer range, the violation range, no stored template matches. Inside the
    sure range, the satisfaction range, every one does; there is none where lo > hi. Between them is the probing range.

    `lo_us` and `hi_us` of shape (p, s) are closed hulls, lo > hi if nothing qualifies; the other bounds have shape
    (p,). `judge` decides where hulls do not: it takes codes of u and v and offsets tb - ta. Probing events are those
    of b if `probes_with_b`. No offset below `stored_lo_us`, by stored template, is possible.
    """

    lo_us: Int64Array
    hi_us: Int64Array
    outer_lo_us: Int64Array
    outer_hi_us: Int64Array
    sure_lo_us: Int64Array
    sure_hi_us: Int64Array
    judge: Callable[[CodeArray, CodeArray, Int64Array], BoolArray] | None
    probes_with_b: bool
    stored_lo_us: Int64Array | None = None

    @classmethod
    def of_a(cls, judge: SatisfactionTable | OffsetCache, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of a that look for b; offsets tb - ta below `least_us` do not count."""
        if isinstance(judge, SatisfactionTable):
            return cls._of_table(np.maximum(judge.lo_us, least_us), judge.hi_us, judge, probes_with_b=False)
        window, us, vs = judge.window, judge.us, judge.vs
        lo_us = window.lo_us - 1 + us.earliest_us - vs.latest_us.max(initial=NEVER_HI_US)
        hi_us = window.hi_us + 1 + us.latest_us - vs.earliest_us.min(initial=NEVER_LO_US)
        return cls.possible(np.maximum(lo_us, least_us), hi_us, judge, probes_with_b=False)

    @classmethod
    def of_b(cls, judge: SatisfactionTable | OffsetCache, least_us: int = NEVER_HI_US) -> ProbeBounds:
        """Bounds for events of b that look for a; offsets tb - ta below `least_us` do not count."""
        if isinstance(judge, SatisfactionTable):
            return cls._of_table(-judge.hi_us.T, -np.maximum(judge.lo_us, least_us).T, judge, probes_with_b=True)
        window, us, vs = judge.window, judge.us, judge.vs
        lo_us = window.lo_us - 1 + us.earliest_us.min(initial=NEVER_LO_US) - vs.latest_us
        hi_us = window.hi_us + 1 + us.latest_us.max(initial=NEVER_HI_US) - vs.earliest_us
        return cls.possible(-hi_us, -np.maximum(lo_us, least_us), judge, probes_with_b=True)

    @classmethod
    def possible(
        cls,
        lo_us: Int64Array,
        hi_us: Int64Array,
        judge: OffsetJudge | None,
        stored_lo_us: Int64Array | None = None,
        *,
        probes_with_b: bool,
    ) -> ProbeBounds:
        """Bounds by probing template beyond which no stored template matches; what they leave `judge` judges."""
        none = np.full_like(lo_us, NEVER_LO_US), np.full_like(lo_us, NEVER_HI_US)
        contain = None if judge is None else judge.contain
        return cls(lo_us[:, None], hi_us[:, None], lo_us, hi_us, *none, contain, probes_with_b, stored_lo_us)

    @classmethod
    def of_shifted(
        cls, table: SatisfactionTable, shift_us: Int64Array, judge: OffsetJudge
    ) -> tuple[ProbeBounds, ProbeBounds]:
        """Bounds for events of a, and for those of b, where stored times are others than those that the table judges.

        `shift_us`, shape (us, vs), is how much longer offsets are between the stored times; `judge` judges these.
        """
        qualifies = table.lo_us <= table.hi_us
        lo_us, hi_us = np.where(qualifies, (table.lo_us + shift_us, table.hi_us + shift_us), (table.lo_us, table.hi_us))
        as_a = cls._of_table(lo_us, hi_us, table, judge, probes_with_b=False)
        return as_a, cls._of_table(-hi_us.T, -lo_us.T, table, judge, probes_with_b=True)

    @classmethod
    def _of_table(
        cls,
        lo_us: Int64Array,
        hi_us: Int64Array,
        table: SatisfactionTable,
        judge: OffsetJudge | None = None,
        *,
        probes_with_b: bool,
    ) -> ProbeBounds:
        single, contains = table.is_single, table.contains if judge is None else judge.contain
        return cls(
            lo_us=np.ascontiguousarray(lo_us),
            hi_us=np.ascontiguousarray(hi_us),
            outer_lo_us=lo_us.min(axis=1, initial=NEVER_LO_US),
            outer_hi_us=hi_us.max(axis=1, initial=NEVER_HI_US),
            sure_lo_us=lo_us.max(axis=1, initial=NEVER_HI_US) if single else np.full(len(lo_us), NEVER_LO_US),
            sure_hi_us=hi_us.min(axis=1, initial=NEVER_LO_US) if single else np.full(len(lo_us), NEVER_HI_US),
            judge=None if single else contains,
            probes_with_b=probes_with_b,
        )

    @property
    def outer_us(self) -> tuple[int, int]:
        """The outer range over all probing templates (lo > hi if nothing ever matches)."""
        return int(self.outer_lo_us.min(initial=NEVER_LO_US)), int(self.outer_hi_us.max(initial=NEVER_HI_US))

    @cached_property
    def has_sure(self) -> bool:
        """Whether some probing template has a sure range."""
        return bool((self.sure_lo_us <= self.sure_hi_us).any())

    @property
    def is_sharp(self) -> bool:
        """One stored template and one interval each: the outer range is the answer, nothing is left to test."""
        return self.judge is None and self.lo_us.shape[1] == 1

    def qualify(self, probing: CodeArray, stored: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether offsets (stored minus probing time) in the outer range qualify for their templates; shape (n,)."""
        if self.stored_lo_us is not None:
            return self._qualify_possible(self.stored_lo_us, probing, stored, offset_us)
        return self._qualify(probing, stored, offset_us)

    def _qualify_possible(
        self, stored_lo_us: Int64Array, probing: CodeArray, stored: CodeArray, offset_us: Int64Array
    ) -> BoolArray:
        qualifies = offset_us >= stored_lo_us[stored]
        at = np.flatnonzero(qualifies)
        if len(at):
            qualifies[at] = self._qualify(probing[at], stored[at], offset_us[at])
        return qualifies

    def _qualify(self, probing: CodeArray, stored: CodeArray, offset_us: Int64Array) -> BoolArray:
        qualifies = None
        if self.judge is not None:
            a_to_b = (stored, probing, -offset_us) if self.probes_with_b else (probing, stored, offset_us)
            qualifies = self.judge(*a_to_b)
            if self.lo_us.shape[1] == 1:
                return qualifies
        pair = probing.astype(np.intp) * self.lo_us.shape[1] + stored
        inside: BoolArray = (offset_us >= self.lo_us.ravel()[pair]) & (offset_us <= self.hi_us.ravel()[pair])
        return inside if qualifies is None else inside & qualifies
