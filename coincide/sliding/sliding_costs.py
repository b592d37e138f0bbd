"""SlidingCosts: what a source of readings costs by either scheme, from what was counted of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from coincide.coalescing.scheme_costs import SchemeCosts
from coincide.errors import CostError
from coincide.histogram_checks import is_number
from coincide.sliding.measures import Arrived, Scanned


@dataclass(frozen=True)
class SlidingCosts:
    """Seconds for one operation on an extent.

    Parameters
    ----------
    insert_run, merge, drop : float
        Of an eager extent: a reading begins a run, a reading goes on from another, a reading is dropped in the end.
    insert_late : float
        What it costs more if a later one of its group is there: a search, and a shift of all behind it.
    scan_eager, read_run : float
        A scan of an eager extent, and for each of its runs.
    insert : float
        A reading is put into a lazy extent and dropped in the end.
    scan_lazy, read, coalesce_run : float
        A scan of a lazy extent, for each of its readings, and for each run that they make.

    Raises
    ------
    CostError
        One is no finite number, or below 0.
    """

    insert_run: float
    merge: float
    drop: float
    insert_late: float
    scan_eager: float
    read_run: float
    insert: float
    scan_lazy: float
    read: float
    coalesce_run: float

    def __post_init__(self) -> None:
        for field in fields(self):
            cost = getattr(self, field.name)
            if not is_number(cost) or cost < 0:
                raise CostError(field.name, cost, "a finite number of seconds, at least 0")

    def of(self, arrived: Arrived, scanned: Sequence[Scanned]) -> SchemeCosts:
        """Return what was spent on each rule, or would have been: the coalescing paper's Equations 3 to 6.

        With constant probabilities they are sums of counts; here the counts are at hand. As printed there, splitting a
        run costs without end where hardly anything coalesces; in sorted arrays a late reading costs a shift.

        Parameters
        ----------
        arrived : Arrived
            Readings that all rules share.
        scanned : sequence of Scanned
            Of each rule.

        Examples
        --------
        >>> costs = TYPICAL.of(Arrived(1000, 0), [Scanned(scans=1, readings=1000, groups=1, runs=10)])
        >>> bool(costs.eager[0] > costs.lazy_scan[0] + costs.lazy_shared)
        True
        """
        eager = [arrived.readings * self._update(arrived, each) + self._eager_scans(each) for each in scanned]
        lazy = [
            each.scans * self.scan_lazy + each.readings * self.read + each.runs * self.coalesce_run for each in scanned
        ]
        return SchemeCosts(np.array(eager), np.array(lazy), arrived.readings * self.insert)

    def _update(self, arrived: Arrived, scanned: Scanned) -> float:
        """Return what a reading costs that comes and goes."""
        coalesced = scanned.coalesced
        begun = (1 - coalesced) * self.insert_run + coalesced * self.merge
        return begun + arrived.out_of_order * self.insert_late + self.drop

    def _eager_scans(self, scanned: Scanned) -> float:
        return scanned.scans * self.scan_eager + scanned.runs * self.read_run


TYPICAL = SlidingCosts(
    insert_run=2.5e-6,
    merge=1.1e-6,
    drop=1.3e-6,
    insert_late=1.5e-6,
    scan_eager=25e-6,
    read_run=0.6e-6,
    insert=0.1e-6,
    scan_lazy=130e-6,
    read=0.07e-6,
    coalesce_run=0.07e-6,
)
"""As `benchmarks/sliding_unit_costs.py` measures them on one core of a small server.

They are fixed, not measured where the job runs, so that the choice is the same wherever it is made: between machines
their ratios differ less than what decides, which is how often slides come and how much coalesces.
"""
