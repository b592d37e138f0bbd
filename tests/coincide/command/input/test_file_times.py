"""Times in files: the same rules as ingest's, whichever of the two ways reads them."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.arrays.instants import LATEST_TIME_US, YEAR_1980_US, TimeUnit
from coincide.arrays.kinds import Int64Array
from coincide.command.faults import CommandError, RowFaults, ValueRefused
from coincide.command.input.chunks import Column
from coincide.command.input.file_times import instant_us, read_instants_us
from services.ingest.stamping import posted as ingest
from services.ingest.verdicts import Refused
from tests.coincide.command.files import EPOCH_US

ZONES = st.builds(timezone, st.integers(-23 * 60, 23 * 60).map(lambda minutes: timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1970, 1, 1), datetime(2111, 12, 31), timezones=ZONES).map(datetime.isoformat)
ODD = st.sampled_from(
    [
        "1987-02-23T07:35:35Z",
        "1987-02-23t07:35:35.1z",
        "1987-02-23T07:35:35.123456789Z",
        "1987-02-23T07:35:35.1234567890123Z",
        "1987-02-23 07:35:35Z",
        "1987-02-23T07:35:35",
        "1987-02-23T07:35Z",
        "1987-02-23T24:00:00Z",
        "1987-02-23T07:35:60Z",
        "1987-02-23T07:35:35+24:00",
        "1987-02-23T07:35:35+0900",
        "1987-02-23 07:35:35.25+09",
        "1987-02-23 07:35:35 +09:30",
        "1987-02-23",
        "1987-02-30T07:35:35Z",
        "1987-W09-1T07:35:35Z",
        "1979-12-31T23:59:59.999999Z",
        "yesterday",
        "",
        "٢٠٢٠-01-01T00:00:00Z",
    ]
)
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.sampled_from([YEAR_1980_US, YEAR_1980_US - 1, 541_064_135]))


def instants_us(values: Column, *, assume_utc: bool = False, unit: TimeUnit = "us") -> tuple[Int64Array, RowFaults]:
    faults = RowFaults()
    return read_instants_us(values, "t", faults, assume_utc=assume_utc, unit=unit), faults


def of_ingest(value: str | int) -> int | None:
    try:
        return ingest.instant_us(value)
    except Refused:
        return None


def of_file(value: object) -> int | None:
    times, faults = instants_us([value])
    return None if faults else int(times[0])


@given(st.one_of(TIMES, ODD, NUMBERS))
def test_the_rules_are_those_of_ingest(value: str | int) -> None:
    expected = of_ingest(value)
    # the library's own range ends in 2112, ingest's in the year 10000 (its clock refuses the future)
    assert of_file(value) == (expected if expected is None or expected <= LATEST_TIME_US else None)


@given(st.lists(st.one_of(TIMES, st.integers(YEAR_1980_US, LATEST_TIME_US).map(str)), min_size=1, max_size=5))
def test_a_column_reads_as_its_values_one_by_one(values: list[str]) -> None:
    times, faults = instants_us(values)
    for position, value in enumerate(values):
        if position not in faults:
            assert times[position] == instant_us(value, "t")
            continue
        with pytest.raises(ValueRefused, match=re.escape(faults[position])):
            instant_us(value, "t")


def test_a_number_may_be_text_since_csv_has_no_other() -> None:
    assert of_file("541064135000000") == EPOCH_US
    assert of_file("541064135") is None


@pytest.mark.parametrize(
    "value",
    ["1987-02-23 09:35:35+02", "1987-02-23 09:35:35+02:00", "1987-02-23T09:35:35+0200", "1987-02-23 09:35:35.0 +0200"],
)
def test_an_offset_is_read_however_a_database_writes_it(value: str) -> None:
    assert of_file(value) == of_ingest(value) == EPOCH_US
    assert instants_us(pa.array([value, value]))[0].tolist() == [EPOCH_US, EPOCH_US]


@pytest.mark.parametrize("value", [True, 541_064_135e6, None, [], {"a": 1}])
def test_what_is_no_time_is_refused(value: object) -> None:
    _, faults = instants_us([value, EPOCH_US])
    assert list(faults) == [0]


@pytest.mark.parametrize("value", ["1987-02-23T07:35:35", "1987-02-23 07:35:35", "1987-02-23 16:35:35+09:00"])
def test_assume_utc(value: str) -> None:
    times, faults = instants_us([value], assume_utc=True)
    assert (times.tolist(), faults) == ([EPOCH_US], {})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "+09:00", "Asia/Tokyo"])
def test_timestamp_columns_of_any_unit_and_zone(unit: str, zone: str) -> None:
    column = pa.array([datetime(1987, 2, 23, 7, 35, 35, tzinfo=UTC), None], pa.timestamp(unit, zone))
    times, faults = instants_us(column)
    assert times[0] == EPOCH_US
    assert list(faults) == [1]


def test_nanoseconds_are_cut_off_and_timestamps_out_of_range_refused() -> None:
    column = pa.array([541_064_135_000_000_999], pa.int64()).cast(pa.timestamp("ns", "UTC"))
    assert instants_us(column)[0].tolist() == [EPOCH_US]
    column = pa.array(np.array([0, 2**62 // 1000], "datetime64[us]")).cast(pa.timestamp("us", "UTC"))
    _, faults = instants_us(column)
    assert "1970-01-01" in faults[0]
    assert "before the year 2112" in faults[1]


def test_a_naive_timestamp_column_needs_the_users_word() -> None:
    column = pa.array([datetime(1987, 2, 23, 7, 35, 35)])
    with pytest.raises(CommandError, match="--assume-utc"):
        instants_us(column)
    assert instants_us(column, assume_utc=True)[0].tolist() == [EPOCH_US]


UNITS: dict[TimeUnit, float] = {"s": 1e-6, "ms": 1e-3, "us": 1, "ns": 1000}
SINCE_1970 = st.integers(-(2**60), 2**64).map(str)
IN_TIME = st.integers(YEAR_1980_US, LATEST_TIME_US)


@given(unit=st.sampled_from([*UNITS]), times=st.lists(IN_TIME, min_size=1, max_size=5), data=st.data())
def test_numbers_of_any_unit_are_read_alike_as_a_column_and_one_by_one(
    unit: TimeUnit, times: list[int], data: st.DataObject
) -> None:
    numbers = [str(int(each * UNITS[unit])) for each in times]
    values = [*numbers, *data.draw(st.lists(SINCE_1970, max_size=2))]
    read, faults = instants_us(values, unit=unit)
    assert not any(position in faults and IN_RANGE_S < each < LATEST_S for position, each in enumerate(times))
    for position, value in enumerate(values):
        if position not in faults:
            assert read[position] == instant_us(value, "t", unit=unit) == instant_us(int(value), "t", unit=unit)
            continue
        with pytest.raises(ValueRefused, match=re.escape(faults[position])):
            instant_us(value, "t", unit=unit)


IN_RANGE_S, LATEST_S = YEAR_1980_US + 1_000_000, LATEST_TIME_US - 1_000_000


@pytest.mark.parametrize(
    ("unit", "value", "time_us"),
    [
        ("s", 541_064_135, EPOCH_US),
        ("s", "541064135.25", EPOCH_US + 250_000),
        ("s", 541_064_135.25, EPOCH_US + 250_000),
        ("ms", "541064135000.5", EPOCH_US + 500),
        ("ns", "541064135000000999", EPOCH_US),
        ("s", "1987-02-23T07:35:35Z", EPOCH_US),
    ],
)
def test_a_number_counts_in_the_unit_that_the_user_names(unit: TimeUnit, value: object, time_us: int) -> None:
    assert instant_us(value, "t", unit=unit) == time_us
    assert instants_us([value], unit=unit)[0].tolist() == [time_us]
    assert instants_us([value, value], unit=unit)[0].tolist() == [time_us, time_us]


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        ("us", 541_064_135, "looks like seconds or milliseconds"),
        ("ms", "541064135", "looks like a coarser unit"),
        ("s", EPOCH_US, "looks like a finer unit"),
        ("us", "541064135.25", "RFC 3339"),
        ("ns", 5.5e17, "epoch nanoseconds"),
        ("s", math.nan, "epoch seconds"),
    ],
)
def test_a_number_of_another_unit_is_refused_with_that_word(unit: TimeUnit, value: object, said: str) -> None:
    _, faults = instants_us([value], unit=unit)
    assert said in faults[0]


def test_columns_of_fractions_are_seconds() -> None:
    times, faults = instants_us(pa.array([541_064_135.25, 541_064_135.0]), unit="s")
    assert (times.tolist(), faults) == ([EPOCH_US + 250_000, EPOCH_US], {})
    assert list(instants_us(pa.array([541_064_135.25, math.nan]), unit="s")[1]) == [1]
