from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Window, satisfaction_offsets
from coincide.papers.counted_answer import TimingAnswer, qualifies
from coincide.papers.interval_timing.regions import region_tables
from tests.reference.recorded_streams import LONG_WINDOWS, SEVERAL_BUCKETS, SHORT_WINDOWS, UNIFORM, two_streams

windows = st.sampled_from(LONG_WINDOWS + SHORT_WINDOWS + (Window(0.3), Window.deadline(0.3), Window.delay(-2.0)))
thresholds = st.sampled_from([1.0, 1 - 1e-9, 0.999, 0.5, 1 / 3, 0.01, 1e-6, 1e-9])
lengths_us = st.one_of(st.sampled_from([0, 1, 1000]), st.integers(1, 100_000_000))


@settings(max_examples=60)
@given(st.sampled_from(UNIFORM + SEVERAL_BUCKETS), st.sampled_from(UNIFORM + SEVERAL_BUCKETS), windows, thresholds)
def test_a_pair_is_judged_as_its_offset_is(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    intervals = satisfaction_offsets(u, v, window, threshold).tolist()
    for lo_us, hi_us in intervals:
        assert qualifies(u, v, lo_us, window, threshold)
        assert qualifies(u, v, hi_us, window, threshold)
        assert not qualifies(u, v, lo_us - 1, window, threshold)
        assert not qualifies(u, v, hi_us + 1, window, threshold)


@settings(max_examples=80)
@given(lengths_us, lengths_us, thresholds, st.integers(0, 50_000_000))
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
