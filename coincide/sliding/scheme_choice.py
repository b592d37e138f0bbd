"""Scheme choice: which rules of a source to coalesce eagerly, decided anew as what is measured drifts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from coincide.coalescing.selection import cost_of, select_schemes
from coincide.sliding.measures import Arrived, Scanned
from coincide.sliding.sliding_costs import SlidingCosts

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
    arrived: Arrived, scanned: Sequence[Scanned], chosen: Sequence[SchemeChoice], costs: SlidingCosts
) -> list[SchemeChoice]:
    """Return the choice for each rule of a source: the cheapest by the cost model, if it is worth switching.

    Parameters
    ----------
    arrived : Arrived
        What the rules share.
    scanned : sequence of Scanned
        By rule.
    chosen : sequence of SchemeChoice
        As it is now, by rule.
    costs : SlidingCosts

    Examples
    --------
    A slide for every reading, and long runs:

    >>> from coincide.sliding.sliding_costs import TYPICAL
    >>> scanned = Scanned(scans=1000, readings=100_000, groups=1000, runs=3000)
    >>> [choice] = choose_schemes(Arrived(1000, 20), [scanned], [SchemeChoice()], TYPICAL)
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


def _choice(arrived: Arrived, scanned: Scanned, is_eager: bool, eager_s: float, lazy_s: float) -> SchemeChoice:
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
