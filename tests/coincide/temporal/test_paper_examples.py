"""The coalescing paper's Examples 1 to 4 and Tables 1 to 3, with the wrong answers that uncoalesced data gives."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from coincide import EagerCoalescing, LazyCoalescing, WindowExtent, coalesce
from coincide.temporal import (
    NOW_US,
    Facts,
    SlidingWindows,
    cast_duration,
    duration_us,
    join_in_windows,
    longest_periods,
    temporal_join,
)
from tests.reference.temporal import Fact

MINUTE_US, HOUR_US = 60_000_000, 3_600_000_000


def _facts(rows: Sequence[Fact], unit_us: int) -> Facts:
    start, end, group, value = (np.array([row[column] for row in rows]) for column in range(4))
    return Facts(start * unit_us, end * unit_us, group, value)


def _coalesced(facts: Facts) -> Facts:
    return Facts.of(coalesce(facts.intervals.start_us, facts.intervals.end_us, facts.group, facts.value))


def _longest_h(hot: Facts, end_h: int) -> dict[str, int]:
    found = longest_periods(hot, SlidingWindows([end_h * HOUR_US], size_us=24 * HOUR_US))
    return dict(zip(found.group.tolist(), cast_duration(found.duration_us, "hour").tolist(), strict=True))


def test_example_1_regions_of_similar_humidity_for_4_minutes_or_longer_in_the_past_60_at_every_minute() -> None:
    readings = _facts(
        [
            *((minute, minute + 1, "north", 60) for minute in range(10)),
            (0, 3, "south", 75),
            *((minute, minute + 1, "south", 61) for minute in range(3, 8)),
            (8, 10, "south", 75),
        ],
        MINUTE_US,
    )
    every_minute = SlidingWindows.sliding(MINUTE_US, 10 * MINUTE_US, size_us=60 * MINUTE_US, slide_us=MINUTE_US)
    runs = _coalesced(readings)
    pairs = join_in_windows(runs, None, every_minute, tolerance=2, at_least_us=4 * MINUTE_US)
    assert (every_minute.end_us[pairs.window] // MINUTE_US).tolist() == [7, 8, 9, 10]
    assert set(runs.group[pairs.left]) | set(runs.group[pairs.right]) == {"north", "south"}
    assert cast_duration(duration_us(pairs.intervals), "minute").tolist() == [4, 5, 5, 5]
    assert set((pairs.intervals.start_us // MINUTE_US).tolist()) == {3}
    # uncoalesced readings never last long enough
    assert len(temporal_join(readings, tolerance=2).left) == 5
    assert len(join_in_windows(readings, None, every_minute, tolerance=2, at_least_us=4 * MINUTE_US).left) == 0


class TestExample2:
    """The longest time above 100 degrees in the past 24 hours, each hour, in each region."""

    CELSIUS = ("north", (99, 101, 103, 102, 98, 105, 105, 90)), ("south", (80, 80, 80, 101, 80, 80, 80, 80))
    READINGS = tuple((hour, region, celsius) for region, each in CELSIUS for hour, celsius in enumerate(each))
    each_scheme = pytest.mark.parametrize("scheme", [EagerCoalescing, LazyCoalescing])

    def test_hot_hours_in_a_row_are_one_period(self) -> None:
        facts = _facts([(hour, hour + 1, *row) for hour, *row in self.READINGS], HOUR_US)  # type: ignore[misc]
        above = facts.where(facts.value > 100)
        hot = _coalesced(Facts(above.intervals.start_us, above.intervals.end_us, above.group))
        windows = SlidingWindows.sliding(HOUR_US, 32 * HOUR_US, size_us=24 * HOUR_US, slide_us=HOUR_US)
        found = longest_periods(hot, windows)
        hours = (windows.end_us[found.window] // HOUR_US)[found.group == "north"]
        assert _longest_h(hot, 3) == {"north": 2}
        assert _longest_h(hot, 8) == {"north": 3, "south": 1}
        assert _longest_h(hot, 27) == {"north": 2, "south": 1}  # of the first period the last hour is left
        assert (hours.min(), hours.max()) == (2, 30)  # hour 7 is the last hot one's end
        assert _longest_h(above, 8) == {"north": 1, "south": 1}  # uncoalesced each hour is a period
        assert _longest_h(_coalesced(above), 8) == {"north": 2, "south": 1}  # by value 101, 103 and 102 stay apart

    @each_scheme
    @pytest.mark.parametrize("seed", range(3))
    def test_a_cool_hour_ends_a_hot_period(self, scheme: type[EagerCoalescing | LazyCoalescing], seed: int) -> None:
        """In a stream in any order: a filter comes after readings have their ends."""
        shuffled = random.Random(seed).sample(self.READINGS, len(self.READINGS))
        extent = scheme(WindowExtent(duration_us=24 * HOUR_US))
        for begin in range(0, len(shuffled), 5):
            hour, region, celsius = zip(*shuffled[begin : begin + 5], strict=True)
            extent.push(np.array(hour) * HOUR_US, region, id=hour, where=np.array(celsius) > 100)
        assert _longest_h(Facts.of(extent.scan()), 8) == {"north": 3, "south": 1}

    @each_scheme
    def test_a_filter_before_bridges_the_cool_hours(self, scheme: type[EagerCoalescing | LazyCoalescing]) -> None:
        extent = scheme(WindowExtent(duration_us=24 * HOUR_US))
        hour, region, _ = zip(*(row for row in self.READINGS if row[2] > 100), strict=True)
        extent.push(np.array(hour) * HOUR_US, region)
        assert _longest_h(Facts.of(extent.scan()), 8) == {"north": 5}  # 1 to 6, though hour 4 was cool


def test_example_3_andy_s_salary() -> None:
    """Table 1, without the department and coalescing Table 2, coalesced Table 3."""
    y2000, y2004, y2008, y2010 = np.array(["2000", "2004", "2008", "2010"], "datetime64[us]").astype(np.int64)
    table_2 = Facts([y2000, y2004, y2008], [y2004, y2008, NOW_US], ["Andy"] * 3, [100, 120, 120])
    table_3 = _coalesced(table_2)
    assert table_3.intervals.start_us.tolist() == [y2000, y2004]
    assert table_3.intervals.end_us.tolist() == [y2004, NOW_US]
    assert table_3.value.tolist() == [100, 120]
    days = [
        cast_duration(duration_us(table.intervals, now_us=int(y2010)), "day")[table.value == 120].max()
        for table in (table_2, table_3)
    ]
    assert days == [4 * 365 + 1, 6 * 365 + 2]  # uncoalesced the salary of 120 seems younger than it is


def test_example_4_regions_whose_temperature_did_not_change_for_two_hours() -> None:
    """Figure 2: nine tuples become five."""
    celsius = {"1": (81, 81, 81), "2": (81, 79, 81), "3": (81, 81, 81)}
    readings = _facts([(13 + n, 14 + n, each, celsius[each][n]) for each in celsius for n in range(3)], HOUR_US)
    runs = _coalesced(readings)
    assert (len(readings), len(runs)) == (9, 5)
    assert sorted(runs.group[duration_us(runs.intervals) >= 2 * HOUR_US]) == ["1", "3"]
    assert not (duration_us(readings.intervals) >= 2 * HOUR_US).any()
