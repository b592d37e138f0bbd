"""Measured unit costs, by a clock on which every piece of work takes a second."""

from itertools import count
from time import process_time

import pytest

from coincide.coalescing import PAPER, DistinctQuery, Weights, measure_costs, scheme_costs, select_schemes


def test_each_cost_is_that_of_one_tuple() -> None:
    ticks = count()
    costs = measure_costs(lambda: float(next(ticks)), w=20, rounds=2)
    assert [costs.insert, costs.insert_run, costs.merge, costs.read, costs.read_run] == [1e6 / 20] * 5
    assert costs.split == 1e6 / 2 - costs.insert_run  # a tenth of the tuples comes late
    assert costs.read_timestamp == pytest.approx(1e6 / 20)  # the one run of 20: one read, 19 further timestamps
    assert [costs.delete, costs.delete_run, costs.detach, costs.merge_late, costs.coalesce] == [0.0] * 5


def test_a_machine_s_own_costs_make_a_selection_as_the_paper_s_do() -> None:
    queries = [DistinctQuery(0.9, 0.1), DistinctQuery(0.1, 0.5)]
    for profile in (PAPER, measure_costs(process_time, w=20, rounds=1)):
        costs = scheme_costs(queries, Weights(1, 1, 1), profile, w=20, k=100)
        assert ((costs.eager > 0) & (costs.eager < 1000)).all()
        assert ((costs.lazy_scan > 0) & (costs.lazy_scan < 1000)).all()
        assert 0 < select_schemes(costs).cost <= costs.eager.sum()


def test_memory_is_that_of_an_extent() -> None:
    single = measure_costs(process_time, w=200, rounds=1, rows_a_push=1)
    columnar = measure_costs(process_time, w=1000, rounds=1, rows_a_push=1000)
    assert 0 < single.timestamp_size < single.run_size
    assert 0 < columnar.tuple_size < columnar.run_size  # a lazy extent has no columns for links
    assert columnar.run_size == pytest.approx(columnar.timestamp_size, rel=0.2)  # its columns do not depend on values
