"""Times, lengths, rates and probabilities as people read them."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.console.pages.time_words import TimeWords, duration, probability, rate, within, zone_named

SN1987A_US = 541_064_135_000_000


def test_one_instant_is_said_in_utc_and_in_a_zone() -> None:
    utc, rome = TimeWords(), TimeWords(zone_named("Europe/Rome"))
    assert utc.instant(SN1987A_US) == "1987-02-23 07:35:35"
    assert rome.instant(SN1987A_US) == "1987-02-23 08:35:35"
    assert utc.exact(SN1987A_US + 123_456) == "1987-02-23 07:35:35.123456 UTC"
    assert rome.exact(SN1987A_US) == "1987-02-23 08:35:35.000000 Europe/Rome"
    assert utc.clock(SN1987A_US + 999_999) == "07:35:35.9"
    assert utc.clock(-1) == "23:59:59.9"


@pytest.mark.parametrize("name", ["", "UTC", "Nowhere/Land", "../../etc/passwd", "/etc/passwd", "\x00"])
def test_what_is_no_zone_is_utc(name: str) -> None:
    assert zone_named(name) is UTC


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["UTC", "Pacific/Kiritimati", "America/New_York"]))
def test_every_instant_can_be_said(at_us: int, zone: str) -> None:
    times = TimeWords(zone_named(zone))
    assert times.instant(at_us)
    assert times.exact(at_us)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 ms"),
        (0.3504, "350 ms"),
        (4.21, "4.21 s"),
        (99.0, "99 s"),
        (180.0, "3 min"),
        (18_000, "5 h"),
        (1e6, "11.6 days"),
    ],
)
def test_a_length_of_time(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("hertz", "said"),
    [
        (3.2, "3.2 a second"),
        (0.1, "6 a minute"),
        (1 / 3600, "1 an hour"),
        (1 / 86_400, "1 a day"),
        (1e-7, "3.16 a year"),
        (0.0, "less than one in 100 years"),
    ],
)
def test_a_rate(hertz: float, said: str) -> None:
    assert rate(hertz) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 %"), (1, "100 %"), (0.0001, "< 0.1 %"), (0.99999, "> 99.9 %"), (0.0446, "4.46 %"), (0.5, "50 %")],
)
def test_a_probability_is_certain_only_if_it_is(value: float, said: str) -> None:
    assert probability(value) == said


def test_one_thing_alone_lies_within_no_time() -> None:
    assert [within(seconds) for seconds in (0, 5.58)] == ["", " within 5.58 s"]
