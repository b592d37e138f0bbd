import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Histogram, SatisfactionTable, Window, satisfaction_offsets
from coincide.errors import ThresholdError
from tests.reference.templates import templates, thresholds, windows

EITHER = Histogram([0, 1, 9, 10], [0.5, 0.0, 0.5])
template_lists = st.lists(templates(), max_size=3)


def intervals_of(table: SatisfactionTable, i: int, j: int) -> list[list[int]]:
    pair = i * len(table.vs) + j
    intervals: list[list[int]] = table.intervals_us[table.starts[pair] : table.starts[pair + 1]].tolist()
    return intervals


@given(template_lists, template_lists, windows(), thresholds())
def test_each_pair_is_as_if_alone(us: list[Histogram], vs: list[Histogram], window: Window, threshold: float) -> None:
    table = SatisfactionTable.build(us, vs, window, threshold)
    assert table.lo_us.shape == (len(us), len(vs))
    for i, u in enumerate(us):
        for j, v in enumerate(vs):
            alone = satisfaction_offsets(u, v, window, threshold).tolist()
            assert intervals_of(table, i, j) == alone
            hull = [alone[0][0], alone[-1][1]] if alone else [2**61, -(2**61)]
            assert [table.lo_us[i, j], table.hi_us[i, j]] == hull


@given(st.lists(st.lists(templates(), max_size=2), min_size=4, max_size=4), windows(), thresholds())
def test_extending_equals_building_at_once(sides: list[list[Histogram]], window: Window, threshold: float) -> None:
    us, vs, more_us, more_vs = sides
    extended = SatisfactionTable.build(us, vs, window, threshold).extend(more_us, more_vs)
    at_once = SatisfactionTable.build(us + more_us, vs + more_vs, window, threshold)
    assert (extended.us, extended.vs) == (at_once.us, at_once.vs)
    for name in ("intervals_us", "starts", "lo_us", "hi_us", "is_single"):
        assert np.array_equal(getattr(extended, name), getattr(at_once, name)), name


@given(template_lists.filter(len), template_lists.filter(len), windows(), thresholds(), st.data())
def test_contains_agrees_with_the_intervals(
    us: list[Histogram], vs: list[Histogram], window: Window, threshold: float, data: st.DataObject
) -> None:
    table = SatisfactionTable.build(us, vs, window, threshold)
    i, j = data.draw(st.integers(0, len(us) - 1)), data.draw(st.integers(0, len(vs) - 1))
    ends = [end + step for interval in intervals_of(table, i, j) for end in interval for step in (-1, 0, 1)] + [0]
    expected = [any(lo <= offset <= hi for lo, hi in intervals_of(table, i, j)) for offset in ends]
    assert table.contains(i, j, ends).tolist() == expected


def test_pairs_of_several_intervals_are_told_apart() -> None:
    table = SatisfactionTable.build([Histogram.point()], [EITHER, Histogram.point()], Window(1), 0.4)
    assert not table.is_single
    # between the two ends of EITHER there is nothing; the exact time matches within 1 s
    assert table.contains([0, 0, 0], [0, 0, 1], [-500_000, -5_000_000, -500_000]).tolist() == [True, False, True]


def test_no_templates_and_no_offsets_are_empty() -> None:
    assert SatisfactionTable.build([], [EITHER], Window(1), 0.5).lo_us.shape == (0, 1)
    spread = Histogram.uniform(0, 1)
    nothing = SatisfactionTable.build([spread], [spread], Window(0.1), 0.9)
    assert nothing.is_single
    assert not nothing.contains(0, 0, [0]).any()
    assert nothing.lo_us > nothing.hi_us


def test_it_cannot_be_changed_and_its_threshold_is_checked() -> None:
    table = SatisfactionTable.build([EITHER], [EITHER], Window(1), 0.1)
    with pytest.raises(ValueError, match="read-only"):
        table.lo_us[0, 0] = 0
    with pytest.raises(ThresholdError):
        SatisfactionTable.build([EITHER], [EITHER], Window(1), 0.0)


def test_templates_met_in_many_sizes_need_no_order(rng: Generator) -> None:
    us, vs = ([Histogram.normal(float(rng.uniform(0.5, 3)), int(k)) for k in rng.integers(1, 20, 30)] for _ in "uv")
    table = SatisfactionTable.build(us, vs, Window(30), 0.7)
    for i, j in rng.integers(30, size=(40, 2)).tolist():
        assert intervals_of(table, i, j) == satisfaction_offsets(us[i], vs[j], Window(30), 0.7).tolist()
