"""Measured unit costs, by a clock on which every piece of work takes a second."""

from __future__ import annotations

from itertools import count

import pytest

from benchmarks.coalescing_unit_costs import measure_costs
from coincide.coalescing.scheme_costs import DistinctQuery, Weights, scheme_costs


def test_each_cost_is_that_of_one_tuple() -> None:
    ticks = count()
    costs = measure_costs(lambda: float(next(ticks)), w=20, rounds=2)
    assert [costs.insert, costs.insert_run, costs.merge, costs.read, costs.read_run] == [1e6 / 20] * 5
    assert costs.split == 1e6 / 2 - costs.insert_run  # a tenth of the tuples comes late
    assert costs.read_timestamp == pytest.approx(1e6 / 20)  # the one run of 20: one read, 19 further timestamps
    assert [costs.delete, costs.delete_run, costs.detach, costs.merge_late, costs.coalesce] == [0.0] * 5


def test_a_machine_s_own_costs_make_a_selection() -> None:
    costs = scheme_costs([DistinctQuery(0.9, 0.1)], Weights(1, 1, 1), measure_costs(w=20, rounds=1), w=20, k=100)
    assert 0 < costs.eager[0] < 100
    assert 0 < costs.lazy_scan[0] < 100


def test_memory_is_that_of_an_extent() -> None:
    costs = measure_costs(w=1000, rounds=1)
    assert 0 < costs.timestamp_size < costs.run_size
    assert costs.tuple_size > 0
