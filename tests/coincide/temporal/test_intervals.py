import pytest

from coincide import coalesce
from coincide.errors import IntervalError
from coincide.temporal import NOW_US, Facts, Intervals, SlidingWindows, cast_duration, duration_us


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [([0, 5], [1, 5], r"end_us\[1\] is 5"), ([3], [2], "later than"), ([0.5], [1], "whole"), ([[0]], [[1]], "shape")],
)
def test_what_is_no_interval_is_refused(start: list[int], end: list[int], said: str) -> None:
    with pytest.raises(IntervalError, match=said):
        Intervals(start, end)


def test_what_still_holds_lasts_until_now() -> None:
    held = Intervals([0, 4], [3, NOW_US])
    assert held.is_open.tolist() == [False, True]
    assert duration_us(held, now_us=9).tolist() == [3, 5]
    with pytest.raises(IntervalError, match="now_us is None"):
        duration_us(held)
    with pytest.raises(IntervalError, match="later than the start, 4"):
        held.at(4)


def test_a_cast_cuts_off() -> None:
    assert cast_duration([0, 3_599_999_999, 3_600_000_000], "hour").tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("duration", "unit", "said"),
    [(1, "month", "unit is"), (1, "minutes", "unit is"), (1, "", "unit"), (-1, "hour", "-1")],
)
def test_units_of_no_fixed_length_and_durations_below_0_are_refused(duration: int, unit: str, said: str) -> None:
    with pytest.raises(IntervalError, match=said):
        cast_duration([duration], unit)


def test_runs_without_length_are_no_facts() -> None:
    facts = Facts.of(coalesce([0, 5, 5], [5, 5, 9], ["a", "a", "b"], [1, 2, 3]))
    assert (facts.group.tolist(), facts.value.tolist()) == (["a", "b"], [1, 3])


@pytest.mark.parametrize("column", [{"group": [1.5]}, {"group": ["a", "b"]}, {"value": [None]}, {"value": [[1]]}])
def test_columns_that_fit_no_facts_are_refused(column: dict[str, list[object]]) -> None:
    with pytest.raises(IntervalError, match=next(iter(column))):
        Facts([0], [1], **column)  # type: ignore[arg-type]


@pytest.mark.parametrize(("end", "size"), [([2, 1], 1), ([1, 1], 1), ([1], 0), ([1], 1.5), ([0.5], 1)])
def test_what_are_no_windows_is_refused(end: list[int], size: int) -> None:
    with pytest.raises(IntervalError):
        SlidingWindows(end, size)
    with pytest.raises(IntervalError, match="slide_us is 0"):
        SlidingWindows.sliding(0, 10, size_us=5, slide_us=0)
