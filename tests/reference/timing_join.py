"""The timing join from its definition, one pair of rows at a time; watermark and lateness, one row at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from coincide import Detections, Histogram, Pairs, Window, satisfaction_offsets


@dataclass(frozen=True)
class Row:
    """One detection; `id` breaks ties of time and sensor."""

    id: int
    stream: str
    detected_at_us: int
    template: Histogram
    area: int | str
    sensor: int | str | None
    received_at_us: int

    @property
    def latest_us(self) -> int:
        return self.detected_at_us + self.template.latest_us


@cache
def offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> list[list[int]]:
    intervals: list[list[int]] = satisfaction_offsets(u, v, window, threshold).tolist()
    return intervals


def is_match(a: Row, b: Row, window: Window, threshold: float, sensors: str) -> bool:
    one_sensor = a.sensor is not None and a.sensor == b.sensor
    if a.id == b.id or a.area != b.area or (sensors != "any" and (sensors == "same") != one_sensor):
        return False
    offset_us = b.detected_at_us - a.detected_at_us
    return any(lo <= offset_us <= hi for lo, hi in offsets(a.template, b.template, window, threshold))


def role_order(row: Row) -> tuple[int, str, int]:
    label = f"{row.sensor:020d}" if isinstance(row.sensor, int) else row.sensor or ""
    return row.detected_at_us, label, row.id


def timing_join(
    rows: list[Row], a: str, b: str, window: Window, threshold: float, sensors: str
) -> set[tuple[int, int]]:
    """Ids of all matching pairs (role a, role b) of streams `a` and `b`."""
    unordered = a == b and window.is_symmetric
    pairs = ((one, other) for one, other in product(rows, rows) if (one.stream, other.stream) == (a, b))
    ordered = (pair for pair in pairs if not (unordered and role_order(pair[0]) > role_order(pair[1])))
    return {(one.id, other.id) for one, other in ordered if is_match(one, other, window, threshold, sensors)}


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
    with_watermarks = zip(rows, watermarks(rows), strict=True)
    return [row for row, reached_us in with_watermarks if row.latest_us >= reached_us - max_delay_us[row.stream]]


def row_lists(most: int, **columns: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Row]]:
    """Rows of the streams x and y whose other columns are drawn from these; ids are positions."""
    rows = st.lists(st.builds(Row, id=st.just(0), stream=st.sampled_from(["x", "y"]), **columns), max_size=most)
    return rows.map(lambda drawn: [replace(row, id=position) for position, row in enumerate(drawn)])


def detections_of(rows: Sequence[Row], templates: Sequence[Histogram]) -> Detections:
    labels = {"area": [row.area for row in rows], "sensor": [row.sensor or 0 for row in rows]}
    labels |= {"id": [row.id for row in rows], "received_at_us": [row.received_at_us for row in rows]}
    index = [templates.index(row.template) for row in rows]
    return Detections([row.detected_at_us for row in rows], templates, index, **labels)


def couples(pairs: Pairs) -> list[tuple[Any, Any]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
