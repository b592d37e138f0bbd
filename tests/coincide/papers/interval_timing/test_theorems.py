"""What the interval paper proves or uses, on exact probabilities; `P(I + d >= J)` is the deadline `XJ - XI <= d`."""

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability

Interval = tuple[float, float]
TOLERANCE = 1e-12

times = st.integers(-40, 40).map(lambda half: half / 2)
intervals = st.tuples(times, times).map(lambda ends: (min(ends), max(ends)))


def probability(i: Interval, j: Interval, window: Window) -> float:
    return float(match_probability(Histogram.uniform(*i), Histogram.uniform(*j), 0.0, window))


def length(interval: Interval) -> float:
    return interval[1] - interval[0]


@given(intervals, intervals, st.floats(0, 20))
def test_corollary_1_the_later_max_leaves_one_end_to_ask(i: Interval, j: Interval, beyond: float) -> None:
    # Not in the supplied text; as the proof of Theorem 2 uses it.
    earlier, later = sorted((i, j), key=lambda interval: interval[1])
    d = max(length(i), length(j)) + beyond
    both, deadline = probability(earlier, later, Window(d)), probability(earlier, later, Window.deadline(d))
    assert abs(both - deadline) <= TOLERANCE


@given(intervals, intervals, intervals, st.floats(0, 40))
def test_corollary_2_what_holds_for_the_later_holds_for_the_earlier(
    first: Interval, i: Interval, j: Interval, d: float
) -> None:
    earlier, later = (min(i[0], j[0]), min(i[1], j[1])), (max(i[0], j[0]), max(i[1], j[1]))
    deadline = Window.deadline(d)
    assert probability(first, later, deadline) <= probability(first, earlier, deadline) + TOLERANCE


def test_corollary_2_needs_stochastic_order_which_histograms_with_ordered_ends_lack() -> None:
    exact, mostly_late = Histogram.point(), Histogram([0, 9, 10], [0.1, 0.9])
    mostly_early = Histogram([0.5, 1.5, 10.5], [0.9, 0.1])  # both of its ends are later
    within_5_s = Window.deadline(5.0)
    assert match_probability(exact, mostly_early, 0.0, within_5_s) > 0.9
    assert match_probability(exact, mostly_late, 0.0, within_5_s) < 0.1


@given(intervals, st.floats(0, 1), st.floats(0, 1), st.floats(0, 20))
def test_corollary_3_an_interval_that_covers_the_other_is_near_it_for_certain(
    outer: Interval, one: float, other: float, beyond: float
) -> None:
    start, end = sorted(outer[0] + share * length(outer) for share in (one, other))
    assume(end - start == 0 or end - start >= 1e-6)
    assert probability(outer, (start, min(end, outer[1])), Window(length(outer) + beyond)) >= 1 - TOLERANCE


def test_corollary_3_fails_where_the_window_is_shorter_than_the_templates() -> None:
    assert probability((0.0, 10.0), (0.0, 1.0), Window(5.0)) < 0.6


def test_example_1() -> None:
    # Figure 2 is not in the supplied text: intervals as its relations say, I11, I12 and I14 each later at both ends.
    i2, i11, i12, i14 = (0.0, 4.0), (9.0, 13.0), (10.0, 15.0), (11.0, 16.0)
    reached = [probability(i2, j, Window.deadline(10.0)) for j in (i11, i12, i14)]
    assert all(earlier > later for earlier, later in pairwise(reached))
    assert reached[0] < 0.8, "violated, so for I12 and I14, which need not be computed"
    assert reached[1] >= 0.4, "satisfied, so for I11, which need not be computed"
