"""Echoes: reports that a sensor makes again of what it has just reported. One event then counts once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.arrays.numbers import is_number
from coincide.constraints.conditions import UNKNOWN_SENSOR
from coincide.constraints.window import MICROSECONDS_PER_SECOND
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections
from coincide.joins.labels import area_codes, sensor_codes

LONGEST_ECHO_S = 1e9


def without_echoes(batch: Detections, echo_s: float) -> Detections:
    """Return a stream's detections without echoes, in their order.

    A report is an echo if its sensor made another one in the same area at most `echo_s` before it, an echo or not. So
    of a series of reports none of which is further from the last the first counts, and what counts depends neither on
    the order of rows nor on how they are parted, as long as a part begins with a pause longer than that. Of reports at
    one time the first by id counts, then by position. Who names no sensor makes no echoes.

    Parameters
    ----------
    batch : Detections
    echo_s : float
        From 0 to 1e9. At 0 only a report at the very time of another one is an echo.

    Raises
    ------
    DetectionsError

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> bangs = Detections([0, 200_000, 5_000_000], [Histogram.point()], sensor=["a"] * 3)
    >>> without_echoes(bangs, 0.5).detected_at_us.tolist()
    [0, 5000000]
    """
    if not is_number(echo_s) or not 0 <= echo_s <= LONGEST_ECHO_S:
        raise DetectionsError("echo_s", echo_s, f"seconds, from 0 to {LONGEST_ECHO_S:g}")
    [area], [sensor] = area_codes([batch]), sensor_codes([batch])
    known = np.flatnonzero(sensor != UNKNOWN_SENSOR)
    source = area[known].astype(np.int64) * (int(sensor.max(initial=0)) + 1) + sensor[known]
    names = None if batch.id is None else batch.id[known]
    counts: BoolArray = np.ones(len(batch), np.bool_)
    counts[known] = ~are_echoes(source, batch.detected_at_us[known], round(echo_s * MICROSECONDS_PER_SECOND), names)
    return batch if counts.all() else batch.take(counts)


def are_echoes(
    source: Int64Array, detected_at_us: Int64Array, echo_us: int, name: npt.NDArray[np.generic] | None = None
) -> BoolArray:
    """Whether each report is an echo, shape (n,); `source` is a number for its sensor, stream and area.

    Of reports at one time the first by `name` is none, then by position.
    """
    order = np.lexsort((detected_at_us, source) if name is None else (name, detected_at_us, source))
    follows = np.diff(source[order]) == 0
    echoes: BoolArray = np.zeros(len(source), np.bool_)
    echoes[order[1:]] = follows & (np.diff(detected_at_us[order]) <= echo_us)
    return echoes
