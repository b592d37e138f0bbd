"""HealthTable counts what the slow twin counts, tells it in bounded pieces, and goes on from there after a restart."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.fusion.health.health_table import (
    EVERY_US,
    HALF_LIFE_S,
    LEVELS_KEPT,
    MOST_RECORDS,
    NOBODY,
    STEADY_ERRORS,
    HealthTable,
)
from coincide.wire.sensor_health import SensorHealth
from services.common.health_board import HealthBoard
from tests.reference import sensor_health as slow

SECOND_US = 1_000_000
NOON_US = 1_700_000_000 * SECOND_US
TEMPLATE, OTHER = "t-00000000000000aa", "t-ffffffffffffffff"


def hear(table: HealthTable, at_us: int, *sensors: str, area: str = "bay", late: bool = False) -> None:
    rows = np.array([table.row(area, sensor, "noise") for sensor in sensors])
    ones = np.ones(len(rows), np.int64)
    table.count(rows, ones, ones * late, np.full(len(rows), at_us))


def told(table: HealthTable, now_us: int) -> list[dict[str, Any]]:
    records = [json.loads(record.value) for record in table.tell(now_us).values() if record.value]
    return sorted(records, key=lambda each: (each["area"], each["part"]))


def board_of(*tables: tuple[HealthTable, int]) -> HealthBoard:
    board = HealthBoard()
    for table, now_us in tables:
        for record in table.tell(now_us).values():
            board.take(record.key, record.value)
    return board


def health(table: HealthTable, now_us: int, sensor: str) -> SensorHealth:
    found = board_of((table, now_us)).of(sensor, "noise")
    assert found is not None
    return found


@given(st.lists(st.tuples(st.sampled_from(["mic-1", "mic-2"]), st.integers(0, 7_200)), max_size=20))
def test_one_detection_counts_as_a_column_of_one(heard: list[tuple[str, int]]) -> None:
    table, twin = HealthTable(), HealthTable()
    for sensor, at_s in heard:
        at_us = NOON_US + at_s * SECOND_US
        table.count_one(table.row("bay", sensor, "noise"), at_us)
        hear(twin, at_us, sensor)
    assert table.tell(NOON_US) == twin.tell(NOON_US)


@given(st.lists(st.tuples(st.integers(0, 7_200), st.booleans()), min_size=1, max_size=40), st.data())
def test_rate_and_late_share_are_those_of_the_slow_twin_however_it_was_batched(
    heard: list[tuple[int, bool]], data: st.DataObject
) -> None:
    ordered = [(NOON_US + at_s * SECOND_US, late) for at_s, late in sorted(heard)]
    table, cut = HealthTable(), data.draw(st.integers(1, len(ordered)))
    for batch in (ordered[:cut], ordered[cut:]):
        if batch:
            row = np.full(len(batch), table.row("bay", "mic", "noise"))
            at_us, late = (np.array(column) for column in zip(*batch, strict=True))
            table.count(row, np.ones(len(batch), np.int64), late.astype(np.int64), at_us)
    found = health(table, ordered[-1][0], "mic")
    rate_hz, late_share = slow.figures(ordered, HALF_LIFE_S)
    assert found.last_seen_us == ordered[-1][0]
    assert found.late_share == pytest.approx(late_share, abs=1e-5)
    assert found.rate_hz == (None if rate_hz is None else pytest.approx(rate_hz, rel=1e-3, abs=1e-6))


@given(st.lists(st.integers(0, 19), min_size=1, max_size=700))
def test_levels_are_halved_so_that_older_errors_count_less(parts: list[int]) -> None:
    table = HealthTable()
    hear(table, NOON_US, "mic")
    for part in parts:
        table.add_level(table.row("bay", "mic", "noise"), TEMPLATE, part)
    drift = health(table, NOON_US, "mic").drift
    assert drift is not None
    assert drift.levels == slow.levels(parts, 20, LEVELS_KEPT)
    assert drift.template == TEMPLATE


def test_another_template_begins_anew_unless_each_detection_has_its_own() -> None:
    table = HealthTable()
    hear(table, NOON_US, "steady", "changing")
    steady, changing = (table.row("bay", sensor, "noise") for sensor in ("steady", "changing"))
    for nth in range(STEADY_ERRORS + 10):
        table.add_level(steady, TEMPLATE, 3)
        table.add_level(changing, (TEMPLATE, OTHER)[nth % 2], 3)
    table.add_level(steady, OTHER, 7)
    errors = {name: health(table, NOON_US + nth, name).drift for nth, name in ((0, "steady"),)}
    assert errors["steady"] is not None
    assert (errors["steady"].errors, errors["steady"].template) == (1, OTHER)
    table.add_level(changing, OTHER, 3)
    drift = health(table, NOON_US + EVERY_US, "changing").drift
    assert drift is not None
    assert drift.errors == STEADY_ERRORS + 11


def test_a_part_is_told_at_once_then_at_most_every_ten_seconds_and_only_if_it_changed() -> None:
    table = HealthTable()
    hear(table, NOON_US, "a")
    assert len(told(table, NOON_US)) == 1
    hear(table, NOON_US + SECOND_US, "a")
    assert told(table, NOON_US + EVERY_US - 1) == []
    assert len(told(table, NOON_US + EVERY_US)) == 1
    assert told(table, NOON_US + 5 * EVERY_US) == []
    hear(table, NOON_US, "a")
    assert len(told(table, NOON_US - 100 * EVERY_US)) == 1  # the clock was set back


def test_what_one_batch_tells_is_bounded_and_all_are_told_in_the_end() -> None:
    table, areas = HealthTable(), 3 * MOST_RECORDS + 1
    for nth in range(areas):
        hear(table, NOON_US, f"mic-{nth}", area=f"area-{nth}")
    sizes = [len(table.tell(NOON_US)) for _ in range(5)]
    assert sizes == [MOST_RECORDS, MOST_RECORDS, MOST_RECORDS, 1, 0]
    crowd = HealthTable()
    hear(crowd, NOON_US, *(f"mic-{nth}" for nth in range(3_000)))
    records = [told(crowd, NOON_US) for _ in range(4)]
    assert [sum(len(record["sensors"]) for record in some) for some in records] == [1_024, 1_024, 952, 0]
    assert max(len(json.dumps(record)) for some in records for record in some) < 65_536


def test_a_full_table_forgets_those_silent_for_longest_and_their_parts() -> None:
    table = HealthTable(most=8, rows_of_part=2)
    for nth in range(8):
        hear(table, NOON_US + nth, f"mic-{nth}", area=f"area-{nth // 4}")
    board = board_of((table, NOON_US))
    assert table.is_full
    assert table.row("area-9", "newcomer", "noise") == NOBODY
    table.forget()
    assert len(table) == 5
    hear(table, NOON_US + 9, "newcomer", area="area-9")
    for record in table.tell(NOON_US + EVERY_US).values():
        board.take(record.key, record.value)
    known = {nth for nth in range(8) if board.of(f"mic-{nth}", "noise")}
    assert known == {3, 4, 5, 6, 7}
    assert board.of("newcomer", "noise") is not None


@given(st.data())
def test_a_restart_goes_on_from_what_was_told(data: st.DataObject) -> None:
    names = st.sampled_from([f"mic-{nth}" for nth in range(6)])
    table, saved, now_us = HealthTable(rows_of_part=2), dict[int, bytes](), NOON_US
    for _ in range(data.draw(st.integers(1, 6))):
        now_us += EVERY_US
        hear(table, now_us, *data.draw(st.lists(names, min_size=1, unique=True)), area=data.draw(st.sampled_from("xy")))
        if (row := table.known_row("x", "mic-0", "noise")) != NOBODY:
            table.add_level(row, TEMPLATE, data.draw(st.integers(0, 19)))
        for number, record in table.tell(now_us).items():
            saved[number] = record.value or b""
    restarted = HealthTable(rows_of_part=2)
    restarted.recall({**saved, 10**6: b"no record"})
    for each in (table, restarted):
        hear(each, now_us + EVERY_US, "mic-0", "late-comer", area="x", late=True)
    first, second = (told(each, now_us + EVERY_US) for each in (table, restarted))
    assert [(each["area"], each["part"]) for each in first] == [(each["area"], each["part"]) for each in second]
    for one, other in zip(first, second, strict=True):
        for before, after in zip(one["sensors"], other["sensors"], strict=True):
            figures = [[each.pop(name) or 0.0 for name in ("rate_hz", "late_share")] for each in (before, after)]
            assert figures[1] == pytest.approx(figures[0], rel=1e-3)
            assert after == before


def test_however_many_there_are_a_restart_forgets_none() -> None:
    table, saved = HealthTable(), dict[int, bytes]()
    hear(table, NOON_US, *(f"mic-{nth}" for nth in range(3_000)))
    while new := table.tell(NOON_US):
        saved |= {number: record.value or b"" for number, record in new.items()}
    restarted = HealthTable()
    restarted.recall(saved)
    hear(restarted, NOON_US + SECOND_US, *(f"mic-{nth}" for nth in range(99, 3_000, 100)))
    board = HealthBoard()
    while new := restarted.tell(NOON_US + SECOND_US):
        for record in new.values():
            board.take(record.key, record.value)
    heard = [board.of(f"mic-{nth}", "noise") for nth in range(3_000)]
    assert {each.since_us for each in heard if each} == {NOON_US}
    assert {each.last_seen_us for each in heard if each} == {NOON_US, NOON_US + SECOND_US}
    assert None not in heard
