from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Network, Window, evidence_of
from coincide.errors import CoincideError, HistogramError, OffsetError, RateError
from coincide.evidence import evidence_columns, posterior_of
from tests.examples import examples
from tests.reference.evidence import bits_of, density_of_one_moment
from tests.reference.templates import templates

CLOCK = Histogram.uniform(-1, 1)
NAMES = ("a", "b", "c", "d")
shares = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=40)
rates_hz = st.fractions(min_value=Fraction(1, 10**5), max_value=10, max_denominator=10**5)


@settings(max_examples=examples(150))
@given(st.data(), st.permutations(range(4)), st.integers(2, 4), rates_hz)
def test_bits_are_the_log_of_the_products(
    data: st.DataObject, order: list[int], count: int, events_hz: Fraction
) -> None:
    heard_by, unpaired_hz = ([data.draw(each) for _ in NAMES] for each in (shares, rates_hz))
    alive = frozenset(data.draw(st.sets(st.sampled_from(range(4)))))
    members = [data.draw(templates()) for _ in range(count)]
    times_us = [data.draw(st.integers(-9, 9)) * 10**6 + place for place in range(count)]
    place = order[:count]
    network = Network(
        NAMES, float(events_hz), [float(each) for each in heard_by], [float(each) for each in unpaired_hz]
    )
    names = [NAMES[each] for each in place]
    found = evidence_of(network, members, times_us, names, live=[NAMES[each] for each in alive])
    # in the order of the members, then of those who are silent
    silent = alive - set(place)
    all_of = [*place, *sorted(silent)]
    exact = bits_of(
        events_hz,
        [heard_by[each] for each in all_of],
        [unpaired_hz[each] for each in all_of],
        density_of_one_moment(members, times_us),
        frozenset(range(count, len(all_of))),
    )
    assert found.bits is not None
    assert found.posterior is not None
    assert found.bits == pytest.approx(exact, abs=1e-6)
    assert sum(term.bits for term in found.terms) == pytest.approx(found.bits)
    assert found.posterior == pytest.approx(1 / (1 + 2.0**-exact) if exact > -900 else 0, abs=1e-6)
    assert 0 <= found.posterior <= 1
    assert len(found.terms) == 2 + count + len(silent)


@given(st.permutations(range(3)))
def test_the_order_of_members_does_not_matter(order: list[int]) -> None:
    network = Network(NAMES, 0.01, [0.5, 0.6, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4])
    clocks, times_us = [CLOCK, Histogram.normal(1), Histogram.uniform(0, 3)], [0, 300_000, -1_000_000]
    expected = evidence_of(network, clocks, times_us, NAMES[:3]).bits
    chosen = ([each[at] for at in order] for each in (clocks, times_us, NAMES))
    assert evidence_of(network, *chosen).bits == pytest.approx(expected)  # type: ignore[arg-type]


def test_more_noise_lowers_bits_and_so_does_a_sensor_that_is_alive_and_silent() -> None:
    def bits(noise_hz: float, live: list[str] | None) -> float:
        network = Network.of_noise(NAMES, 0.01, 0.8, noise_hz)
        return evidence_of(network, [CLOCK] * 2, [0, 10], live=live).bits or 0.0

    of_noise = [bits(noise_hz, None) for noise_hz in (0.0, 0.01, 0.1, 1.0)]
    assert of_noise == sorted(of_noise, reverse=True)
    of_silence = [bits(0.1, live) for live in ([], ["a", "b"], ["c"], ["c", "d"])]
    assert of_silence[0] == of_silence[1] > of_silence[2] > of_silence[3]


def test_a_sensor_that_hears_all_is_never_silent() -> None:
    network = Network(NAMES[:3], 0.01, [0.5, 0.5, 1.0], 0.1)
    found = evidence_of(network, [CLOCK] * 2, [0, 10])
    assert (found.bits, found.posterior) == (-np.inf, 0.0)


def test_times_that_no_event_explains() -> None:
    found = evidence_of(Network(NAMES[:2], 0.01, 0.5, 0.1), [CLOCK] * 2, [0, 2_500_000])
    assert (found.bits, found.posterior) == (-np.inf, 0.0)
    assert found.terms[-1].sentence == "No one event makes reports at these distances."


@pytest.mark.parametrize(
    ("events_hz", "unpaired_hz", "unknown"),
    [
        (None, [0.1, 0.1, None], "rate_of_events"),
        (None, None, "rate_of_events"),
        (0.1, [0.1, None, 0.1], "rate_of_unpaired_detections"),
        (0.1, None, "rate_of_unpaired_detections"),
        (0.1, [0.1, 0.1, None], None),
    ],
)
def test_a_rate_that_is_not_known_makes_null_and_says_why(events_hz: Any, unpaired_hz: Any, unknown: Any) -> None:
    found = evidence_of(Network(NAMES[:3], events_hz, 0.5, unpaired_hz), [CLOCK] * 2, [0, 10])
    assert found.unknown == unknown
    assert (found.bits is None, found.posterior is None, found.terms == ()) == (unknown is not None,) * 3


