"""The address of a page says what it shows, and whoever opens it sees the same."""

from typing import Any

import pytest
from httpx2 import URL
from hypothesis import given
from hypothesis import strategies as st

from services.common.clock import LAST_US
from services.console.pages.shown_range import LONGEST_US, SPAN_US, ShownRange, around
from services.console.pages.time_words import TimeWords

NOW_US = 1_760_000_000_000_000
INSTANTS = st.integers(0, LAST_US)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def read(address: str) -> ShownRange:
    return ShownRange.of_address(dict(URL(address).params), NOW_US)


@given(
    times=st.tuples(INSTANTS, INSTANTS).filter(lambda both: both[0] < both[1]),
    area=NAMES,
    query=NAMES,
    sensor=NAMES,
    order=st.sampled_from(["name", "place"]),
    least=st.floats(0, 1),
    chosen=st.none() | st.tuples(st.sampled_from(["match", "episode", "alert", "detection"]), NAMES.filter(bool)),
)
def test_an_address_leads_back(
    times: tuple[int, int],
    area: str,
    query: str,
    sensor: str,
    order: str,
    least: float,
    chosen: tuple[str, str] | None,
) -> None:
    filters: dict[str, Any] = {"area": area, "query": query, "sensor": sensor, "order": order}
    shown = ShownRange(*times, follows=False, min_posterior=least, chosen=chosen, **filters)
    assert read(shown.address()) == shown


def test_the_present_has_the_shortest_address() -> None:
    assert ShownRange(NOW_US - SPAN_US, NOW_US, follows=True).address() == "/"
    assert read("/") == ShownRange(NOW_US - SPAN_US, NOW_US, follows=True)
    assert read("/?span=60").span_us == 60_000_000
    assert read(ShownRange(NOW_US - 60_000_000, NOW_US, follows=True).address()).span_us == 60_000_000


@pytest.mark.parametrize(
    "address",
    [
        "/?from=yesterday&to=now",
        "/?from=2026-01-01T00:00:00Z",
        "/?span=nan",
        "/?span=inf",
        "/?order=x",
        "/?match=",
        "/?min_posterior=2",
        "/?min_posterior=nan",
        "/?min_posterior=sure",
    ],
)
def test_what_cannot_be_read_shows_the_present(address: str) -> None:
    assert read(address) == ShownRange(NOW_US - SPAN_US, NOW_US, follows=True)


def test_a_probability_is_read_as_a_share_too() -> None:
    assert read("/?min_posterior=90%25").min_posterior == 0.9
    assert read("/?min_posterior=0.9").min_posterior == 0.9


def test_times_that_run_backwards_show_the_present() -> None:
    assert read("/?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").follows


def test_a_span_has_bounds() -> None:
    assert read("/?span=-5").span_us == 1000
    assert read("/?span=1e300").span_us == LONGEST_US


@given(INSTANTS, INSTANTS)
def test_what_is_shown_around_something_has_room_beside_it(one_us: int, other_us: int) -> None:
    begin_us, end_us = sorted((one_us, other_us))
    from_us, to_us = around(begin_us, end_us)
    assert from_us <= begin_us - 5_000_000
    assert to_us >= end_us + 5_000_000


def test_the_title_says_which_times_are_shown() -> None:
    hour_us, begin_us = 3_600_000_000, 541_062_000_000_000  # 07:00 on 1987-02-23
    shown = ShownRange(begin_us, begin_us + hour_us, follows=False)
    assert shown.title(TimeWords()) == "1987-02-23 07:00:00 to 08:00:00"
    assert shown.moved(begin_us, begin_us + 24 * hour_us).title(TimeWords()) == (
        "1987-02-23 07:00:00 to 1987-02-24 07:00:00"
    )
    assert ShownRange(begin_us, begin_us + 1, follows=True).title(TimeWords()) == "Now"
