"""Event weights: at each moment, how much one event then would explain of all that was reported, against none.

Templates are constant between their edges. So between the edges of all templates, placed where they were reported, the
weight of an event is constant, and sums over these pieces are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.range_expansion import expanded_ranges, pairs_in
from coincide.errors import DetectionsError
from coincide.evidence.network import Network
from coincide.templates.histogram import Histogram

HALF_MICROSECOND_S = 0.5e-6
LEAST_MISSED = 1e-12  # of a sensor that hears every event
LONGEST_US = 30 * 86_400_000_000  # so that a float of seconds tells half a microsecond from a whole one
MOST_PLACES = 20_000_000  # pieces, once for each detection that an event in one may explain; some 60 bytes each


@dataclass(frozen=True, eq=False)
class EventWeights:
    """What an event in each piece of time would explain.

    A *place* is a detection in a piece in which an event may have made it. The places of detection i have the numbers
    from first_place[i] on, one for each piece from start[i] up to stop[i], the last excluded.

    Attributes
    ----------
    start, stop, first_place : ndarray of int64, shape (detections,)
    bits : ndarray of float64, shape (pieces,)
        Log2 of the expected number of events in the piece that two sensors or more hear, times how much better each
        explains what was reported than none does.
    all_bits : ndarray of float64, shape (pieces,)
        The same for events that any number of sensors hears.
    share : ndarray of float64, shape (places,)
        How probable it is that an event in the piece made the detection.
    """

    start: IndexArray
    stop: IndexArray
    first_place: IndexArray
    bits: FloatArray
    all_bits: FloatArray
    share: FloatArray

    @classmethod
    def of(
        cls,
        network: Network,
        templates: Sequence[Histogram],
        template_index: IndexArray,
        detected_at_us: Int64Array,
        sensor: IndexArray,
        unpaired_hz: FloatArray,
    ) -> EventWeights:
        """Weigh events of every moment, given a template, time, sensor and rate of each detection."""
        edges_s, density = _columns(templates)
        placed_s = edges_s[template_index] + _since_first_s(detected_at_us)[:, None]
        breaks_s = np.unique(placed_s)
        ends = np.searchsorted(breaks_s, placed_s)
        start, stop = ends[:, 0], ends[:, -1]
        if pairs_in(start, stop) > MOST_PLACES:
            allowed = f"at most {MOST_PLACES:,} of templates' pieces over each other: ask for a shorter time"
            raise DetectionsError("detected_at_us", f"{pairs_in(start, stop):,}", allowed)
        hears = network.heard_by / np.maximum(1 - network.heard_by, LEAST_MISSED)
        odds = density[template_index] * (hears[sensor] / unpaired_hz)[:, None]
        place_odds, piece = _places(ends, odds)
        lengths = stop - start
        of_sensor = np.repeat(sensor, lengths)
        pair, nth = np.unique(piece * len(network.sensors) + of_sensor, return_inverse=True)
        sums = np.bincount(nth, weights=place_odds, minlength=len(pair))
        at, pieces = pair // len(network.sensors), max(len(breaks_s) - 1, 0)
        nobody = float(np.log2(np.maximum(1 - network.heard_by, LEAST_MISSED)).sum()) + np.log2(network.events_hz)
        with np.errstate(divide="ignore"):
            expected = nobody + np.log2(np.diff(breaks_s))
        of_all = np.bincount(at, weights=np.log2(1 + sums), minlength=pieces).astype(np.float64)
        of_few: FloatArray = np.log2(1 + np.bincount(at, weights=sums, minlength=pieces))
        return cls(
            start,
            stop,
            np.cumsum(lengths) - lengths,
            expected + _less(of_all, of_few),
            expected + of_all,
            place_odds / (1 + sums[nth]),
        )


def _since_first_s(detected_at_us: Int64Array) -> FloatArray:
    """Return times in seconds since the first."""
    if not len(detected_at_us):
        return np.empty(0)
    first_us, last_us = int(detected_at_us.min()), int(detected_at_us.max())
    if last_us - first_us > LONGEST_US:
        raise DetectionsError(
            "detected_at_us", f"{(last_us - first_us) / 1e6:g} s", "30 days at most from first to last"
        )
    since_s: FloatArray = (detected_at_us - first_us) / 1e6
    return since_s


def _columns(templates: Sequence[Histogram]) -> tuple[FloatArray, FloatArray]:
    """Return edges and densities, a row for each template; exact times are spread over the microsecond around them."""
    columns = [tuple(np.array(each) for each in zip(*_buckets(template), strict=True)) for template in templates]
    most = max((2 * len(mass) for _, _, mass in columns), default=1)
    edges, density = np.zeros((len(columns), most)), np.zeros((len(columns), max(most - 1, 1)))
    for row, (lo, hi, mass) in enumerate(columns):
        both = np.stack((lo, hi), axis=1).ravel()
        edges[row] = both[-1]
        edges[row, : len(both)] = np.maximum.accumulate(both)
        density[row, : len(both) : 2][: len(mass)] = mass / (hi - lo)
    return edges, density


def _buckets(template: Histogram) -> Iterator[tuple[float, float, float]]:
    edges = [float(each) for each in template.edges_s]
    for lo, hi, mass in zip(edges, edges[1:], template.mass, strict=False):
        yield (lo, hi, mass) if hi > lo else (lo - HALF_MICROSECOND_S, hi + HALF_MICROSECOND_S, mass)


def _places(ends: IndexArray, odds: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Return the odds and the piece of each place, detection by detection."""
    row, piece = expanded_ranges(ends[:, :-1].ravel(), ends[:, 1:].ravel())
    return odds.ravel()[row], piece


def _less(all_bits: FloatArray, few_bits: FloatArray) -> FloatArray:
    """Return log2 of 2^all - 2^few."""
    with np.errstate(divide="ignore"):
        bits: FloatArray = all_bits + np.log2(np.maximum(-np.expm1((few_bits - all_bits) * np.log(2)), 0.0))
    return bits
