"""The grid of keys answers as np.searchsorted does, wherever keys and bounds lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Detections, Histogram, Window, timing_join
from coincide.joins.keys import LEAST_KEYS, KeyGrid, Side, search_in

keys_at = st.one_of(st.integers(0, 40), st.integers(0, 2**63 - 2))


@given(
    st.lists(keys_at, min_size=1), st.lists(st.one_of(keys_at, st.just(2**63 - 1))), st.sampled_from(["left", "right"])
)
def test_equals_searchsorted(keys: list[int], bounds: list[int], side: Side) -> None:
    in_order, sought = np.array(sorted(keys), np.int64), np.array(bounds, np.int64)
    assert KeyGrid.over(in_order).positions(sought, side).tolist() == np.searchsorted(in_order, sought, side).tolist()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("spread", [10, 10**4, 10**12], ids="up to {}".format)
def test_many_keys_crowded_or_not(spread: int, side: Side) -> None:
    rng = np.random.default_rng(spread)
    keys = np.sort(rng.integers(10**15, 10**15 + spread, 5 * LEAST_KEYS))
    bounds = rng.integers(10**15 - spread, 10**15 + 2 * spread, len(keys))
    found = search_in(keys, len(bounds))(bounds, side)
    assert KeyGrid.over(keys).is_crowded == (spread == 10)
    assert (found == np.searchsorted(keys, bounds, side)).all()


def test_many_areas_and_bursts_give_the_same_pairs_as_one_search_each() -> None:
    rng = np.random.default_rng(9)
    time_us, area = rng.integers(0, 10**8, (2, 3_000)), rng.integers(0, 3, (2, 3_000))
    time_us[:, ::3] //= 10**4  # a third of the events within 10 ms
    a, b = (Detections(t, [Histogram.point()], area=of) for t, of in zip(time_us, area, strict=True))
    pairs = timing_join(a, b, Window(0.02), 1)
    apart_us = np.abs(time_us[0][:, None] - time_us[1])
    expected = np.argwhere((apart_us <= 20_000) & (area[0][:, None] == area[1]))
    assert (np.column_stack((pairs.left, pairs.right)) == expected).all()
