import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window, chance_rate, timing_join, window_join
from coincide.errors import SlidesError, WindowError
from coincide.slides import TimeSlides, time_slides
from coincide.slides.sliding import _ShiftedBatches
from coincide.thresholds import SensorRate
from tests.reference import time_slides as slow
from tests.reference.timing_join import detections_of, row_lists

EXACT, WIDE = Histogram.point(), Histogram.uniform(-0.000_002, 0.000_003)
BLURRED = Histogram.normal(0.5)
PAIR = ConstraintGraph.binary("a", "b", Window(0.000_004), 0.3)
SECOND = 1_000_000

rows_of_two_streams = row_lists(
    24,
    detected_at_us=st.integers(0, 300) | st.integers(100_000, 100_100),
    template=st.sampled_from([EXACT, WIDE]),
    area=st.sampled_from(["bay", "hill"]),
    sensor=st.sampled_from(["north", "south", "west"]),
    received_at_us=st.just(0),
)


@given(rows_of_two_streams, st.booleans(), st.integers(1, 4))
def test_each_slide_is_the_join_of_rows_shifted_by_the_definition(rows: list[Any], itself: bool, slides: int) -> None:
    roles = {"a": "x", "b": "x" if itself else "y"}
    used = [row for row in rows if row.stream in roles.values()]
    batches, graph = batches_of(used, roles), PAIR
    with suppress(SlidesError):  # all areas are too short: of these there is nothing to compare
        found = time_slides(batches, graph, slides=slides, least_step_s=0.000_02)
        expected = slow.counts(used, roles, graph.edges[0].window, 0.3, slides, found.least_step_us)
        assert found.counts.sum(axis=1).tolist() == expected


def batches_of(rows: list[Any], roles: Mapping[str, str]) -> dict[str, Detections]:
    of = {
        stream: detections_of([row for row in rows if row.stream == stream], [EXACT, WIDE])
        for stream in dict.fromkeys(roles.values())
    }
    return {role: of[stream] for role, stream in roles.items()}


def reports(rng: np.random.Generator, sensors: str, count: int, seconds: int, at_us: Any = None) -> Detections:
    times = rng.integers(0, seconds * SECOND, count) if at_us is None else at_us
    return Detections(times, [BLURRED], sensor=rng.choice([*sensors], len(times)))


def network(seed: int, seconds: int = 20_000) -> dict[str, Detections]:
    rng = np.random.default_rng(seed)
    return {"a": reports(rng, "pq", 600, seconds), "b": reports(rng, "rs", 900, seconds)}


ONE_SECOND = ConstraintGraph.binary("a", "b", Window(1), 0.4)


@pytest.mark.parametrize("at_least", [None, 2, AtLeast(1, of=["c"])])
def test_a_slide_of_zero_gives_the_join_itself(at_least: int | AtLeast | None) -> None:
    batches = {**network(1), "c": reports(np.random.default_rng(2), "tu", 500, 20_000)}
    graph = ConstraintGraph.clique("abc", Window(5), 0.2)
    shifted = _ShiftedBatches.of(batches, graph, None, "different", at_least, 0, 10)
    itself = window_join(batches, graph, at_least=at_least).members.tolist()
    assert itself
    assert window_join(shifted.slide(0), graph, at_least=at_least).members.tolist() == itself
    assert window_join(shifted.slide(1), graph, at_least=at_least).members.tolist() != itself


def test_the_order_of_rows_does_not_matter() -> None:
    batches, rng = network(3), np.random.default_rng(4)
    mixed = {role: batch.take(rng.permutation(len(batch))) for role, batch in batches.items()}
    assert counts_of(mixed) == counts_of(batches)


def counts_of(batches: Mapping[str, Detections], **choices: Any) -> list[list[int]]:
    counts: list[list[int]] = time_slides(batches, ONE_SECOND, slides=8, **choices).counts.tolist()
    return counts


@pytest.mark.parametrize("further_us", [0, None])
def test_any_two_sensors_are_shifted_beyond_the_reach(further_us: int | None) -> None:
    """Whatever matched does not match any more: in no slide does a pair of the join meet again."""
    batches = network(5)
    pairs = {tuple(each) for each in window_join(batches, ONE_SECOND).members.tolist()}
    shifted = _ShiftedBatches.of(batches, ONE_SECOND, None, "different", None, further_us, 30)
    for nth in range(1, 31):
        assert pairs.isdisjoint(tuple(each) for each in window_join(shifted.slide(nth), ONE_SECOND).members.tolist())


def exact_chance(batches: Mapping[str, Detections], seconds: float) -> float:
    a, b = (rates_of(batch, seconds) for batch in batches.values())
    return chance_rate(a, b, Window(1), 0.4)


def rates_of(batch: Detections, seconds: float) -> list[SensorRate]:
    names, counts = np.unique(np.asarray(batch.sensor), return_counts=True)
    return [SensorRate(name, BLURRED, many / seconds) for name, many in zip(names, counts.tolist(), strict=True)]


def test_independent_streams_have_the_exact_chance_rate_within_the_interval() -> None:
    covered, trials = 0, 40
    for seed in range(trials):
        batches = network(100 + seed)
        found = time_slides(batches, ONE_SECOND, slides=20)
        low, high = found.interval_hz
        covered += low <= exact_chance(batches, 20_000) <= high
        assert found.rate_hz == pytest.approx(exact_chance(batches, 20_000), rel=0.2)
    assert covered / trials >= 0.8  # 0.9 is said; 40 trials of 0.9 are below 0.8 once in 25, with these seeds never


