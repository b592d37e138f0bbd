"""Which rules of a source to coalesce eagerly, decided anew as what is measured drifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coincide.coalescing.costs.schemes import SchemeCosts, cost_of, select_schemes
from coincide.coalescing.costs.units import refuse_unless_costs
from coincide.sliding.counts import ArrivalCounts, ScanCounts


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
        refuse_unless_costs(self, "a finite number of seconds")

    def of(self, arrived: ArrivalCounts, scanned: Sequence[ScanCounts]) -> SchemeCosts:
        """Return what was spent on each rule, or would have been: the coalescing paper's Equations 3 to 6.

        With constant probabilities they are sums of counts; here the counts are at hand. As printed there, splitting a
        run costs without end where hardly anything coalesces; in sorted arrays a late reading costs a shift. `arrived`
        counts the readings that all rules share, `scanned` the scans of each rule.

        Examples
        --------
        >>> costs = TYPICAL.of(ArrivalCounts(1000, 0), [ScanCounts(scans=1, readings=1000, groups=1, runs=10)])
        >>> bool(costs.eager[0] > costs.lazy_scan[0] + costs.lazy_shared)
        True
        """
        eager = [arrived.readings * self._update(arrived, each) + self._eager_scans(each) for each in scanned]
        lazy = [
            each.scans * self.scan_lazy + each.readings * self.read + each.runs * self.coalesce_run for each in scanned
        ]
        return SchemeCosts(np.array(eager), np.array(lazy), arrived.readings * self.insert)

    def _update(self, arrived: ArrivalCounts, scanned: ScanCounts) -> float:
        """Return what a reading costs that comes and goes."""
        coalesced = scanned.coalesced
        begun = (1 - coalesced) * self.insert_run + coalesced * self.merge
        return begun + arrived.out_of_order * self.insert_late + self.drop

    def _eager_scans(self, scanned: ScanCounts) -> float:
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


Scheme = Literal["eager", "lazy"]

FEWEST_READINGS = 64
FEWEST_SCANS = 2
WORTH_SWITCHING = 0.8  # of what the present schemes cost: switching costs as much as reading everything once


@dataclass(frozen=True)
class SchemeChoice:
    """How one rule is coalesced, why, and what a slide costs by either scheme, with the updates before it: seconds."""

    scheme: Scheme = "lazy"
    reason: str = f"lazy until {FEWEST_READINGS} readings and {FEWEST_SCANS} slides are measured"
    eager_cost_s: float | None = None
    lazy_cost_s: float | None = None


def choose_schemes(
    arrived: ArrivalCounts, scanned: Sequence[ScanCounts], chosen: Sequence[SchemeChoice], costs: SlidingCosts
) -> list[SchemeChoice]:
    """Return the choice for each rule of a source: the cheapest by the cost model, if it is worth switching.

    The rules share what `arrived` counts; `scanned` and `chosen`, the choice as it is now, are by rule.

    Examples
    --------
    A slide for every reading, and long runs:

    >>> from coincide.sliding.choice import TYPICAL
    >>> scanned = ScanCounts(scans=1000, readings=100_000, groups=1000, runs=3000)
    >>> [choice] = choose_schemes(ArrivalCounts(1000, 20), [scanned], [SchemeChoice()], TYPICAL)
    >>> choice.reason
    'eager: 98 % of readings coalesce, 2 % come out of order, 1 a slide over 100; 0.029 ms a slide, lazily 0.14'
    """
    if arrived.readings < FEWEST_READINGS or all(each.scans < FEWEST_SCANS for each in scanned):
        return list(chosen)
    of_schemes = costs.of(arrived, scanned)
    best = select_schemes(of_schemes)
    now = np.array([choice.scheme == "eager" for choice in chosen])
    eager = best.eager if best.cost < WORTH_SWITCHING * cost_of(of_schemes, now) else now
    shared = of_schemes.lazy_shared / max(1, int(np.count_nonzero(~eager)))
    return [
        _choice(arrived, each, bool(eager[rule]), of_schemes.eager[rule], of_schemes.lazy_scan[rule] + shared)
        for rule, each in enumerate(scanned)
    ]


KEPT = "; to switch would gain less than a fifth over all queries that read alike"


def _choice(arrived: ArrivalCounts, scanned: ScanCounts, is_eager: bool, eager_s: float, lazy_s: float) -> SchemeChoice:
    if scanned.scans < FEWEST_SCANS:
        return SchemeChoice()
    eager_s, lazy_s = (_rounded(spent / scanned.scans) for spent in (eager_s, lazy_s))
    scheme: Scheme = "eager" if is_eager else "lazy"
    ours, other = (eager_s, f"lazily {1e3 * lazy_s:.2g}") if is_eager else (lazy_s, f"eagerly {1e3 * eager_s:.2g}")
    reason = (
        f"{scheme}: {100 * scanned.coalesced:.0f} % of readings coalesce, {100 * arrived.out_of_order:.0f} % come out "
        f"of order, {arrived.readings / scanned.scans:.3g} a slide over {scanned.readings / scanned.scans:.3g}; "
        f"{1e3 * ours:.2g} ms a slide, {other}" + KEPT * (ours > min(eager_s, lazy_s))
    )
    return SchemeChoice(scheme, reason, eager_s, lazy_s)


def _rounded(seconds: float) -> float:
    """Return what is known of it: two digits."""
    return float(f"{seconds:.2g}")
