"""Watermark, lateness and retention from their definitions, one row at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.reference.timing_join import Row


def watermarks(rows: Iterable[Row]) -> list[int]:
    """Watermark of each row's area after that row."""
    reached: dict[int | str, int] = {}
    after = []
    for row in rows:
        progress = min(row.latest_us, row.received_at_us)
        reached[row.area] = max(reached.get(row.area, progress), progress)
        after.append(reached[row.area])
    return after


def on_time(rows: list[Row], max_delay_us: Mapping[str, int]) -> list[Row]:
    """Rows that are not late when they come, in their order."""
    return [
        row
        for row, watermark_us in zip(rows, watermarks(rows), strict=True)
        if row.latest_us >= watermark_us - max_delay_us[row.stream]
    ]
