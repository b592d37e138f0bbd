"""Rates of unpaired detections: the query's word, or what was counted before a match less what belongs to events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.evidence import Network
from coincide.fusion.rows.rates import OTHERS, Background


def counted_hz(background: Background | None, stream: int, sensor: str) -> tuple[float | None, float]:
    """Return how often a sensor reports on a stream, and how often if once in all the time that was watched.

    The first is None where nobody has counted it.
    """
    if background is None:
        return None, 0.0
    counts = background.count.get(stream, {})
    is_counted = sensor in counts or OTHERS not in counts
    return counts.get(sensor, 0.0) / background.seconds if is_counted else None, 1.0 / background.seconds


def live_hz(background: Background | None, streams: tuple[int, ...]) -> dict[str, float]:
    """Return how often each sensor that lives reports on these streams."""
    if background is None:
        return {}
    counts, seconds = [background.count.get(stream, {}) for stream in streams], background.seconds
    return {name: sum(each.get(name, 0.0) for each in counts) / seconds for name in background.live(streams)}


def unpaired_hz(
    network: Network, sensor: Int64Array, live: BoolArray, counted: Sequence[float | None], least: Sequence[float]
) -> FloatArray:
    """Return how often each detection's sensor reports what no other sensor does; NaN where nobody has counted it.

    Detections that belong to events are those of events that another live sensor hears, too. At least one detection in
    all the time that was watched is taken to be unpaired: nothing seen yet does not mean never.

    Parameters
    ----------
    network : Network
    sensor : array of int, shape (detections,)
        Position in the network's sensors.
    live : array of bool, shape (sensors, detections)
        Which sensors live about then.
    counted, least : sequence of float, shape (detections,)
        What `counted_hz` returns.
    """
    misses = np.where(live, 1.0 - network.heard_by[:, None], 1.0)
    misses[sensor, np.arange(len(sensor))] = 1.0
    paired_hz = network.events_hz * network.heard_by[sensor] * (1.0 - misses.prod(axis=0))
    rates = np.array([np.nan if each is None else each for each in counted]) - paired_hz
    unpaired: FloatArray = np.maximum(rates, np.array(least))
    return unpaired
