"""When a match occurred: the posterior of its onset, whose mass is the probability of the match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.numbers import is_whole
from coincide.constraints.window import Window
from coincide.errors import OffsetError
from coincide.probability.onset_columns import FURTHEST_TIME_US, occurrence_columns
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates


@dataclass(frozen=True)
class Occurred:
    """When a match occurred.

    Attributes
    ----------
    mean_us : int
        Expected time, in microseconds on the clock of the reported times.
    std_s : float
        Standard deviation in seconds.
    p05_us, p95_us : int
        5 % and 95 % quantiles: the central 90 % interval.
    probability : float
        The joint probability of the members: the mass of the density before it is normalised.
    """

    mean_us: int
    std_s: float
    p05_us: int
    p95_us: int
    probability: float


def occurred(templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window) -> Occurred:
    """Tell when the members of a match occurred, given that they did occur within the window of each other.

    In a symmetric window that is the onset, the time of whoever was first; no two members are then further apart
    than the window's half-width d. Its density is

        h(t) = sum_i f_i(t) prod_{j != i} (F_j(t + d) - F_j(t)) / P

    In any other window it is the time of the anchor a, the first of exactly two members:

        h(t) = f_a(t) (F_b(t + hi) - F_b(t + lo)) / P

    Parameters
    ----------
    templates : sequence of Histogram
        Of each member, in role order; two or more.
    detected_at_us : sequence of int
        Reported time of each member in microseconds, from any origin: absolute times give absolute results.
    window : Window
        Closed at both ends.

    Returns
    -------
    Occurred
        Times to the nearest microsecond; `probability` equals `match_probability`.

    Raises
    ------
    HistogramError
        A template is no Histogram.
    OffsetError
        There is not one whole number for each template, below 2**62 either way and less than 2**53 apart, or at these
        times the members cannot lie in the window.
    WindowError
        The window is none, or it is not symmetric and the members are more than two.

    References
    ----------
    The joint probability, which is its mass, is that of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event
    Streams (2006); reading the time off the same integrand is ours.

    Examples
    --------
    IMB's and Baksan's first neutrinos of SN1987A, told apart by 30.444 s on clocks in error:

    >>> imb, baksan = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)
    >>> onset = occurred([imb, baksan], [0, 30_444_000], Window(10))
    >>> onset.mean_us, onset.p05_us, onset.p95_us, round(onset.std_s, 3)
    (-2500000, -9000000, 40005, 3.228)
    >>> round(onset.probability, 4)
    0.3571
    """
    templates = checked_templates("templates", templates)
    if len(templates) < 2 or len(templates) != len(detected_at_us):
        raise OffsetError(
            "detected_at_us", detected_at_us, f"one time for each of {len(templates)} templates, two or more"
        )
    if not all(is_whole(time_us) and abs(time_us) < FURTHEST_TIME_US for time_us in detected_at_us):
        raise OffsetError("detected_at_us", detected_at_us, "whole microseconds, below 2**62 either way")
    index = np.zeros((len(templates), 1), dtype=np.int64)
    times = np.array(detected_at_us, dtype=np.int64)[:, None]
    onset = occurrence_columns([[template] for template in templates], index, times, window)
    if not onset.probability[0] > 0:
        raise OffsetError("detected_at_us", list(detected_at_us), "times at which the members can lie in the window")
    [mean], [std], [p05], [p95], [probability] = (
        getattr(onset, name).tolist() for name in ("mean_us", "std_s", "p05_us", "p95_us", "probability")
    )
    return Occurred(mean, std, p05, p95, probability)
