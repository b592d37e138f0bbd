"""The posterior that some detections are of one event, whoever else hears it: other sensors speak for it or against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, IndexArray
from coincide.arrays.numbers import positions_of, whole_numbers
from coincide.arrays.range_expansion import expanded_ranges
from coincide.errors import DetectionsError, RateError
from coincide.evidence.event_weights import EventWeights
from coincide.evidence.network import Network, rates
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates

MATCHES_AT_ONCE = 4_096


def posterior_with_others(
    network: Network,
    templates: Sequence[Histogram],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    sensor: npt.ArrayLike,
    members: npt.ArrayLike,
    *,
    unpaired_hz: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return the probability that all members of a match are of one event, whoever else hears it; float64 (n,).

    An event at a time T has the weight

        events_hz * product over all sensors of (1 - heard_by + heard_by * sum u(T - r) / unpaired_hz)

    where the sum is over the reports r of the sensor. So each other sensor speaks for the event where it reports at
    about that time, and against it where it is silent. The posterior is the weight of the events that made all members,
    over 1 and the weight of all that may have made any of them and are heard by two sensors or more. It takes it that
    at most one event was close enough to have made any of the members.

    All sensors count as alive, and clocks that they share as independent. The times at which an event comes to the
    sensors have to be in their templates. Where nobody else reports anything, and no other sensor is there, it is the
    posterior of `evidence_of`.

    Parameters
    ----------
    network : Network
        All its rates have to be known.
    templates : sequence of Histogram
    template_index, detected_at_us, sensor : array of integer, shape (detections,)
        Template, reported time and sensor (its position in `network.sensors`) of every detection of the time around,
        not only of members.
    members : array of integer, shape (k, n)
        Positions of each match's detections, each of another sensor.
    unpaired_hz : array of float, shape (detections,), optional
        The rate of unpaired detections of each one's sensor at its time, instead of the network's.

    Raises
    ------
    RateError, HistogramError, DetectionsError

    Examples
    --------
    Two reports fit each other as well as two others do, and a third sensor fits the first two:

    >>> network = Network.of_noise(["a", "b", "c"], 0.001, 0.8, 0.05)
    >>> times_us, sensor = [0, 100_000, 200_000, 60_000_000, 60_100_000], [0, 1, 2, 0, 1]
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> posterior_with_others(network, clock, [0] * 5, times_us, sensor, [[0, 3], [1, 4]]).round(2).tolist()
    [0.47, 0.02]
    """
    known = checked_templates("templates", templates)
    times = whole_numbers("detected_at_us", detected_at_us, None, DetectionsError)
    if times.ndim != 1:
        raise DetectionsError("detected_at_us", f"an array of shape {times.shape}", "a flat array")
    index = positions_of("template_index", template_index, times.shape, len(known))
    place = whole_numbers("sensor", sensor, times.shape, RateError)
    if place.size and not 0 <= place.min() <= place.max() < len(network.sensors):
        raise RateError("sensor", int(place.max()), f"positions among {len(network.sensors)} sensors")
    own_hz = _rates(network, place, unpaired_hz)
    rows = _members(members, place)
    weights = EventWeights.of(network, known, index, times, place, own_hz)
    posterior = np.zeros(rows.shape[1])
    for first in range(0, rows.shape[1], MATCHES_AT_ONCE):
        some = slice(first, first + MATCHES_AT_ONCE)
        posterior[some] = _posterior(weights, rows[:, some])
    return posterior


def _rates(network: Network, sensor: IndexArray, given: npt.ArrayLike | None) -> FloatArray:
    own_hz = network.unpaired_hz[sensor]
    if given is not None:
        own_hz = rates("unpaired_hz", given, sensor.shape)
    if np.isnan(own_hz).any() or np.isnan(network.events_hz):
        raise RateError("network", "a rate that is not known", "all rates: learn or measure them first")
    return own_hz


def _members(members: npt.ArrayLike, sensor: IndexArray) -> IndexArray:
    rows = whole_numbers("members", members, None, DetectionsError)
    if rows.ndim != 2 or len(rows) < 2:
        raise DetectionsError("members", f"an array of shape {rows.shape}", "(k, n) positions, two or more members")
    if rows.size and not 0 <= rows.min() <= rows.max() < len(sensor):
        raise DetectionsError("members", int(rows.max()), f"positions among {len(sensor)} detections")
    of = np.sort(sensor[rows], axis=0)
    if (of[1:] == of[:-1]).any():
        raise DetectionsError("members", "two of one sensor", "each of another sensor")
    return rows


def _posterior(weights: EventWeights, members: IndexArray) -> FloatArray:
    """Sum the weights of pieces: those of all members in the numerator, those of any in the denominator."""
    start, stop = weights.start[members], weights.stop[members]
    row, piece = expanded_ranges(start.min(axis=0), stop.max(axis=0))
    bits = np.full(len(row), -np.inf)
    every = (piece >= start.max(axis=0)[row]) & (piece < stop.min(axis=0)[row])
    at, where = row[every], piece[every]
    with np.errstate(divide="ignore"):
        place = weights.first_place[members][:, at] + where - start[:, at]
        bits[every] = weights.all_bits[where] + np.log2(weights.share[place]).sum(axis=0)
    top = np.zeros(members.shape[1])
    np.maximum.at(top, row, weights.bits[piece])
    np.maximum.at(top, row, bits)
    ours = np.bincount(row, weights=np.exp2(bits - top[row]), minlength=len(top))
    all_of_them = np.bincount(row, weights=np.exp2(weights.bits[piece] - top[row]), minlength=len(top))
    posterior: FloatArray = np.minimum(ours / (np.exp2(-top) + np.maximum(all_of_them, ours)), 1.0)
    return posterior
