"""Edges judge offsets between earliest times alike from a table and from a cache."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram, SatisfactionTable, Window
from coincide.joins.search.edge_judges import EdgeJudge
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits
from coincide.templates.codes import TemplateRegistry

CACHE = PairLimits(table=0)
LATE = Histogram.uniform(-3601, -3600)
PROMPT = Histogram.uniform(-2, 0)


def judge_of(
    templates: list[Histogram], limits: PairLimits, window: Window, threshold: float, *, is_unordered: bool = False
) -> EdgeJudge:
    """Return the judge of pairs of these templates, of one registry."""
    registry = TemplateRegistry()
    registry.codes(templates)
    judge = EdgeJudge(window, threshold, registry, registry, limits, is_unordered=is_unordered)
    assert judge.follow()
    return judge


@pytest.mark.parametrize("limits", [USUAL_LIMITS, CACHE])
def test_a_template_that_is_an_hour_late_does_not_widen_the_search_of_others(limits: PairLimits) -> None:
    judge = judge_of([PROMPT, LATE], limits, Window(5), 0.5)
    for bounds in (judge.as_first, judge.as_second):
        assert (bounds.outer_hi_us - bounds.outer_lo_us <= 15_000_000).all()


def test_a_change_of_codes_makes_no_table_beyond_its_limit_even_before_the_first_search() -> None:
    registry = TemplateRegistry()
    judge = EdgeJudge(Window(5), 0.5, registry, registry, CACHE, is_unordered=False)
    registry.codes([PROMPT, LATE])
    judge.recode(None, None)
    one = np.zeros(1, np.int32)
    assert judge.as_first.qualify(one, one, np.array([4_000_000])).all()
    assert judge.look_ups.pairs == 1


@pytest.mark.parametrize("limits", [USUAL_LIMITS, CACHE])
@pytest.mark.parametrize("is_unordered", [False, True])
@given(
    offsets_us=st.lists(st.integers(-8_000_000, 8_000_000), min_size=1, max_size=20),
    window=st.sampled_from([Window(5), Window(0.5), Window(0)]),
    threshold=st.sampled_from([0.05, 0.5, 1.0]),
    lag_s=st.integers(-3, 3),
)
def test_offsets_between_earliest_times_qualify_as_those_between_reported_times(
    limits: PairLimits, is_unordered: bool, offsets_us: list[int], window: Window, threshold: float, lag_s: int
) -> None:
    templates = [PROMPT, Histogram.uniform(lag_s - 1, lag_s)]
    judge = judge_of(templates, limits, window, threshold, is_unordered=is_unordered)
    table = SatisfactionTable.build(templates, templates, window, threshold)
    for u, v in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        for offset_us in offsets_us:
            shifted_us = offset_us + templates[v].earliest_us - templates[u].earliest_us
            codes = np.array([u], np.int32), np.array([v], np.int32)
            is_inside = judge.as_first.outer_lo_us[u] <= shifted_us <= judge.as_first.outer_hi_us[u]
            qualifies = is_inside and bool(judge.as_first.qualify(*codes, np.array([shifted_us]))[0])
            assert qualifies == bool(table.contains(u, v, offset_us))
            backwards = judge.as_second.outer_lo_us[v] <= -shifted_us <= judge.as_second.outer_hi_us[v]
            assert qualifies == (backwards and bool(judge.as_second.qualify(*codes[::-1], np.array([-shifted_us]))[0]))
