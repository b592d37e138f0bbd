"""Recent rates: how often each sensor reported in the last minutes, for detections that come in bursts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number, whole_numbers
from coincide.errors import DetectionsError, RateError
from coincide.evidence.network import rates


def recent_rates(
    detected_at_us: npt.ArrayLike,
    sensor: npt.ArrayLike,
    usual_hz: npt.ArrayLike,
    *,
    lasts_s: float,
    usual_lasts_s: float,
) -> FloatArray:
    """Return how often each detection's sensor reported just before it, per second; float64 (detections,).

    Detections of events are among these. That is right for a rate of what chance alone gives only where most are not.

    Parameters
    ----------
    detected_at_us, sensor : array of integer, shape (detections,)
        In any order; the sensor is a position in `usual_hz`.
    usual_hz : array of float, shape (sensors,)
        How often each reports on the whole, above 0.
    lasts_s : float
        The time before each detection that counts, above 0.
    usual_lasts_s : float
        As how much time the usual rate counts beside it, above 0.

    Raises
    ------
    RateError, DetectionsError

    Examples
    --------
    >>> recent_rates([0, 1_000_000, 99_000_000], [0, 0, 0], [0.1], lasts_s=10, usual_lasts_s=10).tolist()
    [0.05, 0.1, 0.05]
    """
    for field, value in (("lasts_s", lasts_s), ("usual_lasts_s", usual_lasts_s)):
        if not is_number(value) or not 0 < value <= 1e9:
            raise RateError(field, value, "seconds above 0, up to 1e9")
    times = whole_numbers("detected_at_us", detected_at_us, None, DetectionsError)
    place = whole_numbers("sensor", sensor, times.shape, DetectionsError)
    usual = rates("usual_hz", usual_hz, np.shape(usual_hz))
    if place.size and not 0 <= place.min() <= place.max() < len(usual):
        raise DetectionsError("sensor", int(place.max()), f"positions among {len(usual)} sensors")
    counted = np.zeros(times.shape)
    for each in np.unique(place).tolist():
        own = np.flatnonzero(place == each)
        ordered = np.sort(times[own])
        begin = np.searchsorted(ordered, times[own] - round(lasts_s * 1e6))
        counted[own] = np.searchsorted(ordered, times[own]) - begin
    measured: FloatArray = (counted + usual[place] * usual_lasts_s) / (lasts_s + usual_lasts_s)
    return measured
