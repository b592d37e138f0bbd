"""Times as texts: against the standard library, in every way in which databases write an offset."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.arrays.instants import in_utc, written_us

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
HOURS = st.integers(-23, 23)
OFFSETS = {
    "+02:00": lambda hours: f"{hours:+03d}:00",
    "+0200": lambda hours: f"{hours:+03d}00",
    "+02": lambda hours: f"{hours:+03d}",
}


@given(
    at=TIMES,
    hours=HOURS,
    form=st.sampled_from([*OFFSETS]),
    between=st.sampled_from("Tt "),
    before=st.sampled_from(["", " "]),
)
def test_every_way_to_write_an_offset_is_the_same_time(
    at: datetime, hours: int, form: str, between: str, before: str
) -> None:
    text = at.isoformat(between) + before + OFFSETS[form](hours)
    expected = (at.replace(tzinfo=timezone(timedelta(hours=hours))) - EPOCH) // timedelta(microseconds=1)
    assert written_us(text) == expected
    assert in_utc(text) is None


@pytest.mark.parametrize("text", ["2001-02-03T04:05:06Z", "2001-02-03 04:05:06z", "2001-02-03 04:05:06 UTC"])
def test_utc_has_names(text: str) -> None:
    assert written_us(text) == 981_173_106_000_000


@pytest.mark.parametrize("text", ["2001-02-03", "2001-02-03T04:05:06", "2001-02-03 04:05:06.5"])
def test_what_has_no_offset_is_read_as_utc_where_somebody_says_so(text: str) -> None:
    assert written_us(text) is None
    taken = in_utc(text)
    assert taken is not None
    assert written_us(taken) == round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e6)


@pytest.mark.parametrize(
    "text",
    ["2001-W05-6T04:05:06Z", "2001-02-03T04:05:06,5Z", "20010203T040506Z", "2001-02-03T04:05Z", "", "now", "2001-02"],
)
def test_other_forms_are_none(text: str) -> None:
    assert (written_us(text), in_utc(text)) == (None, None)


@pytest.mark.parametrize(("text", "why"), [("2016-12-31T23:59:60Z", "leap second"), ("2001-13-03T04:05:06Z", "month")])
def test_a_time_that_no_clock_shows_is_told(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        written_us(text)
