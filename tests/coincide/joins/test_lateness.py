import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram
from coincide.joins.lateness import BEFORE_ALL_US, Watermark
from tests.reference.timing_join import Row, watermarks

POINT = Histogram.point()
YEAR_1980, YEAR_2100 = 315_532_800_000_000, 4_102_444_800_000_000

rows = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2, 99_999]),
        st.one_of(st.integers(0, 50), st.sampled_from([YEAR_1980, YEAR_2100, -(2**51), 2**52])),
        st.one_of(st.integers(0, 50), st.just(YEAR_2100)),
    ),
    max_size=30,
)


def advance(watermark: Watermark, part: list[tuple[int, int, int]]) -> list[int]:
    area, latest, received = np.array(part, np.int64).reshape(-1, 3).T
    after: list[int] = watermark.advance(area.astype(np.int32), latest, received).tolist()
    return after


@given(rows, st.integers(0, 30))
def test_equals_the_slow_twin_also_from_its_saved_state(all_rows: list[tuple[int, int, int]], cut: int) -> None:
    watermark = Watermark()
    before = advance(watermark, all_rows[:cut])
    restored = Watermark(watermark.state_us.copy())
    after = advance(watermark, all_rows[cut:])
    slow_rows = [Row(0, "s", latest, POINT, area, None, received) for area, latest, received in all_rows]
    assert before + after == watermarks(slow_rows)
    assert advance(restored, all_rows[cut:]) == after


def test_one_area_can_be_put_back() -> None:
    watermark = Watermark()
    watermark.advance(np.array([0, 1], np.int32), np.array([50, 7]))
    assert watermark.us(7) == BEFORE_ALL_US
    watermark.put(0, BEFORE_ALL_US)
    watermark.put(300, 9)
    assert [watermark.us(area) for area in (0, 1, 2, 300)] == [BEFORE_ALL_US, 7, BEFORE_ALL_US, 9]


def test_areas_that_have_seen_something_can_be_moved_on() -> None:
    watermark = Watermark()
    advance(watermark, [(0, 50, 99), (2, 7, 99)])
    watermark.move_on(np.array([2, 1, 700], np.int32), np.array([5, 5, 5]))
    watermark.move_on(np.array([], np.int32), np.array([], np.int64))
    assert [watermark.us(area) for area in (0, 1, 2, 700)] == [50, BEFORE_ALL_US, 12, BEFORE_ALL_US]
    assert advance(watermark, [(2, 11, 99), (2, 13, 99), (1, 3, 99)]) == [12, 13, 3]
