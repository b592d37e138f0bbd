import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Detections, Histogram, Window, chance_rate, satisfaction_offsets, timing_join
from coincide.arrays.kinds import Int64Array
from coincide.constraints import SensorRule
from coincide.errors import RateError, SensorRuleError, ThresholdError
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds import SensorRate
from coincide.thresholds.chance import offset_lengths_s
from tests.reference.templates import templates, thresholds, windows

LATE = Histogram([-3, -1, 0], [0.3, 0.7])
GAPPED = Histogram([-2, -1, 1, 2], [0.5, 0, 0.5])
STREAMS = {
    "a": [SensorRate("north", LATE, 0.8), SensorRate("south", Histogram.normal(0.5, 6), 0.3)],
    "b": [SensorRate("north", GAPPED, 0.5), SensorRate("east", Histogram.uniform(-4, 0), 1.1)],
}
LONG_S = 20_000.0


def poisson(rng: Generator, rate_hz: float, seconds: float = LONG_S) -> Int64Array:
    return rng.integers(0, round(seconds * 1e6), rng.poisson(rate_hz * seconds))


def detections(sensors: list[SensorRate], draw: Callable[[float], Int64Array]) -> Detections:
    times = [draw(each.rate_hz) for each in sensors]
    which = np.repeat(np.arange(len(sensors)), [len(own) for own in times])
    names = [str(sensors[n].sensor) for n in which.tolist()]
    return Detections(np.concatenate(times), [each.template for each in sensors], which, sensor=names)


def as_counted(sensors: list[SensorRate], batch: Detections) -> list[SensorRate]:
    counts = np.bincount(batch.template_index, minlength=len(sensors)).tolist()
    return [SensorRate(each.sensor, each.template, n / LONG_S) for each, n in zip(sensors, counts, strict=True)]


@pytest.mark.parametrize("sensors", ["different", "same", "any"])
@pytest.mark.parametrize(
    ("second", "window"),
    [("b", Window(2.0)), ("b", Window(lo_s=-1, hi_s=3)), (None, Window(2.0)), (None, Window(lo_s=0.5, hi_s=3))],
)
def test_it_is_the_rate_of_matches_of_independent_streams(
    second: str | None, window: Window, sensors: SensorRule
) -> None:
    rng = np.random.default_rng(1987)
    a = detections(STREAMS["a"], lambda rate_hz: poisson(rng, rate_hz))
    b = None if second is None else detections(STREAMS[second], lambda rate_hz: poisson(rng, rate_hz))
    expected_hz = chance_rate(STREAMS["a"], None if second is None else STREAMS[second], window, 0.4, sensors=sensors)
    found = len(timing_join(a, b, window, 0.4, sensors=sensors))
    # pairs share members, so their number varies more than a Poisson count: about 1 + partners of each times as much
    assert found / LONG_S == pytest.approx(expected_hz, rel=0.04)
    assert found > 5_000


def test_streams_that_burst_together_match_more_often_than_it_says() -> None:
    rng = np.random.default_rng(7)
    # each minute is quiet or busy, for both streams alike: a common factor of mean 1 and variance 0.6
    factor = rng.choice([1 - math.sqrt(0.6), 1 + math.sqrt(0.6)], round(LONG_S / 60))

    def bursting(rate_hz: float) -> Int64Array:
        return np.concatenate([60_000_000 * n + poisson(rng, rate_hz * f, 60.0) for n, f in enumerate(factor)])

    a, b = (detections(STREAMS[name], bursting) for name in ("a", "b"))
    rates_a, rates_b = (as_counted(STREAMS[name], batch) for name, batch in (("a", a), ("b", b)))
    matches_hz = len(timing_join(a, b, Window(2.0), 0.4)) / LONG_S
    assert matches_hz / chance_rate(rates_a, rates_b, Window(2.0), 0.4) == pytest.approx(1.6, rel=0.1)


@given(templates(), templates(), windows(), thresholds())
def test_one_pair_of_sensors_by_hand(u: Histogram, v: Histogram, window: Window, threshold: float) -> None:
    one, other = SensorRate("one", u, 2.0), SensorRate("other", v, 0.25)
    intervals = satisfaction_offsets(u, v, window, threshold)
    seconds = sum(right - left + 1 for left, right in intervals.tolist()) / 1e6
    assert chance_rate([one], [other], window, threshold) == pytest.approx(0.5 * seconds)
    assert chance_rate([one], [other], window, threshold, sensors="same") == 0.0


@given(st.lists(st.tuples(templates(), templates(), thresholds()), min_size=1, max_size=4), windows())
def test_a_threshold_for_each_pair_is_each_pair_alone(pairs: list[Any], window: Window) -> None:
    us, vs, each = zip(*pairs, strict=True)
    at = np.arange(len(pairs))
    together = offset_lengths_s(TemplatePairs(us, vs, at, at), window, np.array(each))
    alone = [offset_lengths_s(TemplatePairs([u], [v], at[:1], at[:1]), window, p)[0] for u, v, p in pairs]
    assert together.tolist() == alone


def test_a_sensor_without_a_name_differs_from_itself_and_no_sensors_have_no_matches() -> None:
    unknown = [SensorRate(None, Histogram.point(), 3.0)]
    # 10 s of offsets, half of 3 * 3 pairs a second
    assert chance_rate(unknown, None, Window(5), 0.5) == pytest.approx(45.0, rel=1e-6)
    assert chance_rate([SensorRate("named", Histogram.point(), 3.0)], None, Window(5), 0.5) == 0.0
    assert [chance_rate([], other, Window(5), 0.5) for other in (STREAMS["b"], None)] == [0.0, 0.0]


def test_chance_pairs_as_probable_as_the_first_neutrinos_of_sn1987a() -> None:
    imb = SensorRate("imb", Histogram.uniform(-0.05, 0.05), 1 / 3600)
    baksan = SensorRate("baksan", Histogram.uniform(-54, 2), 10 / 3600)
    # 20 s of 56 s are in the window wherever it lies inside them: 56 - 20 - 0.1 s of offsets
    assert chance_rate([imb], [baksan], Window(10), 20 / 56) == pytest.approx(35.9 * 10 / 3600**2, rel=1e-6)


@pytest.mark.parametrize("rate_hz", [-1.0, math.nan, math.inf, "1"])
def test_a_rate_that_is_none_is_refused(rate_hz: float) -> None:
    with pytest.raises(RateError, match=r"^rate_hz is "):
        SensorRate("north", LATE, rate_hz)


def test_a_threshold_or_rule_that_is_none_is_refused() -> None:
    with pytest.raises(ThresholdError):
        chance_rate(STREAMS["a"], STREAMS["b"], Window(1), 0.0)
    with pytest.raises(SensorRuleError):
        chance_rate(STREAMS["a"], STREAMS["b"], Window(1), 0.5, sensors="others")  # type: ignore[arg-type]
