"""Measured unit costs of sliding extents, by a clock on which every piece of work takes a second."""

from itertools import count

from coincide.sliding.choice import SlidingCosts
from coincide.sliding.measured_costs import ROUNDS, measure_sliding_costs


def test_each_cost_is_that_of_one_reading_or_one_scan() -> None:
    ticks = count()
    a_reading = dict.fromkeys(("insert_run", "merge", "drop", "insert"), 1 / 20)
    a_scan = {"scan_eager": 1.0, "scan_lazy": 1.0, "read_run": 0.0, "read": 0.0, "coalesce_run": 0.0}
    costs = SlidingCosts(insert_late=0.0, **a_reading, **a_scan)  # a late one costs no more than one in order
    assert measure_sliding_costs(lambda: float(next(ticks)), readings=20) == costs
    assert next(ticks) == 2 * 10 * ROUNDS  # the work is the same on every machine, so a start takes no longer
