"""The timing join from its definition: every pair of rows, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from coincide import Histogram, Window, satisfaction_offsets


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


def sensors_allow(rule: str, one: Row, other: Row) -> bool:
    same = one.sensor is not None and one.sensor == other.sensor
    return rule == "any" or (rule == "same") == same


@cache
def offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> list[list[int]]:
    intervals: list[list[int]] = satisfaction_offsets(u, v, window, threshold).tolist()
    return intervals


def is_match(a: Row, b: Row, window: Window, threshold: float, sensors: str) -> bool:
    if a.id == b.id or a.area != b.area or not sensors_allow(sensors, a, b):
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
    return set(_pairs(rows, a, b, window, threshold, sensors))


def _pairs(
    rows: list[Row], a: str, b: str, window: Window, threshold: float, sensors: str
) -> Iterator[tuple[int, int]]:
    unordered = a == b and window.is_symmetric
    for one in rows:
        for other in rows:
            if (one.stream, other.stream) != (a, b):
                continue
            if unordered and role_order(one) > role_order(other):
                continue
            if is_match(one, other, window, threshold, sensors):
                yield one.id, other.id
