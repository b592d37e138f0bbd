import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Window, match_probability, satisfaction_offsets
from coincide.joins.retention import ROUNDING_US
from coincide.papers.counted_answer import TimingAnswer, qualifies
from coincide.papers.interval_timing.regions import Regions, RegionTable, difference_quantile, region_tables
from tests.examples import examples
from tests.reference.recorded_streams import LONG_WINDOWS, SEVERAL_BUCKETS, SHORT_WINDOWS, UNIFORM, two_streams

BASE_US = 100_000_000
NEAR_US = 2 * ROUNDING_US + 2  # past the rounding of a bound and of the intervals' ends

lengths_s = st.sampled_from([0.0, 0.001, 1.0, 2.5, 4.0])
sixteenths = st.integers(0, 16).map(lambda k: k / 16)
thresholds = st.sampled_from([1.0, 0.999_999, 0.75, 0.5, 0.2, 0.001])
long_windows = st.sampled_from([Window(8), Window(lo_s=-1, hi_s=14), Window(lo_s=5, hi_s=13)])
any_templates = st.sampled_from(UNIFORM + SEVERAL_BUCKETS)
any_windows = st.sampled_from(LONG_WINDOWS + SHORT_WINDOWS + (Window(0.3), Window.deadline(0.3), Window.delay(-2.0)))
any_thresholds = st.sampled_from([1.0, 1 - 1e-9, 0.999, 0.5, 1 / 3, 0.01, 1e-6, 1e-9])
lengths_us = st.one_of(st.sampled_from([0, 1, 1000]), st.integers(1, 100_000_000))


def table_and_regions(
    base_s: float, rho_s: float, pi_s: float, window: Window, threshold: float
) -> tuple[RegionTable, Regions]:
    base = Detections([BASE_US], [Histogram.uniform(-base_s, 0)])
    partners = Detections([], [Histogram.uniform(-rho_s, 0), Histogram.uniform(-pi_s, 0)])
    recording = two_streams(base, partners)
    table = region_tables(TimingAnswer(recording, window, threshold))["a"]
    return table, table.of(recording.events[0])


def qualifies_at(max_us: int, base_s: float, length_s: float, window: Window, threshold: float) -> bool:
    """Whether a partner of this length and max matches a base event of that length."""
    base, partner = Histogram.uniform(-base_s, 0), Histogram.uniform(-length_s, 0)
    return qualifies(base, partner, max_us - BASE_US, window, threshold)


@settings(max_examples=examples(100))
@given(lengths_s, lengths_s, lengths_s, long_windows, thresholds, sixteenths, sixteenths)
def test_inside_every_partner_matches_and_outside_none(
    base_s: float, one_s: float, other_s: float, window: Window, threshold: float, share: float, where: float
) -> None:
    rho_s, pi_s = sorted((one_s, other_s))
    _, regions = table_and_regions(base_s, rho_s, pi_s, window, threshold)
    inside_us = round(regions.ll_us + where * (regions.rl_us - regions.ll_us))
    for length_s in (rho_s, rho_s + share * (pi_s - rho_s), pi_s):
        question = base_s, length_s, window, threshold
        if regions.ll_us <= regions.rl_us:
            assert all(qualifies_at(at_us, *question) for at_us in (regions.ll_us, inside_us, regions.rl_us))
        assert not any(qualifies_at(at_us, *question) for at_us in (regions.lh_us - 1, regions.rh_us + 1))


@pytest.mark.parametrize("threshold", [0.9, 0.5, 0.1])
def test_each_bound_is_the_tightest_that_the_longest_and_the_shortest_allow(threshold: float) -> None:
    _, regions = table_and_regions(4.0, 1.0, 3.0, Window(10), threshold)
    shortest, longest = (4.0, 1.0, Window(10), threshold), (4.0, 3.0, Window(10), threshold)
    assert qualifies_at(regions.lh_us + NEAR_US, *shortest), "LH, the outer bound on the left, is of the shortest"
    assert not qualifies_at(regions.ll_us - NEAR_US, *longest), "LL, the certain bound on the left, is of the longest"
    assert not qualifies_at(regions.rl_us + NEAR_US, *shortest), "RL, the certain bound on the right, of the shortest"
    assert qualifies_at(regions.rh_us - NEAR_US, *longest), "RH, the outer bound on the right, is of the longest"
    assert regions.lh_us < regions.ll_us < regions.rl_us < regions.rh_us


