"""The coalescing paper's Examples 1 to 4 and Tables 1 to 3, with the wrong answers that uncoalesced data gives."""

from __future__ import annotations

import random

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


def _year_us(year: int) -> int:
    return int(np.datetime64(f"{year}-01-01", "us").astype(np.int64))


def _facts(rows: list[Fact], unit_us: int) -> Facts:
    start, end, group, value = (np.array([row[column] for row in rows]) for column in range(4))
    return Facts(start * unit_us, end * unit_us, group, value)


def _coalesced(facts: Facts) -> Facts:
    return Facts.of(coalesce(facts.intervals.start_us, facts.intervals.end_us, facts.group, facts.value))


def _longest_h(hot: Facts, end_h: int) -> dict[str, int]:
    found = longest_periods(hot, SlidingWindows([end_h * HOUR_US], size_us=24 * HOUR_US))
    return dict(zip(found.group.tolist(), cast_duration(found.duration_us, "hour").tolist(), strict=True))


class TestExample1:
    """Regions of similar humidity for 4 minutes or longer in the past 60, at every minute."""

    READINGS: tuple[Fact, ...] = (
        *((minute, minute + 1, "north", 60) for minute in range(10)),
        (0, 3, "south", 75),
        *((minute, minute + 1, "south", 61) for minute in range(3, 8)),
        (8, 10, "south", 75),
    )
    EVERY_MINUTE = SlidingWindows.sliding(MINUTE_US, 10 * MINUTE_US, size_us=60 * MINUTE_US, slide_us=MINUTE_US)

    def test_regions_alike_from_the_third_minute_to_the_eighth(self) -> None:
        runs = _coalesced(_facts(list(self.READINGS), MINUTE_US))
        pairs = join_in_windows(runs, None, self.EVERY_MINUTE, tolerance=2, at_least_us=4 * MINUTE_US)
        assert (self.EVERY_MINUTE.end_us[pairs.window] // MINUTE_US).tolist() == [7, 8, 9, 10]
        assert set(runs.group[pairs.left]) | set(runs.group[pairs.right]) == {"north", "south"}
        assert cast_duration(duration_us(pairs.intervals), "minute").tolist() == [4, 5, 5, 5]
        assert set((pairs.intervals.start_us // MINUTE_US).tolist()) == {3}

    def test_uncoalesced_readings_never_last_long_enough(self) -> None:
        readings = _facts(list(self.READINGS), MINUTE_US)
        assert len(temporal_join(readings, tolerance=2).left) == 5
        assert len(join_in_windows(readings, None, self.EVERY_MINUTE, tolerance=2, at_least_us=4 * MINUTE_US).left) == 0


class TestExample2:
    """The longest time above 100 degrees in the past 24 hours, each hour, in each region."""

    CELSIUS = ("north", (99, 101, 103, 102, 98, 105, 105, 90)), ("south", (80, 80, 80, 101, 80, 80, 80, 80))
    READINGS: tuple[Fact, ...] = tuple(
        (hour, hour + 1, region, celsius) for region, each in CELSIUS for hour, celsius in enumerate(each)
    )

    def _hot(self) -> Facts:
        facts = _facts(list(self.READINGS), HOUR_US)
        return facts.where(facts.value > 100)

    def test_hot_hours_in_a_row_are_one_period(self) -> None:
        above = self._hot()
        hot = _coalesced(Facts(above.intervals.start_us, above.intervals.end_us, above.group))
        windows = SlidingWindows.sliding(HOUR_US, 32 * HOUR_US, size_us=24 * HOUR_US, slide_us=HOUR_US)
        found = longest_periods(hot, windows)
        hours = windows.end_us[found.window] // HOUR_US
        north = dict(zip(hours[found.group == "north"].tolist(), found.duration_us.tolist(), strict=False))
        assert _longest_h(hot, 3) == {"north": 2}
        assert _longest_h(hot, 8) == {"north": 3, "south": 1}
        assert _longest_h(hot, 27) == {"north": 2, "south": 1}  # of the first period the last hour is left
        assert min(north) == 2
        assert max(north) == 30  # hour 7 is the last hot one's end

    def test_uncoalesced_each_hour_is_a_period(self) -> None:
        assert _longest_h(self._hot(), 8) == {"north": 1, "south": 1}

    def test_equal_values_alone_are_not_what_is_asked_for(self) -> None:
        hot = _coalesced(self._hot())  # 101, 103 and 102 stay apart
        assert _longest_h(hot, 8) == {"north": 2, "south": 1}


class TestExample2InAStream:
    """The same as readings arrive, in any order: a filter comes after readings have their ends."""

    ROWS = tuple((hour, region, celsius) for region, each in TestExample2.CELSIUS for hour, celsius in enumerate(each))

    @pytest.mark.parametrize("scheme", [EagerCoalescing, LazyCoalescing])
    @pytest.mark.parametrize("seed", range(3))
    def test_a_cool_hour_ends_a_hot_period(self, scheme: type[EagerCoalescing | LazyCoalescing], seed: int) -> None:
        shuffled = random.Random(seed).sample(self.ROWS, len(self.ROWS))
        extent = scheme(WindowExtent(duration_us=24 * HOUR_US))
        for begin in range(0, len(shuffled), 5):
            hour, region, celsius = zip(*shuffled[begin : begin + 5], strict=True)
            extent.push(np.array(hour) * HOUR_US, region, id=hour, where=np.array(celsius) > 100)
        assert _longest_h(Facts.of(extent.scan()), 8) == {"north": 3, "south": 1}

    @pytest.mark.parametrize("scheme", [EagerCoalescing, LazyCoalescing])
    def test_a_filter_before_bridges_the_cool_hours(self, scheme: type[EagerCoalescing | LazyCoalescing]) -> None:
        extent = scheme(WindowExtent(duration_us=24 * HOUR_US))
        hour, region, _ = zip(*(row for row in self.ROWS if row[2] > 100), strict=True)
        extent.push(np.array(hour) * HOUR_US, region)
        assert _longest_h(Facts.of(extent.scan()), 8) == {"north": 5}  # 1 to 6, though hour 4 was cool


class TestExample3:
    """Andy's salary: Table 1, without coalescing Table 2, with it Table 3."""

    TABLE_1 = (  # name, department, salary in thousands, start, end
        ("Andy", "Development", 100, 2000, 2004),
        ("Andy", "Development", 120, 2004, 2008),
        ("Andy", "R&D", 120, 2008, None),
    )
    TABLE_2 = Facts(  # without the department
        [_year_us(start) for *_, start, _ in TABLE_1],
        [NOW_US if end is None else _year_us(end) for *_, end in TABLE_1],
        group=[name for name, *_ in TABLE_1],
        value=[salary for _, _, salary, *_ in TABLE_1],
    )
    TABLE_3 = Facts([_year_us(2000), _year_us(2004)], [_year_us(2004), NOW_US], group=["Andy"] * 2, value=[100, 120])

    def test_coalescing_table_2_gives_table_3(self) -> None:
        found = _coalesced(self.TABLE_2)
        assert found.intervals.start_us.tolist() == self.TABLE_3.intervals.start_us.tolist()
        assert found.intervals.end_us.tolist() == self.TABLE_3.intervals.end_us.tolist()
        assert found.value.tolist() == self.TABLE_3.value.tolist()

    def test_uncoalesced_the_salary_of_120_seems_younger_than_it_is(self) -> None:
        days = [
            cast_duration(duration_us(table.intervals, now_us=_year_us(2010)), "day")[table.value == 120].max()
            for table in (self.TABLE_2, self.TABLE_3)
        ]
        assert days == [4 * 365 + 1, 6 * 365 + 2]


class TestExample4:
    """Figure 2: regions whose temperature did not change for two hours or more."""

    READINGS: tuple[Fact, ...] = tuple(
        (hour, hour + 1, region, celsius)
        for region, each in (("1", (81, 81, 81)), ("2", (81, 79, 81)), ("3", (81, 81, 81)))
        for hour, celsius in zip((13, 14, 15), each, strict=True)
    )

    def test_nine_tuples_become_five(self) -> None:
        runs = _coalesced(_facts(list(self.READINGS), HOUR_US))
        assert (len(self.READINGS), len(runs)) == (9, 5)
        steady = duration_us(runs.intervals) >= 2 * HOUR_US
        assert sorted(runs.group[steady]) == ["1", "3"]

    def test_uncoalesced_no_region_is_steady(self) -> None:
        readings = _facts(list(self.READINGS), HOUR_US)
        assert not (duration_us(readings.intervals) >= 2 * HOUR_US).any()
