"""Blocks of matches: within what time those lie that have a few thousand neighbouring places in the order of insertion.

Lists go by that order. Matches come nearly in the order of time, but not quite, and a rebuild brings old ones anew: no
index has both orders. So a list of some time looks only into those blocks that may have such matches.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from sqlalchemy import Connection, delete, func, select

from services.alerting.store.dialect import widen
from services.alerting.store.tables import match_blocks, matches

BLOCK_ROWS = 4096  # migration 0005 has made blocks of so many

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


def forget_blocks(connection: Connection) -> None:
    """Forget the blocks before the oldest match."""
    oldest = connection.execute(select(func.min(matches.c.sequence))).scalar_one()
    gone = delete(match_blocks)
    connection.execute(gone if oldest is None else gone.where(match_blocks.c.block < oldest // BLOCK_ROWS))


def ranges_within(
    connection: Connection, from_us: int | None, to_us: int | None, before: int | None
) -> Iterator[Range]:
    """Yield where matches may be that overlap [from_us, to_us], newest first; of None, nothing restricts."""
    b = match_blocks.c
    wanted = select(b.block).order_by(b.block.desc())
    if from_us is not None:
        wanted = wanted.where(b.latest_us >= from_us)
    if to_us is not None:
        wanted = wanted.where(b.earliest_us <= to_us)
    if before is not None:
        wanted = wanted.where(b.block <= before // BLOCK_ROWS)
    blocks = connection.execute(wanted).scalars().all()
    for _, run in groupby(enumerate(blocks), sum):  # the same as long as each is the one before less one
        numbers = [number for _, number in run]
        yield numbers[-1] * BLOCK_ROWS, (numbers[0] + 1) * BLOCK_ROWS - 1