@pytest.mark.parametrize("threshold", [1.0, 0.7, 0.2])
def test_of_all_base_events_with_one_max_the_longest_reaches_furthest_to_the_left(threshold: float) -> None:
    clocks = [Histogram.uniform(-4, 0), Histogram.uniform(-2.5, 0), Histogram.uniform(-1, 0)]
    base = Detections([BASE_US] * 3, clocks, [0, 1, 2])
    recording = two_streams(base, Detections([], [Histogram.uniform(-1, 0), Histogram.uniform(-3, 0)]))
    table = region_tables(TimingAnswer(recording, Window(10), threshold))["a"]
    each = [table.of(event) for event in recording]
    widest, narrowest = table.widest(BASE_US), table.narrowest(BASE_US)
    assert widest.lh_us <= min(regions.lh_us for regions in each)
    assert widest.rl_us <= min(regions.rl_us for regions in each)
    assert narrowest.ll_us >= max(regions.ll_us for regions in each)
    assert narrowest.rh_us >= max(regions.rh_us for regions in each)


def test_in_a_window_shorter_than_the_templates_nothing_is_certain() -> None:
    _, regions = table_and_regions(4.0, 1.0, 3.0, Window(3.4), 0.5)
    assert regions.ll_us > regions.rh_us, "all of [LH, RH] is left of LL, to be probed"


@given(st.floats(0, 1), st.sampled_from([0.0, 1.0, 3.0]), st.sampled_from([0.0, 1.0, 5.0]))
def test_the_quantile_of_a_difference_against_its_cdf(p: float, one_s: float, other_s: float) -> None:
    quantile_s = difference_quantile(p, one_s, other_s)
    # one in [-one, 0], other in [0, other]: other - one in [0, one + other]
    one, other = Histogram.uniform(-one_s, 0), Histogram.uniform(0, other_s)
    assert 0 <= quantile_s <= one_s + other_s
    if one_s or other_s:
        assert match_probability(one, other, 0.0, Window.deadline(quantile_s)) == pytest.approx(p, abs=1e-12)


@settings(max_examples=examples(60))
@given(any_templates, any_templates, any_windows, any_thresholds)
def test_a_pair_is_judged_as_its_offset_is(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    intervals = satisfaction_offsets(u, v, window, threshold).tolist()
    for lo_us, hi_us in intervals:
        assert all(qualifies(u, v, offset_us, window, threshold) for offset_us in (lo_us, hi_us))
        assert not any(qualifies(u, v, offset_us, window, threshold) for offset_us in (lo_us - 1, hi_us + 1))


@settings(max_examples=examples(80))
@given(lengths_us, lengths_us, any_thresholds, st.integers(0, 50_000_000))
def test_regions_hold_to_the_microsecond(base_us: int, partner_us: int, threshold: float, window_us: int) -> None:
    # one template a side: outer and certain bounds differ by their rounding only, and the truth lies between them
    u, v = Histogram.uniform(-base_us / 1e6, 0), Histogram.uniform(-partner_us / 1e6, 0)
    window = Window((base_us + partner_us + window_us) / 2e6)
    recording = two_streams(Detections([0], [u]), Detections([], [v]))
    regions = region_tables(TimingAnswer(recording, window, threshold))["a"].of(recording.events[0])
    intervals = satisfaction_offsets(u, v, window, threshold).tolist()
    assume(len(intervals) == 1)
    ((least_us, greatest_us),) = intervals
    assert regions.lh_us <= least_us
    assert greatest_us <= regions.rh_us
    if regions.ll_us <= regions.rl_us:
        assert least_us <= regions.ll_us
        assert regions.rl_us <= greatest_us
