"""How long a page of matches takes in a large database: SQLite, and PostgreSQL where `--postgres` names one.

The URL names an empty database, as in `--postgres "postgresql://coincide@/pages?host=/tmp"`; what is made in it stays.
Wall time of the slowest of some readings, each over a connection that has read nothing yet.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from sqlalchemy import Engine, text

from benchmarks.harness.declaration import Benchmark, Options, Table
from services.alerting.store.dialect import migrate, open_engine
from services.alerting.store.match_rows import MatchFilter, read_after, read_newest_first

PAGE_ROWS = 101
ROWS_A_STATEMENT = 250_000
DAYS = 90
HOUR_US = 3_600_000_000
LAST_US = 1_790_000_000_000_000

#: Matches as they come over 90 days: 10 queries, 100 areas, 1,000 sensors, ids in no order; one in a million is rare.
FILL = text(
    """
    WITH RECURSIVE numbers(n) AS (
        SELECT CAST(:first AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :first + :count
    )
    INSERT INTO matches (
        sequence, id, query, query_version, area, probability, earliest_us, latest_us, received_at_us, body
    )
    SELECT
        n + 1, 'm-' || (n * 829327843 % 1000000007),
        CASE WHEN n % 1000003 = 7 THEN 'rare' ELSE 'query-' || (n * 7919 % 1009 % 10) END, 1,
        'area-' || (n * 104729 % 100003 % 100), 0.5 + (n * 31337 % 1000) / 2500.0,
        :begin + n * :apart, :begin + n * :apart + 2000000, :begin + n * :apart + 3000000, :body
    FROM numbers
    """
)
FILL_SENSORS = text(
    """
    INSERT INTO match_sensors (block, sensor, sequence)
    SELECT sequence / 4096, 's-' || (sequence * 613 % 997), sequence FROM matches
    WHERE sequence > :first AND sequence <= :first + :count
    UNION
    SELECT sequence / 4096,
        CASE WHEN sequence % 1000003 = 8 THEN 'rare' ELSE 's-' || (sequence * 617 % 991) END, sequence
    FROM matches WHERE sequence > :first AND sequence <= :first + :count
    """
)
FILL_BLOCKS = text(
    """
    INSERT INTO match_blocks (block, earliest_us, latest_us)
    SELECT sequence / 4096, min(earliest_us), max(latest_us) FROM matches GROUP BY sequence / 4096
    """
)


class Size(NamedTuple):
    matches: int


SIZES, QUICK = [Size(1_000_000), Size(10_000_000)], [Size(5_000)]


def filled(engine: Engine, matches: int) -> None:
    """Migrate the database and fill it."""
    migrate(engine)
    apart = DAYS * 24 * HOUR_US // matches
    said = {"begin": LAST_US - apart * matches, "apart": apart, "body": '{"v":1}' + " " * 500}
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA cache_size = -4000000")
        for first in range(0, matches, ROWS_A_STATEMENT):
            count = min(ROWS_A_STATEMENT, matches - first)
            connection.execute(FILL, {**said, "first": first, "count": count})
            connection.execute(FILL_SENSORS, {"first": first, "count": count})
            connection.commit()
        connection.execute(FILL_BLOCKS)
        connection.commit()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")


def pages(matches: int) -> Mapping[str, tuple[MatchFilter, int | None]]:
    """Return filters, and the sequence before which a page begins, by what it is."""
    middle_us = LAST_US - DAYS * 12 * HOUR_US
    return {
        "the newest": (MatchFilter(), None),
        "live ones only": (MatchFilter(superseded=False), None),
        "after half of them": (MatchFilter(superseded=False), matches // 2),
        "of a query": (MatchFilter(query="query-3"), None),
        "of a rare query": (MatchFilter(query="rare"), None),
        "of an area": (MatchFilter(area="area-3"), None),
        "of a query in an area": (MatchFilter(query="query-3", area="area-3"), None),
        "of a sensor": (MatchFilter(sensor="s-3"), None),
        "of a rare sensor": (MatchFilter(sensor="rare"), None),
        "of a sensor with none": (MatchFilter(sensor="nobody"), None),
        "of a sensor and that hour": (MatchFilter(sensor="s-3", from_us=middle_us, to_us=middle_us + HOUR_US), None),
        "the most probable": (MatchFilter(min_probability=0.899), None),
        "of the last hour": (MatchFilter(from_us=LAST_US - HOUR_US), None),
        "of the last second": (MatchFilter(from_us=LAST_US - 1_000_000), None),
        "of an hour, 45 days ago": (MatchFilter(from_us=middle_us, to_us=middle_us + HOUR_US), None),
        "of a query and that hour": (MatchFilter("query-3", from_us=middle_us, to_us=middle_us + HOUR_US), None),
        "of the first hour": (MatchFilter(to_us=LAST_US - DAYS * 24 * HOUR_US + HOUR_US), None),
        "of a time with none": (MatchFilter(to_us=0), None),
    }


def slowest_ms(engine: Engine, filters: MatchFilter, before: int | None, rounds: int) -> float:
    """Return how long the slowest of some readings of a page took."""
    taken_s = []
    for _ in range(rounds):
        with engine.connect() as connection:
            begun_s = time.perf_counter()
            read_newest_first(connection, filters, before, PAGE_ROWS)
            taken_s.append(time.perf_counter() - begun_s)
        engine.dispose()
    return max(taken_s) * 1e3


def missed_ms(engine: Engine, after: int) -> float:
    """Return how long a page of the live stream's replay took."""
    with engine.connect() as connection:
        begun_s = time.perf_counter()
        read_after(connection, MatchFilter(), after, 500)
        return (time.perf_counter() - begun_s) * 1e3


def rows(size: Size, options: Options) -> Iterator[list[Any]]:
    """Yield what each page takes in each store."""
    with ExitStack() as made:
        folder = made.enter_context(tempfile.TemporaryDirectory())
        urls = {"SQLite": f"sqlite:///{folder}/pages.sqlite3", "PostgreSQL": options.postgres}
        engines = {name: open_engine(url) for name, url in urls.items() if url}
        for engine in engines.values():
            made.callback(engine.dispose)
            filled(engine, size.matches)
        for page, (filters, before) in pages(size.matches).items():
            taken = (slowest_ms(each, filters, before, options.rounds_of(5)) for each in engines.values())
            yield [size.matches, page, *(f"{ms:.1f}" for ms in taken)]
        replayed = (missed_ms(each, size.matches // 2) for each in engines.values())
        yield [size.matches, "of a replay", *(f"{ms:.1f}" for ms in replayed)]


def tables(options: Options) -> Iterator[Table]:
    """Yield a table for each size; a PostgreSQL, which starts empty, has the last of them only."""
    stores = ["SQLite, ms", *(["PostgreSQL, ms"] if options.postgres else [])]
    sizes = QUICK if options.quick else SIZES[-1:] if options.postgres else SIZES
    for size in sizes:
        yield Table(["matches", "page", *stores], rows(size, options))


BENCHMARKS = [Benchmark("list_pages", "a page of matches from a large database", [tables])]
