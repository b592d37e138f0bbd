"""Backgrounds: what each new row of a batch finds counted of its area, and the counting of the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import Int64Array
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns
from spark_jobs.rows.rates import MINUTE_US, Background


@dataclass(frozen=True)
class Backgrounds:
    """The background of each accepted row."""

    first_seq: int
    minute: Int64Array  # event time of each row: its area's watermark there, in minutes since the epoch
    of_minute: dict[tuple[int, int], Background | None]  # by area code and minute

    def at(self, area: int, seq: int) -> Background | None:
        """Return what was known in an area when one of the accepted rows came; None if not enough had been seen."""
        return self.of_minute[area, int(self.minute[seq - self.first_seq])]


def count_detections(areas: Areas, rows: EventColumns, watermark_us: Int64Array) -> Backgrounds:
    """Count accepted rows, in the order of their areas' event time, which is the area's watermark at each row."""
    minute = watermark_us // MINUTE_US
    of_minute: dict[tuple[int, int], Background | None] = {}
    for nth, count in zip(*_alike(rows, minute), strict=True):  # a sensor is of one area
        area, sensor = areas.area_of(rows.area[nth]), areas.sensor_of(rows.sensor[nth])
        key = (area.code, int(minute[nth]))
        if key not in of_minute:
            area.rates.advance(key[1])
            of_minute[key] = area.rates.background()
        area.rates.count(sensor.name, int(rows.stream[nth]), count)
    return Backgrounds(int(rows.seq[0]) if len(rows) else 0, minute, of_minute)


def _alike(rows: EventColumns, minute: Int64Array) -> tuple[list[int], list[int]]:
    """Return the first row of each (minute, sensor, stream), in order, and how many are alike."""
    sensors, streams = (int(codes.max(initial=0)) + 1 for codes in (rows.sensor, rows.stream))
    key = ((minute - minute.min(initial=0)) * sensors + rows.sensor) * streams + rows.stream
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first)  # not by code: a restart gives out other codes
    return first[order].tolist(), counts[order].tolist()
