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
    """Seconds for one operation on an extent: finite, at least 0."""

    insert_run: float  # a reading begins a run of an eager extent,
    merge: float  # goes on from another,
    drop: float  # or is dropped in the end
    insert_late: float  # more if a later one of its group is there: a search, and a shift of all behind it
    scan_eager: float
    read_run: float  # each run of that scan
    insert: float  # a reading is put into a lazy extent and dropped in the end
    scan_lazy: float
    read: float  # each reading of that scan
    coalesce_run: float  # each run that they make

    def __post_init__(self) -> None:
        refuse_unless_costs(self, "a finite number of seconds")

    def of(self, arrived: ArrivalCounts, scanned: Sequence[ScanCounts]) -> SchemeCosts:
        """Return what was spent on each rule, or would have been: the coalescing paper's Equations 3 to 6.

        With constant probabilities they are sums of counts; here the counts are at hand. As printed there, splitting a
        run costs without end where hardly anything coalesces; in sorted arrays a late reading costs a shift. `arrived`
        counts the readings that all rules share, `scanned` the scans of each rule.
        """
        eager, lazy = [], []
        for each in scanned:
            update = self._update(arrived, each)
            eager.append(arrived.readings * update + (each.scans * self.scan_eager + each.runs * self.read_run))
            lazy.append(each.scans * self.scan_lazy + each.readings * self.read + each.runs * self.coalesce_run)
        return SchemeCosts(np.array(eager), np.array(lazy), arrived.readings * self.insert)

    def _update(self, arrived: ArrivalCounts, scanned: ScanCounts) -> float:
        """Return what a reading costs that comes and goes."""
        coalesced = scanned.coalesced
        begun = (1 - coalesced) * self.insert_run + coalesced * self.merge
        return begun + arrived.out_of_order * self.insert_late + self.drop


TYPICAL = SlidingCosts(
    insert_run=3.1e-6,
    merge=1.6e-6,
    drop=1.5e-6,
    insert_late=1.5e-6,
    scan_eager=38e-6,
    read_run=0.7e-6,
    insert=0.1e-6,
    scan_lazy=130e-6,
    read=0.07e-6,
    coalesce_run=0.07e-6,
)
"""As ``python -m benchmarks sliding_unit_costs`` measures them on one core of a small server, rounded.

They have nothing of `coalescing.PAPER`, which was fitted to printed choices. Cores go by them that nobody gave others;
the fusion job measures its own with `measure_sliding_costs` when it starts. No answer depends on either.
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


def _choice(arrived: ArrivalCounts, scanned: ScanCounts, is_eager: bool, eager_s: float, lazy_s: float) -> SchemeChoice:
    if scanned.scans < FEWEST_SCANS:
        return SchemeChoice()
    eager_s, lazy_s = (float(f"{spent / scanned.scans:.2g}") for spent in (eager_s, lazy_s))  # two digits are known
    scheme: Scheme = "eager" if is_eager else "lazy"
    ours, other = (eager_s, f"lazily {1e3 * lazy_s:.2g}") if is_eager else (lazy_s, f"eagerly {1e3 * eager_s:.2g}")
    kept = "; to switch would gain less than a fifth over all queries that read alike"
    reason = (
        f"{scheme}: {100 * scanned.coalesced:.0f} % of readings coalesce, {100 * arrived.out_of_order:.0f} % come out "
        f"of order, {arrived.readings / scanned.scans:.3g} a slide over {scanned.readings / scanned.scans:.3g}; "
        f"{1e3 * ours:.2g} ms a slide, {other}" + kept * (ours > min(eager_s, lazy_s))
    )
    return SchemeChoice(scheme, reason, eager_s, lazy_s)
