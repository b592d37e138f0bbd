"""When a match occurred: the posterior of its onset, whose mass is the probability of the match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import IndexArray, Int64Array
from coincide.arrays.numbers import is_whole
from coincide.constraints.window import Window
from coincide.errors import OffsetError
from coincide.probability.joint.on_clocks import share_clocks
from coincide.probability.joint.tuples import EventTuples
from coincide.probability.onset_columns import FURTHEST_TIME_US, blocks_alike, occurrence_columns
from coincide.probability.onset_on_clocks import ClockOffset, OnsetOnClocks
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates


@dataclass(frozen=True)
class Occurred:
    """When a match occurred, in microseconds on the clock of the reported times, and how probable it is.

    The 5 % and 95 % quantiles bound the central 90 % interval. `probability` is the joint one of the members: the mass
    of the density before it is normalised.
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

    Where members share a clock (`coincide.clocks`), it is the mixture of these over what the clock may have been.

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
    >>> onset.mean_us, onset.p05_us, onset.p95_us, round(onset.std_s, 3), round(onset.probability, 4)
    (-2500000, -9000000, 40005, 3.228, 0.3571)
    """
    onset = occurrence_columns(*_one_match(templates, detected_at_us), window)
    if not onset.probability[0] > 0:
        raise _impossible(detected_at_us)
    [mean], [std], [p05], [p95], [probability] = (
        getattr(onset, name).tolist() for name in ("mean_us", "std_s", "p05_us", "p95_us", "probability")
    )
    return Occurred(mean, std, p05, p95, probability)


def occurred_quantiles_us(
    templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window, shares: Sequence[float]
) -> list[int]:
    """Return the times up to which so much of the density of `occurred` lies, to draw it; raises as `occurred` does.

    Parameters
    ----------
    templates, detected_at_us, window
        As in `occurred`.
    shares : sequence of float
        Each in [0, 1].

    Returns
    -------
    list of int
        A time for each share, to the nearest microsecond.

    Examples
    --------
    >>> imb, baksan = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2)
    >>> occurred_quantiles_us([imb, baksan], [0, 30_444_000], Window(10), [0.05, 0.25, 0.95])
    [-9000000, -5000000, 40005]
    """
    if not all(0 <= share <= 1 for share in shares):
        raise OffsetError("shares", list(shares), "shares from 0 to 1")
    known, index, times = _one_match(templates, detected_at_us)
    if not occurrence_columns(known, index, times, window).probability[0] > 0:
        raise _impossible(detected_at_us)
    if share_clocks(EventTuples(known, index, times)).any():
        onset = OnsetOnClocks(list(templates), times[:, 0].tolist(), window)
        quantiles_s = [onset.quantile_s(share) for share in shares]
    else:
        [(_, members)] = blocks_alike(known, index, times, window)
        with np.errstate(divide="ignore", invalid="ignore"):
            quantiles_s = PosteriorPieces(members).quantiles_s(*shares)[:, 0].tolist()
    return [round(each * 1e6) + int(times[0, 0]) for each in quantiles_s]


def clock_offsets(templates: Sequence[Histogram], detected_at_us: Sequence[int], window: Window) -> list[ClockOffset]:
    """Tell how slow the clocks of a match's members were, given that they did occur within the window of each other.

    Parameters
    ----------
    templates, detected_at_us, window
        As in `occurred`.

    Returns
    -------
    list of ClockOffset
        One for each clock that a member's template is on, in the order of its first member; empty if there is none.

    Raises
    ------
    HistogramError, OffsetError, WindowError
        As in `occurred`.

    Examples
    --------
    Two sensors of a gateway whose clock may be off by 30 s, and one with a good clock, reported 12 s apart:

    >>> from coincide.clocks import Clock
    >>> own = Histogram.uniform(-0.05, 0.05)
    >>> on_gateway = Clock("gw-7", Histogram.uniform(-30, 30)).template(own)
    >>> [gateway] = clock_offsets([on_gateway, on_gateway, own], [0, 0, 12_000_000], Window(1))
    >>> gateway.clock, round(gateway.mean_s, 2), round(gateway.p05_s, 1), round(gateway.p95_s, 1)
    ('gw-7', 12.0, 11.1, 12.9)
    """
    onset = occurrence_columns(*_one_match(templates, detected_at_us), window, np.ones(1, np.bool_))
    if not onset.probability[0] > 0:
        raise _impossible(detected_at_us)
    return list(onset.clocks[0])


def _one_match(
    templates: Sequence[Histogram], detected_at_us: Sequence[int]
) -> tuple[list[list[Histogram]], IndexArray, Int64Array]:
    """Return the members of one match as columns, checked."""
    templates = checked_templates("templates", templates)
    if len(templates) < 2 or len(templates) != len(detected_at_us):
        raise OffsetError(
            "detected_at_us", detected_at_us, f"one time for each of {len(templates)} templates, two or more"
        )
    if not all(is_whole(time_us) and abs(time_us) < FURTHEST_TIME_US for time_us in detected_at_us):
        raise OffsetError("detected_at_us", detected_at_us, "whole microseconds, below 2**62 either way")
    index = np.zeros((len(templates), 1), dtype=np.int64)
    return [[template] for template in templates], index, np.array(detected_at_us, dtype=np.int64)[:, None]


def _impossible(detected_at_us: Sequence[int]) -> OffsetError:
    return OffsetError("detected_at_us", list(detected_at_us), "times at which the members can lie in the window")
