"""How many matches chance alone would give in the range of a run, at each threshold of its curve."""

from collections.abc import Sequence

import numpy as np

from coincide import Detections
from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.offsets.chance import offset_lengths_s
from coincide.templates.template_columns import TemplatePairs
from spark_jobs.replaying.played_rows import PlayedRows

GROUPS_AT_ONCE = 1_024
MOST_LENGTHS = 200_000  # template pairs times thresholds: a few seconds


def chance_matches(played: PlayedRows, thresholds: Sequence[float], span_s: float) -> list[float] | None:
    """Return the expected number of chance matches at each threshold; None where that is not told.

    It is the law of `coincide.chance_rate`, with the rates of the run's own detections, constant over the range. It is
    told of queries of two roles without `equal`, in a window with two ends.
    """
    query = played.query
    if len(query.roles) != 2 or query.equal is not None or query.window.is_open:
        return None
    a, b = played.batches.values()
    counts = _meetings(a, b, query.sensors) / span_s
    if a is b and query.window.is_symmetric:
        counts /= 2  # each pair has been counted in both orders
    u_index, v_index = np.nonzero(counts)
    if len(u_index) * len(thresholds) > MOST_LENGTHS:
        return None
    pairs = TemplatePairs(list(a.templates), list(b.templates), u_index, v_index)
    each = (offset_lengths_s(pairs, query.window, threshold) for threshold in thresholds)
    return [float(f"{counts[u_index, v_index] @ lengths_s:.6g}") for lengths_s in each]


def _meetings(a: Detections, b: Detections, rule: str) -> FloatArray:
    """Return how many pairs of an a and a b there are in one area, by their templates, (m, n)."""
    areas, sensors = (np.concatenate((getattr(a, name), getattr(b, name))) for name in ("area", "sensor"))
    of_sensor = areas * (int(sensors.max(initial=0)) + 1) + sensors
    if rule == "same":
        return _products(of_sensor, a, b)
    return _products(areas, a, b) - (_products(of_sensor, a, b) if rule == "different" else 0.0)


def _products(labels: Int64Array, a: Detections, b: Detections) -> FloatArray:
    """Return how many pairs have equal labels, by templates: a sum over labels of products of counts."""
    distinct, group = np.unique(labels, return_inverse=True)
    products = np.zeros((len(a.templates), len(b.templates)))
    in_order = [np.argsort(each, kind="stable") for each in (group[: len(a)], group[len(a) :])]
    for first in range(0, len(distinct), GROUPS_AT_ONCE):
        sides = zip((group[: len(a)], group[len(a) :]), in_order, (a, b), strict=True)
        of_a, of_b = (_counts(each, order, detections, first) for each, order, detections in sides)
        products += of_a.T @ of_b
    return products


def _counts(group: IndexArray, order: IndexArray, detections: Detections, first: int) -> FloatArray:
    """Return how many detections each group from the `first` on has with each template, (groups, templates)."""
    width = len(detections.templates)
    start, stop = np.searchsorted(group[order], (first, first + GROUPS_AT_ONCE))
    rows = order[start:stop]
    at = (group[rows] - first) * width + detections.template_index[rows]
    return np.bincount(at, minlength=GROUPS_AT_ONCE * width).reshape(-1, width).astype(np.float64)
