"""Cells of offsets: their bounds and lengths against the exact searches, which answer for one threshold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Window
from coincide.offsets.long_windows import least_probability
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import offset_lengths_s
from coincide.thresholds.offset_cells import OffsetCells, cells_work
from coincide.thresholds.peaks import attainable_of_pairs
from tests.examples import examples
from tests.reference.templates import MICROSECOND, templates

SECOND = 1.0
some = st.lists(templates(SECOND, 5) | st.just(Histogram.point()), min_size=1, max_size=4)
windows = st.sampled_from([Window(1.0), Window(lo_s=0.5, hi_s=0.5), Window(lo_s=-3, hi_s=0.25), Window(40.0)])


def every_pair(us: list[Histogram]) -> TemplatePairs:
    return TemplatePairs(us, us, *np.divmod(np.arange(len(us) ** 2), len(us)))


@settings(max_examples=examples(60), deadline=None)
@given(some, windows, st.integers(1, 300))
def test_what_is_attained_is_within_the_bounds(us: list[Histogram], window: Window, cells: int) -> None:
    pairs = every_pair(us)
    offsets, most = OffsetCells.of(pairs, window, cells), attainable_of_pairs(pairs, window)[0]
    assert (offsets.at_least <= most + 1e-12).all()
    assert (most <= offsets.at_most + 1e-12).all()


@settings(max_examples=examples(60), deadline=None)
@given(some, windows, st.sampled_from([0.1, 0.37, 0.8]))
def test_lengths_are_those_of_the_exact_search_but_for_a_cell_at_each_end(
    us: list[Histogram], window: Window, threshold: float
) -> None:
    pairs, cells = every_pair(us), 4_096
    offsets, exact_s = OffsetCells.of(pairs, window, cells), offset_lengths_s(pairs, window, threshold)
    ends = 2 * 2 * 12**2  # P turns at every difference of two edges less an end of the window, at most
    assert np.abs(offsets.lengths_s(threshold) - exact_s).max() <= ends * offsets.width_s.max() + 1e-6
    summed = offsets.lengths_s(threshold).sum()
    assert summed == pytest.approx(exact_s.sum(), abs=8 * len(pairs) * offsets.width_s.max() + 1e-6)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(templates(MICROSECOND, 4), min_size=1, max_size=3), st.sampled_from([0.1, 0.37, 0.8]))
def test_cells_of_a_microsecond_are_exact(us: list[Histogram], threshold: float) -> None:
    pairs, window = every_pair(us), Window(2e-6)
    offsets = OffsetCells.of(pairs, window, 512)
    assert offsets.lengths_s(threshold) == pytest.approx(offset_lengths_s(pairs, window, threshold), abs=1e-12)


def test_an_offset_has_the_probability_of_its_cell_and_beyond_the_last_there_is_none() -> None:
    clock = [Histogram.uniform(-1, 1)]
    offsets = OffsetCells.of(every_pair(clock), Window(1), 1_024)
    at = offsets.at(np.zeros(5, np.int64), np.array([0, 1_500_000, -1_500_000, 3_000_001, -3_000_001]))
    assert at[0] == pytest.approx(0.75, abs=1e-3)
    assert at[1] == pytest.approx(at[2], abs=5e-3)
    assert at[3:].tolist() == [0, 0]
    assert (offsets.reach(0.5) == (offsets.probability >= least_probability(0.5))).all()


def test_a_deadline_can_always_be_met() -> None:
    offsets = OffsetCells.of(every_pair([Histogram.uniform(-1, 1)]), Window.delay(0), 8)
    assert (offsets.at_least[0], offsets.at_most[0]) == (1, 1)


def test_work_grows_with_buckets_cells_and_atoms() -> None:
    few, many, atoms = Histogram.uniform(-1, 1), Histogram.normal(1.0, 32), Histogram([0, 0, 1, 2], [0.5, 0.2, 0.3])
    work = [cells_work(every_pair([each]), cells)[0] for each, cells in ((few, 64), (few, 512), (many, 512))]
    assert work == sorted(work)
    assert cells_work(every_pair([atoms]), 512)[0] > cells_work(every_pair([few]), 512)[0]