def test_columns_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    network = Network(NAMES, 0.01, [0.5, 0.6, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4])
    sensor = np.array([rng.permutation(4)[:3] for _ in range(60)]).T
    sensor[2, ::2] = -1
    index = np.where(sensor >= 0, rng.integers(0, 2, sensor.shape), -1)
    times_us = rng.integers(0, 500_000, sensor.shape)
    live = rng.random((4, 60)) < 0.5
    own_hz = rng.uniform(0.1, 1, sensor.shape)
    clocks = [CLOCK, Histogram.normal(0.5)]
    for rates in (None, own_hz):
        found = evidence_columns(
            network, clocks, index, times_us, sensor, travel=Window(0.5), live=live, unpaired_hz=rates
        )
        assert len(found) == 60
        for column in range(60):
            here = np.flatnonzero(sensor[:, column] >= 0)
            unpaired_hz = network.unpaired_hz.copy()
            if rates is not None:
                unpaired_hz[sensor[here, column]] = rates[here, column]
            own = Network(NAMES, 0.01, network.heard_by, unpaired_hz)
            alone = evidence_of(
                own,
                [clocks[each] for each in index[here, column]],
                times_us[here, column].tolist(),
                [NAMES[each] for each in sensor[here, column]],
                travel=Window(0.5),
                live=[NAMES[each] for each in np.flatnonzero(live[:, column])],
            )
            assert found.bits[column] == pytest.approx(alone.bits)
            assert found.posterior[column] == pytest.approx(alone.posterior)


@given(st.floats(-3_000, 3_000))
def test_the_posterior_of_bits_is_a_probability(bits: float) -> None:
    assert 0 <= float(posterior_of(bits)) <= 1
    assert float(posterior_of(bits) + posterior_of(-bits)) == pytest.approx(1)


TWO = Network(NAMES[:2], 0.01, 0.5, 0.1)


@pytest.mark.parametrize(
    ("door", "error", "field"),
    [
        (lambda: Network(["a"], 0.1, 0.5, 0.1), RateError, "sensors"),
        (lambda: Network(["a", "a"], 0.1, 0.5, 0.1), RateError, "sensors"),
        (lambda: Network(["a", "b"], 0.0, 0.5, 0.1), RateError, "events_hz"),
        (lambda: Network(["a", "b"], "2", 0.5, 0.1), RateError, "events_hz"),  # type: ignore[arg-type]
        (lambda: Network(["a", "b"], 0.1, 0.0, 0.1), RateError, "heard_by"),
        (lambda: Network(["a", "b"], 0.1, [0.5, 1.5], 0.1), RateError, "heard_by"),
        (lambda: Network(["a", "b"], 0.1, [0.5] * 3, 0.1), RateError, "heard_by"),
        (lambda: Network(["a", "b"], 0.1, 0.5, [0.1, 0.0]), RateError, "unpaired_hz"),
        (lambda: Network(["a", "b"], 0.1, 0.5, [0.1] * 3), RateError, "unpaired_hz"),
        (lambda: Network.of_noise(["a", "b"], 0.1, 0.5, -1.0), RateError, "noise_hz"),
        (lambda: evidence_of(TWO, [CLOCK], [0]), HistogramError, "templates"),
        (lambda: evidence_of(TWO, [CLOCK] * 3, [0] * 3), HistogramError, "templates"),
        (lambda: evidence_of(TWO, [CLOCK] * 2, [0]), OffsetError, "detected_at_us"),
        (lambda: evidence_of(TWO, [CLOCK] * 2, [0, 0.5]), OffsetError, "detected_at_us"),  # type: ignore[list-item]
        (lambda: evidence_of(TWO, [CLOCK] * 2, [0, 0], ["a", "z"]), RateError, "sensors"),
        (lambda: evidence_of(TWO, [CLOCK] * 2, [0, 0], ["a", "a"]), RateError, "sensors"),
        (lambda: evidence_of(TWO, [CLOCK] * 2, [0, 0], live=["z"]), RateError, "live"),
        (lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], [[0], [2]]), RateError, "sensor"),
        (lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], [0, 1]), RateError, "sensor"),
        (lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], live=[True]), RateError, "live"),
        (lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], live=[1, 1]), RateError, "live"),
        (
            lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], unpaired_hz=[0.1, 0.1]),
            RateError,
            "unpaired_hz",
        ),
        (
            lambda: evidence_columns(TWO, [CLOCK], [[0], [0]], [[0], [0]], unpaired_hz=[[0.1], [0.0]]),
            RateError,
            "unpaired_hz",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(door: Any, error: type[CoincideError], field: str) -> None:
    with pytest.raises(error) as refusal:
        door()
    assert refusal.value.field == field
