"""A join cut into cells of time, without Spark: rows are brought to the cells that see them, and answered for there."""

from collections.abc import Sequence

import numpy as np

from coincide import Detections
from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.chunks.chunk_joins import ChunkedQuery, owned_tuples
from coincide.chunks.time_cells import TimeCells, buckets_of
from coincide.joins.labels import area_codes

BUCKETS = 3


def chunked(query: ChunkedQuery, sides: Sequence[Detections], reaches_a_cell: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each tuple, by the positions of its members; none may be found twice."""
    cells = cells_of(query, sides, reaches_a_cell)
    areas = [codes.astype(np.int64) for codes in area_codes(sides)]
    found: dict[tuple[int, ...], float] = {}
    for bucket in range(BUCKETS):
        seen = [
            seen_rows(query, cells, side, areas[side], batch.detected_at_us, bucket) for side, batch in enumerate(sides)
        ]
        known = np.unique(np.concatenate([chunks for _, chunks, _ in seen]), axis=0)
        batches, owned = [], []
        for batch, (rows, chunks, is_owned) in zip(sides, seen, strict=True):
            code = [known.tolist().index(chunk) for chunk in chunks.tolist()]
            batches.append(batch.take(rows).in_areas(np.array(code, np.int64)))
            owned.append(is_owned)
        for block in owned_tuples(query, batches, owned):
            positions = [
                np.where(at < 0, -1, np.append(seen[side][0], -1)[at])
                for at, side in zip(block.rows, query.side_of_role, strict=True)
            ]
            for members, probability in zip(np.array(positions).T.tolist(), block.probability().tolist(), strict=True):
                assert tuple(members) not in found
                found[tuple(members)] = probability
    return found


def cells_of(query: ChunkedQuery, sides: Sequence[Detections], reaches_a_cell: int) -> TimeCells:
    """Return cells so many times as long as the reach, shorter than a session has them; one cell where it has one."""
    cells = TimeCells.of(query.reach_us([side.templates for side in sides]))
    return cells if cells.length_us == 0 else TimeCells(max(reaches_a_cell * cells.reach_us, 1), cells.reach_us)


def seen_rows(
    query: ChunkedQuery, cells: TimeCells, side: int, area: Int64Array, time_us: Int64Array, bucket: int
) -> tuple[Int64Array, Int64Array, BoolArray]:
    """Return the rows of a bucket, their chunks (area, cell), and whether it is their own; in an order of chance."""
    rows, shift = cells.seen(time_us, query.sight(side))
    chunks = np.array([area[rows], cells.number(time_us)[rows] + shift], np.int64).T
    mine = np.flatnonzero(buckets_of(chunks[:, 0], chunks[:, 1], BUCKETS) == bucket)
    mine = np.random.default_rng(bucket).permutation(mine)
    return rows[mine], chunks[mine], shift[mine] == 0
