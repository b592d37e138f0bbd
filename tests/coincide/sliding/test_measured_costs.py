"""Measured unit costs of sliding extents, by a clock on which every piece of work takes a second."""

from __future__ import annotations

from itertools import count

from benchmarks.coalescing.unit_costs import measure_sliding_costs
from coincide.sliding.choice import SlidingCosts


def test_each_cost_is_that_of_one_reading_or_one_scan() -> None:
    ticks = count()
    assert measure_sliding_costs(lambda: float(next(ticks)), readings=20) == SlidingCosts(
        insert_run=1 / 20,
        merge=1 / 20,
        drop=1 / 20,
        insert_late=0.0,  # no more than one in order
        scan_eager=1.0,
        read_run=0.0,
        insert=1 / 20,
        scan_lazy=1.0,
        read=0.0,
        coalesce_run=0.0,
    )
