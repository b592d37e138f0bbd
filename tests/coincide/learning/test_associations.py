import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Window
from coincide.errors import DetectionsError, WindowError
from coincide.learning import errors_against
from tests.reference.learning import clear_errors_s

times = st.lists(st.integers(0, 400), max_size=25).map(lambda values: [value * 100_000 for value in values])
bounds = st.tuples(st.integers(-30, 30), st.integers(1, 30)).map(lambda of: (of[0] / 10, (of[0] + of[1]) / 10))


@given(times, times, bounds)
def test_the_errors_are_those_that_nobody_can_doubt(
    detected_us: list[int], reference_us: list[int], within: tuple[float, float]
) -> None:
    window = Window(lo_s=within[0], hi_s=within[1])
    expected, ambiguous, unmatched = clear_errors_s(detected_us, reference_us, window.lo_us, window.hi_us)
    found = errors_against(detected_us, reference_us, window)
    assert dict(zip(found.row.tolist(), found.error_s.tolist(), strict=True)) == expected
    assert (found.ambiguous, found.unmatched) == (ambiguous, unmatched)
    times_s = (np.array(reference_us, np.int64)[found.reference] - np.array(detected_us, np.int64)[found.row]) / 1e6
    assert times_s.tolist() == found.error_s.tolist()


@given(times, times)
def test_the_order_of_rows_does_not_matter(detected_us: list[int], reference_us: list[int]) -> None:
    one = errors_against(detected_us, reference_us, Window(1))
    other = errors_against(detected_us[::-1], reference_us[::-1], Window(1))
    assert one.error_s.tolist() == other.error_s.tolist()
    assert (one.ambiguous, one.unmatched) == (other.ambiguous, other.unmatched)


def test_a_report_that_comes_late_has_an_error_below_zero() -> None:
    assert errors_against([5_000_000], [3_000_000], Window(10)).error_s.tolist() == [-2.0]


def test_two_references_or_two_reports_are_ambiguous() -> None:
    assert errors_against([0], [1, 2], Window(1)).ambiguous == 1
    assert errors_against([0, 1], [2], Window(1)).ambiguous == 2


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(DetectionsError, match="detected_at_us"):
        errors_against([0.5], [1], Window(1))
    for window in (Window(0), Window.delay(3), 5.0):
        with pytest.raises(WindowError):
            errors_against([0], [1], window)  # type: ignore[arg-type]
