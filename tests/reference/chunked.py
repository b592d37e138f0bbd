"""A join cut into chunks, without Spark: rows are counted, brought to their chunks and answered for, task by task."""

from collections.abc import Sequence

import numpy as np

from coincide import Detections
from coincide.arrays.kinds import Int64Array
from coincide.chunks.chunk_joins import ChunkedQuery, owned_tuples
from coincide.chunks.cutting import AreaCounts, CellCounts, Chunks, cut
from coincide.joins.labels import area_codes


def chunked(query: ChunkedQuery, sides: Sequence[Detections], chunk_rows: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each tuple, by the positions of its members; none may be found twice."""
    codes = area_codes(sides)
    known = np.unique(np.concatenate(codes))
    areas = [np.searchsorted(known, code) for code in codes]
    chunks = chunks_of(areas, sides, query, chunk_rows)
    found: dict[tuple[int, ...], float] = {}
    for task in range(chunks.tasks):
        parts = [seen_rows(chunks, area, side.detected_at_us, task) for area, side in zip(areas, sides, strict=True)]
        batches = [side.take(rows).in_areas(chunk) for side, (rows, chunk) in zip(sides, parts, strict=True)]
        owned = [
            chunks.owns(chunk, side.detected_at_us[rows]) for side, (rows, chunk) in zip(sides, parts, strict=True)
        ]
        for block in owned_tuples(query, batches, owned):
            positions = [
                np.where(at < 0, -1, np.append(parts[side][0], -1)[at])
                for at, side in zip(block.rows, query.side_of_role, strict=True)
            ]
            for members, probability in zip(np.array(positions).T.tolist(), block.probability().tolist(), strict=True):
                assert tuple(members) not in found
                found[tuple(members)] = probability
    return found


def chunks_of(areas: Sequence[Int64Array], sides: Sequence[Detections], query: ChunkedQuery, chunk_rows: int) -> Chunks:
    """Count the rows one by one, and cut them."""
    area, time_us = np.concatenate(areas), np.concatenate([side.detected_at_us for side in sides])
    of_areas = [time_us[area == each] for each in range(int(area.max(initial=-1)) + 1)]
    counts = AreaCounts(*np.array([_counts(times) for times in of_areas], np.int64).reshape(-1, 3).T)

    def count_cells(codes: Int64Array, level: Int64Array) -> CellCounts:
        level_of = dict(zip(codes.tolist(), level.tolist(), strict=True))
        rows = [
            (each, (at - int(counts.first_us[each])) >> level_of[each])
            for each, at in zip(area.tolist(), time_us.tolist(), strict=True)
            if each in level_of
        ]
        cells, numbers = np.unique(np.array(rows, np.int64).reshape(-1, 2), axis=0, return_counts=True)
        return CellCounts(cells[:, 0], cells[:, 1], numbers)

    reach_us = query.reach_us([side.templates for side in sides])
    return cut(counts, count_cells, reach_us, chunk_rows, looks_back=query.looks_back)


def seen_rows(chunks: Chunks, area: Int64Array, time_us: Int64Array, task: int) -> tuple[Int64Array, Int64Array]:
    """Return the rows that the chunks of a task see, and the chunk of each; in an order that nobody may rely on."""
    cell = (time_us - chunks.cells.first_us[area]) >> chunks.cells.level[area] if len(area) else time_us
    seen = zip(chunks.seen_area.tolist(), chunks.seen_cell.tolist(), chunks.seen_by.tolist(), strict=True)
    rows = [
        (row, by)
        for of_area, of_cell, by in seen
        if chunks.task[by] == task
        for row in np.flatnonzero((area == of_area) & (cell == of_cell)).tolist()
    ]
    shuffled = np.random.default_rng(task).permutation(np.array(rows, np.int64).reshape(-1, 2))
    return shuffled[:, 0], shuffled[:, 1]


def _counts(time_us: Int64Array) -> tuple[int, int, int]:
    return len(time_us), int(time_us.min()), int(time_us.max())
