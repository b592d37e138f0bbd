"""Blocks of matches, each a few thousand in the order of insertion: within what time they lie, and of which sensors.

Lists go by that order. Matches come nearly in the order of time, but not quite, and a rebuild brings old ones anew: no
index has both orders. So a list of some time looks only into those blocks that may have such matches.

An index that has all matches of a sensor side by side would be written at as many places as there are sensors. Here
each match is written into that of its block, which fits into memory, and a list of a sensor asks block after block.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, select

from services.alerting.store.dialect import in_this_order, insert_tuples, widen
from services.alerting.store.tables import match_blocks, match_sensors, matches

BLOCK_ROWS = 4096  # migrations 0005 and 0006 have made blocks of so many

Range = tuple[int, int]  # the first and the last sequence


def widen_blocks(connection: Connection, spans: Iterable[tuple[int, int, int]]) -> None:
    """Let the blocks have room for new matches: their sequences, and their spans of time."""
    rows: dict[int, dict[str, int]] = {}
    for sequence, earliest_us, latest_us in spans:
        number = sequence // BLOCK_ROWS
        row = rows.setdefault(number, {"block": number, "earliest_us": earliest_us, "latest_us": latest_us})
        row["earliest_us"] = min(row["earliest_us"], earliest_us)
        row["latest_us"] = max(row["latest_us"], latest_us)
    if rows:
        connection.execute(widen(connection, match_blocks, "earliest_us", "latest_us"), list(rows.values()))


def index_sensors(connection: Connection, of_matches: Iterable[tuple[int, Iterable[str]]]) -> None:
    """Note which sensors new matches have members of, by sequence."""
    rows = [(place // BLOCK_ROWS, sensor, place) for place, sensors in of_matches for sensor in set(sensors)]
    insert_tuples(connection, match_sensors, rows)


def forget_blocks(connection: Connection) -> None:
    """Forget the blocks before the oldest match."""
    oldest = connection.execute(select(func.min(matches.c.sequence))).scalar_one()
    for table in (match_blocks, match_sensors):
        gone = delete(table)
        connection.execute(gone if oldest is None else gone.where(table.c.block < oldest // BLOCK_ROWS))


def ranges_within(
    connection: Connection, from_us: int | None, to_us: int | None, before: int | None
) -> Iterator[Range]:
    """Yield where matches may be that overlap [from_us, to_us], newest first; of None, nothing restricts."""
    b = match_blocks.c
    wanted = _where_within(select(b.block).order_by(b.block.desc()), from_us, to_us, before)
    blocks = connection.execute(wanted).scalars().all()
    for _, run in groupby(enumerate(blocks), sum):  # the same as long as each is the one before less one
        numbers = [number for _, number in run]
        yield numbers[-1] * BLOCK_ROWS, (numbers[0] + 1) * BLOCK_ROWS - 1


def end_of_blocks(connection: Connection, after: int, count: int) -> int | None:
    """Return the last sequence of the next `count` blocks with matches above `after`; None where there are fewer."""
    block = match_blocks.c.block
    following = select(block).where(block >= (after + 1) // BLOCK_ROWS).order_by(block)
    last: int | None = connection.execute(following.limit(1).offset(count - 1)).scalar()
    return None if last is None else (last + 1) * BLOCK_ROWS - 1


#: From what a list of a sensor selects: no other order would find the newest first.
BLOCK_BY_BLOCK = in_this_order(match_blocks, match_sensors, matches)


def of_sensor(
    statement: Select[Any], sensor: str, from_us: int | None, to_us: int | None, before: int | None
) -> Select[Any]:
    """Return `statement`, which selects from `BLOCK_BY_BLOCK`, for matches of `sensor`, the newest block first.

    Only those blocks are asked that may have matches which overlap [from_us, to_us], before a sequence.
    """
    b, s = match_blocks.c, match_sensors.c
    statement = statement.where(s.block == b.block, s.sensor == sensor, matches.c.sequence == s.sequence)
    return _where_within(statement, from_us, to_us, before).order_by(b.block.desc())


def has_sensor(sensor: str) -> ColumnElement[bool]:
    """Return whether a match has a member of `sensor`, as a condition of a statement that goes from match to match."""
    s, place = match_sensors.c, matches.c.sequence
    return exists().where(s.block == place // BLOCK_ROWS, s.sensor == sensor, s.sequence == place)


def _where_within(statement: Select[Any], from_us: int | None, to_us: int | None, before: int | None) -> Select[Any]:
    b = match_blocks.c
    if from_us is not None:
        statement = statement.where(b.latest_us >= from_us)
    if to_us is not None:
        statement = statement.where(b.earliest_us <= to_us)
    return statement if before is None else statement.where(b.block <= before // BLOCK_ROWS)
