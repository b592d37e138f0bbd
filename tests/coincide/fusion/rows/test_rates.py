"""Detection rates against their definition: every detection looked at again, its age counted in whole minutes."""

from dataclasses import dataclass
from itertools import product
from math import isnan, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack

from coincide.constraints import SensorRule
from coincide.fusion.rows.rates import OTHERS, Background, DetectionRates, SavedRates

HALF_LIFE_MINUTES = 60
STREAMS = ["p", "s"]
CODES = {"p": 0, "s": 1}


@dataclass(frozen=True)
class Seen:
    """One accepted detection; `step` is by how many minutes the watermark had moved on."""

    step: int
    sensor: str
    stream: int


seen = st.builds(
    Seen, st.sampled_from([0, 0, 0, 1, 2, 45]), st.sampled_from(["north", "south", "east"]), st.integers(0, 1)
)


def fed(history: list[Seen], start: int = 16, rates: DetectionRates | None = None) -> DetectionRates:
    rates = rates or DetectionRates()
    minute = rates.minute or start
    for each in history:
        minute += each.step
        rates.advance(minute)
        rates.count(each.sensor, each.stream, 1)
    return rates


def slow_rate_hz(history: list[Seen], sensor: str, stream: int, start: int = 16) -> float | None:
    """Return the rate that the last row of the history found."""
    minutes = [start + sum(each.step for each in history[: n + 1]) for n in range(len(history))]
    now = minutes[-1]
    whole = range(minutes[0] + 1, now)
    if not whole:
        return None
    weight = {minute: 2 ** (-(now - 1 - minute) / HALF_LIFE_MINUTES) for minute in whole}
    of_sensor = (m for m, each in zip(minutes, history, strict=True) if (each.sensor, each.stream) == (sensor, stream))
    return sum(weight.get(minute, 0.0) for minute in of_sensor) / (60 * sum(weight.values()))


@given(st.lists(seen, min_size=1, max_size=40))
def test_it_is_what_the_definition_says(history: list[Seen]) -> None:
    background = fed(history).background()
    for sensor in ("north", "south", "east"):
        for stream in (0, 1):
            slow = slow_rate_hz(history, sensor, stream)
            assert (background is None) == (slow is None)
            if background is not None:
                count = background.count.get(stream, {}).get(sensor, 0.0)
                assert count / background.seconds == pytest.approx(slow, abs=1e-4 / 60)  # what is forgotten


@given(st.lists(seen, max_size=20), st.lists(seen, max_size=20))
def test_what_is_saved_goes_on_bit_for_bit(before: list[Seen], after: list[Seen]) -> None:
    never = fed(before)
    state = msgpack.decode(msgpack.encode(never.saved(STREAMS)), type=SavedRates | None)
    restored = fed(after, rates=DetectionRates.restored(state, CODES))
    assert restored.saved(STREAMS) == fed(after, rates=never).saved(STREAMS)


def test_a_sensor_lives_that_has_reported_lately_for_its_rate() -> None:
    often = [Seen(1, "north", 0), Seen(0, "north", 0), Seen(0, "south", 0)] * 30
    rates = fed(often)
    assert rates.background().live((0,)) == ("north", "south")  # type: ignore[union-attr]
    later = fed([Seen(1, "south", 0)] * 2, rates=rates).background()
    assert later is not None
    assert later.live((0,)) == ("north", "south")  # two minutes may pass
    later = fed([Seen(1, "south", 0)] * 2, rates=rates).background()
    assert later is not None
    assert later.live((0,)) == ("south",)  # four minutes are eight of its intervals
    assert later.live((1,)) == ()


def test_a_stream_that_is_not_declared_any_more_is_left_out() -> None:
    saved = fed([Seen(0, "north", 0), Seen(1, "north", 0), Seen(0, "north", 1), Seen(1, "north", 1)]).saved(STREAMS)
    background = DetectionRates.restored(saved, {"s": 0}).background()
    assert background is not None
    assert background.count == {0: {"north": 1.0}}


def test_pairs_of_sensors_by_hand() -> None:
    # one whole minute: north 6 p and 3 s, south 12 p, so 0.1, 0.05 and 0.2 Hz
    rates = DetectionRates()
    rates.advance(0)
    rates.advance(1)
    for sensor, stream, detections in [("north", 0, 6), ("north", 1, 3), ("south", 0, 12)]:
        rates.count(sensor, stream, detections)
    rates.advance(2)
    background = rates.background()
    assert background is not None
    assert background.rate_product([0, 1], "any") == pytest.approx(0.3 * 0.05)
    assert background.rate_product([0, 1], "same") == pytest.approx(0.1 * 0.05)
    assert background.rate_product([0, 1], "different") == pytest.approx(0.2 * 0.05)
    assert background.rate_product([0, 0], "different") == pytest.approx(2 * 0.1 * 0.2)


counts = st.dictionaries(st.sampled_from(["north", "south", "east", OTHERS]), st.floats(0.5, 4), max_size=4)


@given(st.lists(counts, min_size=3, max_size=3), st.lists(st.integers(0, 2), min_size=2, max_size=5))
@pytest.mark.parametrize("rule", ["any", "same", "different"])
def test_the_ways_to_choose_sensors_are_summed_one_by_one(
    rule: SensorRule, drawn: list[dict[str, float]], streams: list[int]
) -> None:
    slow = 0.0
    for chosen in product(*(drawn[stream].items() for stream in streams)):
        named = [sensor for sensor, _ in chosen if sensor != OTHERS]
        are_different = len(set(named)) == len(named)
        are_same = len(set(named)) == 1 and len(named) == len(chosen)
        if {"any": True, "same": are_same, "different": are_different}[rule]:
            slow += prod(count for _, count in chosen)
    background = Background(dict(enumerate(drawn)), seconds=2.0)
    assert background.rate_product(streams, rule) * 2.0 ** len(streams) == pytest.approx(slow, rel=1e-9, abs=1e-9)


def test_too_many_ways_to_choose_sensors_are_not_counted() -> None:
    everywhere = {f"s{nth}": 1.0 for nth in range(70)}
    background = Background(dict.fromkeys(range(16), everywhere), seconds=60.0)
    assert isnan(background.rate_product(range(16), "different"))
    assert background.rate_product(range(16), "any") > 0
    apart = Background({stream: {f"s{stream}": 60.0} for stream in range(16)}, seconds=60.0)
    assert apart.rate_product(range(16), "different") == pytest.approx(1.0)


def test_sensors_beyond_the_cap_share_a_count() -> None:
    history = [Seen(0, "x", 0), Seen(1, "a", 0), *(Seen(0, name, 0) for name in "bcde"), Seen(1, "a", 0)]
    background = fed(history, rates=DetectionRates(most_counted=2)).background()
    assert background is not None
    assert background.count == {0: {"a": 1.0, "b": 1.0, "": 3.0}}
    # those that share are taken to differ: all 25 ordered pairs but a with a and b with b
    assert background.rate_product([0, 0], "different") * 60**2 == pytest.approx(23.0)


def test_sensors_that_fell_silent_are_forgotten() -> None:
    rates = fed([Seen(0, "gone", 0), Seen(1, "gone", 0), Seen(1, "here", 0)])
    rates.advance(18 + 11 * HALF_LIFE_MINUTES)  # 2**-11 is below a thousandth
    saved = rates.saved(STREAMS)
    assert saved is not None
    assert saved.counted == []