def test_true_events_leave_only_chance() -> None:
    rng = np.random.default_rng(9)
    events = rng.integers(0, 20_000 * SECOND, 300)
    batches = {role: reports(rng, name, 300, 0, events + rng.integers(0, 200_000, 300)) for role, name in ("ap", "bq")}
    found = time_slides(batches, ONE_SECOND)
    assert len(window_join(batches, ONE_SECOND)) > 290
    assert found.expected == pytest.approx(20_000 * exact_chance(batches, 20_000), rel=0.1)


def test_shared_bursts_are_counted_as_the_formula_cannot() -> None:
    """Each minute is quiet or busy for both streams: chance is 1.6 times what the mean rates say."""
    rng, minute = np.random.default_rng(11), 60 * SECOND
    factor = rng.choice([1 - math.sqrt(0.6), 1 + math.sqrt(0.6)], 2_000)

    def bursting() -> Any:
        return np.concatenate([n * minute + rng.integers(0, minute, rng.poisson(6 * f)) for n, f in enumerate(factor)])

    batches = {role: reports(rng, name, 0, 0, bursting()) for role, name in ("ap", "bq")}
    found = time_slides(batches, ONE_SECOND, slides=3, least_step_s=0)  # by seconds, while a burst lasts a minute
    assert found.rate_hz / exact_chance(batches, 120_000) == pytest.approx(1.55, abs=0.15)


def test_areas_are_shifted_each_in_its_own_time_and_short_ones_are_left_out() -> None:
    one, other = network(13), network(14, seconds=5_000)
    later = {role: at(batch, batch.detected_at_us + 10**12) for role, batch in other.items()}
    short = {role: at(batch[:2], np.array([0, SECOND])) for role, batch in one.items()}
    together = {
        role: Detections.concat(
            [part[role].in_areas([name] * len(part[role])) for name, part in (("x", one), ("y", later), ("z", short))]
        )
        for role in "ab"
    }
    found = time_slides(together, ONE_SECOND, slides=8)
    assert found.left_out == 1
    assert found.counts.T.tolist() == [np.ravel(counts_of(each)).tolist() for each in (one, other)]
    assert found.rate_hz == pytest.approx(
        sum(time_slides(each, ONE_SECOND, slides=8).rate_hz for each in (one, other)), rel=1e-3
    )


def at(batch: Detections, times_us: Any) -> Detections:
    return Detections(times_us, batch.templates, batch.template_index, batch.area, batch.sensor)


def test_keys_and_conditions_go_with_their_rows() -> None:
    batches, rng = network(15), np.random.default_rng(16)
    key = {role: rng.integers(0, 3, len(batch)) for role, batch in batches.items()}

    def alike(members: Any) -> Any:
        return key["a"][members[:, 0]] == key["b"][members[:, 1]]

    assert counts_of(batches, key=key) == counts_of(batches, where=alike)
    assert counts_of(batches, key=key) != counts_of(batches)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (lambda each: time_slides(each, ONE_SECOND, slides=0), "slides"),
        (lambda each: time_slides(each, ONE_SECOND, slides=10_001), "slides"),
        (lambda each: time_slides(each, ONE_SECOND, least_step_s=-1.0), "least_step_s"),
        (lambda each: time_slides(each, ONE_SECOND, least_step_s=math.nan), "least_step_s"),
        (lambda each: time_slides(each, ONE_SECOND, least_step_s=6_000), "recorded time"),
        (lambda each: time_slides(each, ONE_SECOND, most_matches=20), "most_matches"),
        (lambda each: time_slides({"a": each["a"], "b": each["a"]}, ONE_SECOND, sensors="any"), "sensors"),
        (lambda each: time_slides(dict.fromkeys("ab", each["a"].without_labels), ONE_SECOND), "sensor"),
    ],
)
def test_what_cannot_be_is_refused(asked: Callable[[Mapping[str, Detections]], TimeSlides], field: str) -> None:
    with pytest.raises(SlidesError, match=rf"^{field} is "):
        asked(network(17))


def test_a_window_without_end_is_refused() -> None:
    with pytest.raises(WindowError, match="two ends"):
        time_slides(network(18), ConstraintGraph.binary("a", "b", Window.delay(2), 0.4))


def test_the_work_is_asked_inside_the_loop() -> None:
    shares = list[float]()
    time_slides(network(19), ONE_SECOND, slides=5, progress=shares.append)
    assert shares == sorted(shares)
    assert {round(nth / 6, 9) for nth in range(1, 7)} <= {round(each, 9) for each in shares}

    def enough(share: float) -> None:
        if share >= 0.4:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        time_slides(network(19), ONE_SECOND, slides=5, progress=enough)


def test_a_stream_meets_itself_by_its_sensors() -> None:
    rng = np.random.default_rng(21)
    batch = reports(rng, "pqrs", 2_000, 20_000)
    found = time_slides({"a": batch, "b": batch}, ONE_SECOND, slides=20)
    rates = rates_of(batch, 20_000)
    assert found.sensors == [4]
    assert found.rate_hz == pytest.approx(chance_rate(rates, None, Window(1), 0.4), rel=0.05)
    assert found.unshifted == len(timing_join(batch, None, Window(1), 0.4))
    assert found.unshifted == pytest.approx(found.expected, rel=0.15)


def test_nobody_and_one_sensor_have_no_chance() -> None:
    nothing = Detections([], [EXACT])
    for batches in ({"a": nothing, "b": nothing}, dict.fromkeys("ab", reports(np.random.default_rng(1), "p", 99, 500))):
        found = time_slides(batches, ONE_SECOND, slides=3)
        assert (found.expected, found.rate_hz, found.interval_hz) == (0.0, 0.0, (0.0, 0.0))
