"""Equations 1 to 6: counted on extents of certain probabilities, and beside the printed forms."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.coalescing import PAPER
from coincide.coalescing.costs import model
from coincide.coalescing.costs.model import eager_memory, eager_scan, eager_update, lazy_memory, lazy_scan, lazy_update
from coincide.errors import CostError
from tests.reference import printed_cost_model as printed
from tests.reference.counted_extent import extents

LINKS = st.lists(st.integers(0, 1), min_size=1, max_size=30)
WINDOWS = st.integers(2, 8)


@given(LINKS, WINDOWS)
def test_eager_costs_are_the_operations_of_an_extent(links: list[int], w: int) -> None:
    updates, runs_at = eager_update(PAPER, links, [0.0] * len(links), w), model.runs_in_extent(links, w)
    links_at, scans, memory = (
        model.links_in_extent(links, w),
        eager_scan(PAPER, links, w),
        eager_memory(PAPER, links, w),
    )
    for at, (runs, timestamps, work) in enumerate(extents(links, w)):
        assert (runs_at[at], links_at[at]) == (runs, timestamps)
        assert updates[at] == pytest.approx(sum(getattr(PAPER, name) * count for name, count in work.items()))
        assert scans[at] == pytest.approx(PAPER.read_run * runs + PAPER.read_timestamp * timestamps)
        assert memory[at] == pytest.approx(PAPER.run_size * runs + PAPER.timestamp_size * timestamps)


@given(LINKS, WINDOWS)
def test_lazy_costs_are_those_of_a_list_of_the_latest(links: list[int], w: int) -> None:
    deleted, extent = 0, list[int]()
    updates, memory = lazy_update(PAPER, len(links), w), lazy_memory(PAPER, len(links), w)
    scans = lazy_scan(PAPER, links, w)
    for at, link in enumerate(links):
        extent.append(link)
        if len(extent) > w:
            extent.pop(0)
            deleted += 1
        assert updates[at] == pytest.approx((at + 1) * PAPER.insert + deleted * PAPER.delete)
        assert scans[at] == pytest.approx(len(extent) * PAPER.read + sum(extent[1:]) * PAPER.coalesce)
        assert memory[at] == len(extent)


@given(st.lists(st.tuples(st.floats(0.05, 1), st.floats(0, 1)), min_size=1, max_size=20), WINDOWS)
def test_an_update_is_the_sum_of_its_four_cases(probabilities: list[tuple[float, float]], w: int) -> None:
    cp, oop = zip(*probabilities, strict=True)
    total = PAPER.insert_run
    for i in range(1, len(cp)):
        merge = PAPER.merge + PAPER.merge_late * oop[i] * cp[i]
        total += (1 - oop[i]) * (1 - cp[i]) * PAPER.insert_run + (1 - oop[i]) * cp[i] * merge
        total += oop[i] * (1 - cp[i]) * (PAPER.insert_run + PAPER.split * oop[i] / cp[i]) + oop[i] * cp[i] * merge
        if i >= w:
            total += cp[i - w + 1] * PAPER.detach + (1 - cp[i - w + 1]) * PAPER.delete_run
    assert eager_update(PAPER, cp, oop, w)[-1] == pytest.approx(total)


@pytest.mark.parametrize("cp", [0.0, 1.0])
def test_the_first_tuple_costs_an_insertion_whatever_its_probabilities(cp: float) -> None:
    assert eager_update(PAPER, [cp], [1.0], 4).tolist() == [PAPER.insert_run]


def test_late_tuples_cost_without_bound_where_nothing_coalesces() -> None:
    assert eager_update(PAPER, [0, 0], [0.1, 0.1], 4)[-1] == np.inf
    assert np.isfinite(eager_update(PAPER, [0, 0], [0, 0], 4)).all()


def test_nothing_costs_nothing() -> None:
    assert all(len(cost(PAPER, [], 3)) == 0 for cost in (eager_memory, eager_scan, lazy_scan))
    assert len(eager_update(PAPER, [], [], 3)) == len(lazy_update(PAPER, 0, 3)) == 0


class TestAsPrinted:
    def test_equation_1_takes_off_what_never_arrived(self) -> None:
        assert printed.eager_memory(PAPER, [0.5] * 3, w=10) < 0
        assert eager_memory(PAPER, [0.5] * 3, w=10)[-1] == pytest.approx(PAPER.run_size * 2 + PAPER.timestamp_size)

    def test_equation_1_keeps_the_link_of_what_is_gone(self) -> None:
        # 1 | 2 3, and a window of 2: what is left is one run; 2 r_eager undo the first defect
        filled = printed.eager_memory(PAPER, [0.0, 0.0, 1.0], w=2) + 2 * PAPER.run_size
        assert filled == pytest.approx(PAPER.run_size + PAPER.timestamp_size)
        no_run_at_all = printed.eager_memory(PAPER, [0.0, 1.0, 1.0, 1.0], w=2) + 2 * PAPER.run_size
        assert no_run_at_all == pytest.approx(2 * PAPER.timestamp_size)
        corrected = eager_memory(PAPER, [0.0, 1.0, 1.0, 1.0], w=2)[-1]
        assert corrected == pytest.approx(PAPER.run_size + PAPER.timestamp_size)

    def test_equation_3_charges_deletions_before_the_window_is_full(self) -> None:
        assert printed.eager_update(PAPER, [0.0], [0.0], w=10) == PAPER.insert_run + 1
        assert eager_update(PAPER, [0.0], [0.0], w=10)[-1] == PAPER.insert_run

    def test_equation_3_charges_1_instead_of_a_deletion(self) -> None:
        free = replace(PAPER, delete_run=0.0)
        spent = [printed.eager_update(free, [0.0] * n, [0.0] * n, w=2) for n in (50, 51)]
        assert spent[1] - spent[0] == pytest.approx(free.insert_run + 1)
        assert np.diff(eager_update(free, [0.0] * 51, [0.0] * 51, w=2))[-1] == pytest.approx(free.insert_run)

    def test_equation_4_is_of_one_tuple(self) -> None:
        one = printed.lazy_update(PAPER, 1000, w=10)
        assert one == printed.lazy_update(PAPER, 11, w=10)
        assert np.diff(lazy_update(PAPER, 1000, w=10))[-1] == pytest.approx(one)
        # beside Equation 3 lazy updates would always be all but free
        assert one < eager_update(PAPER, [1.0] * 1000, [0.0] * 1000, w=10)[-1] / 100

    def test_equation_5_reads_timestamps_as_tuples(self) -> None:
        ends_only = replace(PAPER, read_timestamp=0.0)
        memory = eager_memory(ends_only, [1.0] * 1000, w=1000)[-1]  # one run of 1,000 tuples
        assert printed.eager_scan(ends_only, memory) > 500 * ends_only.read
        assert eager_scan(ends_only, [1.0] * 1000, w=1000)[-1] == ends_only.read_run
        # the profile "paper" reads by size, which is what the equation says
        assert eager_scan(PAPER, [1.0] * 1000, w=1000)[-1] == pytest.approx(printed.eager_scan(PAPER, memory))

    def test_equation_6_scans_what_is_gone(self) -> None:
        assert printed.lazy_scan(PAPER, [0.0] * 1000) == pytest.approx(1000 * PAPER.read)
        assert lazy_scan(PAPER, [0.0] * 1000, w=10)[-1] == pytest.approx(10 * PAPER.read)


@pytest.mark.parametrize("bad", [[1.5], [-0.1], [float("nan")], ["1"], [[0.5]]])
def test_what_is_no_probability_is_refused(bad: list[float]) -> None:
    with pytest.raises(CostError, match="probabilit"):
        model.runs_in_extent(bad, 3)


@pytest.mark.parametrize("w", [0, -1, 1.5, True])
def test_what_is_no_window_is_refused(w: int) -> None:
    with pytest.raises(CostError, match="at least 1"):
        lazy_update(PAPER, 3, w)


def test_probabilities_must_be_as_many() -> None:
    with pytest.raises(CostError, match="2 rows, as cp has"):
        eager_update(PAPER, [0, 0], [0], 3)


@pytest.mark.parametrize(("field", "cost"), [("read", 0), ("insert_run", 0), ("split", -1), ("merge", float("nan"))])
def test_what_is_no_cost_is_refused(field: str, cost: float) -> None:
    with pytest.raises(CostError, match=f"{field} is"):
        replace(PAPER, **{field: cost})
