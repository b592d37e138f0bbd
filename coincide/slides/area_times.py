"""The rows of batches by area, and when something was recorded in each area."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import CodeArray, PositionArray
from coincide.joins.detections import Detections
from coincide.joins.labels import area_codes, sensor_codes
from coincide.thresholds.recorded_times import RecordedTime, recorded_time


@dataclass(frozen=True, eq=False)
class AreaTime:
    """The rows of one area, one array for each batch, with codes of their sensors, and its recorded time.

    Codes are below 0 where there is no sensor. Such rows count as those of one sensor for the recorded time.
    """

    area: int
    rows: Sequence[PositionArray]
    sensors: Sequence[CodeArray]
    recorded: RecordedTime


def area_times(batches: Sequence[Detections]) -> Iterator[AreaTime]:
    """Yield each area that has rows, in the order of their codes, which are those of `area_codes`."""
    areas, sensors = area_codes(batches), sensor_codes(batches)
    for code in np.unique(np.concatenate([np.unique(each) for each in areas])).tolist():
        rows = [np.flatnonzero(area == code) for area in areas]
        of_area = [sensor[at] for sensor, at in zip(sensors, rows, strict=True)]
        times_us = np.concatenate([batch.detected_at_us[at] for batch, at in zip(batches, rows, strict=True)])
        busiest = max(int(np.unique(each, return_counts=True)[1].max(initial=0)) for each in of_area)
        yield AreaTime(code, rows, of_area, recorded_time(times_us, busiest))
