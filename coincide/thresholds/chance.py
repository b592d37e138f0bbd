"""Chance rate: how often detections that have nothing to do with each other match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.arrays.numbers import is_number
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.window import MICROSECONDS_PER_SECOND, Window, checked_threshold, checked_window
from coincide.errors import RateError, WindowError
from coincide.offsets.satisfying import offset_ranges
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs, checked_template


@dataclass(frozen=True)
class SensorRate:
    """How often one sensor reports, with one template: a mean number of detections per second, at least 0.

    A `sensor` None counts as its own sensor, different from every other and from itself.
    """

    sensor: str | None
    template: Histogram
    rate_hz: float

    def __post_init__(self) -> None:
        checked_template("template", self.template)
        if not is_number(self.rate_hz) or not self.rate_hz >= 0:
            raise RateError("rate_hz", self.rate_hz, "a finite number of detections per second, at least 0")


def chance_rate(
    a: Sequence[SensorRate],
    b: Sequence[SensorRate] | None,
    window: Window,
    threshold: float,
    *,
    sensors: SensorRule = "different",
) -> float:
    """Return the expected number of matches per second between streams that have nothing to do with each other.

    It is the sum of rate_u rate_v times the length of the satisfaction offsets of u and v, over the allowed pairs of
    sensors. Divide a rate of observed matches by it to see how much of them chance explains; taken at a match's own
    probability as threshold it is that match's false-alarm rate.

    Right for independent stationary streams (a stream joined with itself: Poisson). Biased where rates rise and fall
    together: bursts that both streams share make chance matches 1 + c**2 times as frequent as it says, with c the
    coefficient of variation of their common factor; 1.6 times in one simulation. Detections of one true event are
    counted in the rates like all others: where most detections are such, it says too much.

    Parameters
    ----------
    a, b : sequence of SensorRate
        The sensors of each stream, once for each of their templates. `b` None joins `a` with itself: in a symmetric
        window each unordered pair counts once, otherwise both orientations do, as in `timing_join`.
    window : Window
        Closed at both ends.
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the members of a match may come from.

    Raises
    ------
    ThresholdError, SensorRuleError, WindowError

    Examples
    --------
    Two exact clocks with a detection every 10 s and every 20 s; 4 s of offsets match:

    >>> seismic = [SensorRate("geophone", Histogram.point(), 0.1)]
    >>> acoustic = [SensorRate("microphone", Histogram.point(), 0.05)]
    >>> round(chance_rate(seismic, acoustic, Window(2.0), threshold=0.6), 6)
    0.02
    """
    rule, threshold = checked_sensor_rule(sensors), checked_threshold(threshold)
    if checked_window(window).is_open:
        raise WindowError("window", window, "a window with two ends: without end so is the rate")
    others = a if b is None else b
    u_index, v_index = np.divmod(np.arange(len(a) * len(others)), max(1, len(others)))
    allowed = allowed_pairs(rule, a, others)
    u_index, v_index = u_index[allowed], v_index[allowed]
    us, vs = ([each.template for each in side] for side in (a, others))
    u_rate, v_rate = (np.array([each.rate_hz for each in side], dtype=np.float64) for side in (a, others))
    lengths_s = offset_lengths_s(TemplatePairs(us, vs, u_index, v_index), window, threshold)
    pair_rate = u_rate[u_index] * v_rate[v_index] * lengths_s
    counted_twice = b is None and window.is_symmetric
    return float(pair_rate.sum()) / (2 if counted_twice else 1)


def offset_lengths_s(pairs: TemplatePairs, window: Window, threshold: float | FloatArray) -> FloatArray:
    """How many seconds of offsets reach the threshold, shape (n,): one for all pairs, or each pair's own."""
    ranges = offset_ranges(pairs, window, threshold)
    microseconds = np.bincount(ranges.pair, weights=ranges.right - ranges.left + 1, minlength=len(pairs))
    return microseconds / MICROSECONDS_PER_SECOND


def allowed_pairs(rule: SensorRule, a: Sequence[SensorRate], b: Sequence[SensorRate]) -> BoolArray:
    """Whether each pair, in the order of `a` and then of `b`, may match."""
    same = [one.sensor is not None and one.sensor == other.sensor for one in a for other in b]
    return np.array([rule == "any" or is_same == (rule == "same") for is_same in same], dtype=np.bool_)
