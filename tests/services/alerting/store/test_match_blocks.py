"""Lists of some time look only into blocks that may have such matches, whatever the order in which these came."""

import json
import random
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, select

from services.alerting.store import match_blocks
from services.alerting.store.dialect import migrate
from services.alerting.store.expiry import Expiry
from services.alerting.store.match_rows import MatchFilter, read_newest_first
from services.alerting.store.tables import match_blocks as blocks
from tests.services.alerting.sample_records import ROOM, Database, match_record

HOUR_S = 3600.0
SENSORS = [("imb", "baksan"), ("imb", "imb"), ("baksan", "kamiokande")]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_blocks, "BLOCK_ROWS", 4)


def stored(database: Database, times_us: Sequence[int]) -> list[int]:
    """Store a match of 10 µs for each time; return their sequences."""
    records = [
        match_record(f"m-{n}", earliest_us=at, latest_us=at + 10, sensors=SENSORS[n % 3])
        for n, at in enumerate(times_us)
    ]
    return [row.sequence for first in range(0, len(records), 7) for row in database.store(records[first : first + 7])]


def test_pages_of_a_time_have_all_that_overlap_it_and_each_once(database: Database) -> None:
    chance = random.Random(11)
    times_us = [40 * n + chance.randrange(200) for n in range(150)] + [6000 - 50 * n for n in range(40)]
    sequences = stored(database, times_us)
    for _ in range(60):
        from_us, to_us = sorted((chance.randrange(-100, 6500), chance.randrange(-100, 6500)))
        sensor = chance.choice([None, "imb", "baksan", "kamiokande", "nobody"])
        wanted = MatchFilter(None, None, sensor, chance.choice([None, from_us]), chance.choice([to_us, None]))
        expected = [n for n, at in enumerate(times_us) if _overlaps(at, wanted) and sensor in (None, *SENSORS[n % 3])]
        found: list[int] = []
        before = None
        while page := database.read(read_newest_first, wanted, before, 9):
            found += [int(json.loads(row.body)["id"].removeprefix("m-")) for row in page]
            before = page[-1].sequence
        assert found[::-1] == expected
    assert sequences == sorted(sequences)


def _overlaps(at_us: int, wanted: MatchFilter) -> bool:
    return (wanted.from_us is None or at_us + 10 >= wanted.from_us) and (wanted.to_us is None or at_us <= wanted.to_us)


def test_only_what_may_overlap_is_looked_into(database: Database) -> None:
    sequences = stored(database, [1000 * n for n in range(400)])
    [(first, last)] = database.read(_ranges, 200_000, 200_005, None)
    assert first <= sequences[200] <= last < first + 8
    assert database.read(_ranges, 1000 * 400, None, None) == []
    late = database.store([match_record("late", earliest_us=200_000, latest_us=200_001)])[0].sequence
    (newest, _), (again, _) = database.read(_ranges, 200_000, 200_005, None)
    assert newest <= late
    assert again == first
    assert database.read(_ranges, 200_000, 200_005, sequences[100]) == []


@pytest.mark.parametrize("times_us", [range(0, 900, 100), range(900, 0, -100)], ids=["later", "earlier"])
def test_a_block_has_room_for_what_comes_after(database: Database, times_us: Sequence[int]) -> None:
    for at in times_us:
        database.store([match_record(f"m-{at}", earliest_us=at, latest_us=at)])
    for at in times_us:
        assert len(database.read(read_newest_first, MatchFilter(from_us=at, to_us=at), None, 9)) == 1


def test_blocks_go_with_the_matches_in_them(database: Database) -> None:
    database.store([match_record(f"m-{n}", received_at_us=n) for n in range(40)])
    database.store([match_record("young", received_at_us=2**60)])
    expiry = Expiry(database.engine, database.metrics, (HOUR_S, HOUR_S), ROOM, chunk_rows=5, every_s=60.0)
    assert (database.rows("match_blocks") > 9, database.rows("match_sensors")) == (True, 82)
    while expiry.is_due():
        expiry.run_if_due()
    assert [database.rows(table) for table in ("matches", "match_blocks")] == [1, 1]
    assert database.rows("match_sensors") <= 2 * 4  # of the last block


def test_the_migration_makes_the_blocks_of_what_is_stored(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_blocks, "BLOCK_ROWS", 4096)
    stored(database, [7 * n % 1000 for n in range(300)])
    made = database.read(_all_blocks)
    with database.engine.begin() as connection:
        for later in (
            "match_blocks",
            "match_sensors",
            "evidence",
            "evidence_members",
            "episode_members",
            "episode_sureness",
        ):
            connection.exec_driver_sql(f"DROP TABLE {later}")
        connection.exec_driver_sql("ALTER TABLE matches ADD COLUMN sensors text NOT NULL DEFAULT '[]'")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0004'")
    migrate(database.engine)
    assert database.read(_all_blocks) == made


def _ranges(connection: Connection, *bounds: int | None) -> list[tuple[int, int]]:
    return list(match_blocks.ranges_within(connection, *bounds))


def _all_blocks(connection: Connection) -> list[tuple[int, ...]]:
    return [tuple(row) for row in connection.execute(select(blocks).order_by(blocks.c.block))]
