from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.arrays.instants import YEAR_1980_US
from services.ingest.stamping.posted import instant_us
from services.ingest.verdicts import Refused


@pytest.mark.parametrize(
    ("text", "expected_us"),
    [
        ("1980-01-01T00:00:00Z", YEAR_1980_US),
        ("1987-02-23T07:35:35Z", 541_064_135_000_000),
        ("1987-02-23t07:35:35z", 541_064_135_000_000),  # RFC 3339 allows lower case
        ("1987-02-23T07:35:41.374Z", 541_064_141_374_000),
        ("1987-02-23T07:35:41.3740009Z", 541_064_141_374_000),  # below a microsecond: cut off
        ("1987-02-23T16:35:35+09:00", 541_064_135_000_000),
        ("1987-02-23T07:35:35-00:00", 541_064_135_000_000),
    ],
)
def test_rfc_3339(text: str, expected_us: int) -> None:
    assert instant_us(text) == expected_us


def test_numbers_are_microseconds() -> None:
    assert instant_us(YEAR_1980_US) == YEAR_1980_US
    with pytest.raises(Refused, match="looks like seconds"):
        instant_us(YEAR_1980_US - 1)


@given(st.datetimes(datetime(1981, 1, 1), datetime(9998, 1, 1), timezones=st.timezones()))
def test_every_time_with_an_offset_reads_as_datetime_says(at: datetime) -> None:
    offset = at.utcoffset()
    if offset is None or offset.total_seconds() % 60:
        return  # RFC 3339 cannot write offsets with seconds
    seconds, microseconds = divmod(at.timestamp(), 1)
    assert abs(instant_us(at.isoformat()) - (int(seconds) * 1_000_000 + round(microseconds * 1e6))) <= 100
    assert instant_us(at.isoformat()) % 1_000_000 == at.microsecond
