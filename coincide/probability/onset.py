"""When a match occurred: the posterior of its onset, whose mass is the probability of the match; for one or many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import seconds_of
from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import is_whole, positions_of, whole_numbers
from coincide.constraints.window import Window, checked_window
from coincide.errors import HistogramError, OffsetError, WindowError
from coincide.probability.difference import EXACT_OFFSET_US
from coincide.probability.joint.on_clocks import joint_on_clocks, share_clocks
from coincide.probability.joint.tuples import EventTuples
from coincide.probability.onset_on_clocks import TOLD, ClockOffset, OnsetOnClocks, graph_of
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.probability.onset_terms import Members
from coincide.templates.clocked import are_clocked
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates, rows_alike, stacked

ELEMENTS_PER_STEP = 32_768  # break points times matches: temporaries that stay in the processor's cache
FURTHEST_TIME_US = 2**62  # differences of two such times fit into int64
LEAST_MASS = 1e-300  # below it the density of an onset is not worth its rounding


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
        [(_, members)] = _blocks(known, index, times, window)
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


@dataclass(frozen=True, eq=False)
class OccurrenceColumns:
    """When many matches occurred: the fields of `Occurred` as arrays of shape (n,).

    `clocks` has how slow the clocks of each match were, in the order of their first members; nothing unless asked for.
    """

    mean_us: Int64Array
    std_s: FloatArray
    p05_us: Int64Array
    p95_us: Int64Array
    probability: FloatArray
    clocks: Sequence[Sequence[ClockOffset]]

    def __len__(self) -> int:
        return len(self.mean_us)


def occurrence_columns(
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    window: Window,
    tell_clocks: BoolArray | None = None,
) -> OccurrenceColumns:
    """`occurred` for n matches of k members each, whatever their templates.

    Parameters
    ----------
    templates : sequence of k sequences of Histogram
        Templates of each role.
    template_index : array of integer, shape (k, n)
        Which template of its role each member has.
    detected_at_us : array of int64, shape (k, n)
        Reported times; those of one match lie less than 2**53 microseconds apart.
    window : Window
    tell_clocks : array of bool, shape (n,), optional
        Which matches shall tell how slow the clocks of their members were; by default none.

    Returns
    -------
    OccurrenceColumns
        Where a match is impossible (probability 0), every time is the first member's reported time.

    Raises
    ------
    HistogramError, OffsetError, WindowError
        As in `occurred`; or an index is no position in its role's list of templates.

    Examples
    --------
    >>> points, spreads = [Histogram.point()], [Histogram.uniform(-4, 0), Histogram.uniform(-2, 0)]
    >>> onsets = occurrence_columns([points, spreads], [[0, 0], [0, 1]], [[0, 10_000_000], [0, 11_000_000]], Window(1))
    >>> onsets.probability.tolist(), onsets.mean_us.tolist()
    ([0.25, 1.0], [-500000, 9750000])
    """
    if not isinstance(templates, Sequence):
        raise HistogramError("templates", templates, "a list of Histogram for each role")
    templates = [checked_templates(f"templates[{role}]", known) for role, known in enumerate(templates)]
    index = _checked_index(templates, template_index)
    times = _checked_times(detected_at_us, index.shape)
    if not checked_window(window).is_symmetric and len(templates) != 2:
        raise WindowError("window", window, f"symmetric, for {len(templates)} members")
    relative = np.zeros((5, index.shape[1]))
    shared = share_clocks(EventTuples(templates, index, times))
    plain = np.flatnonzero(~shared)
    for rows, members in _blocks(templates, index[:, plain], times[:, plain], window):
        relative[:, plain[rows]] = _columns(PosteriorPieces(members))
    told = np.zeros_like(shared) if tell_clocks is None else tell_clocks
    clocks = _put_on_clocks(relative, EventTuples(templates, index, times), window, shared, told)
    probability, mean_s, std_s, p05_s, p95_s = relative
    mean_us, p05_us, p95_us = (np.rint(each * 1e6).astype(np.int64) + times[0] for each in (mean_s, p05_s, p95_s))
    return OccurrenceColumns(mean_us, std_s, p05_us, p95_us, probability, clocks)


def _checked_index(templates: Sequence[Sequence[Histogram]], template_index: npt.ArrayLike) -> IndexArray:
    index = whole_numbers("template_index", template_index, None, HistogramError)
    if index.ndim != 2 or len(index) != len(templates):
        raise HistogramError("template_index", f"of shape {index.shape}", f"of shape ({len(templates)}, n): by role")
    for role, (own, known) in enumerate(zip(index, templates, strict=True)):
        positions_of(f"template_index[{role}]", own, None, len(known))
    return index


def _checked_times(detected_at_us: npt.ArrayLike, shape: tuple[int, ...]) -> Int64Array:
    times = whole_numbers("detected_at_us", detected_at_us, shape, OffsetError)
    if not times.size:
        return times
    beyond = (times <= -FURTHEST_TIME_US) | (times >= FURTHEST_TIME_US)
    if beyond.any():
        raise OffsetError("detected_at_us", int(times[beyond][0]), "microseconds, below 2**62 either way")
    apart = np.ptp(times, axis=0)
    if apart.max() >= EXACT_OFFSET_US:
        first = times[:, int(apart.argmax())].tolist()
        raise OffsetError("detected_at_us", first, "times of one match less than 2**53 microseconds apart")
    return times


def _columns(pieces: PosteriorPieces) -> FloatArray:
    columns = np.zeros((5, len(pieces.mass)))
    columns[0] = np.minimum(pieces.mass, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        columns[1:] = pieces.mean_s, pieces.std_s, *pieces.quantiles_s(0.05, 0.95)
    columns[:, pieces.mass < LEAST_MASS] = 0.0
    return columns


def _put_on_clocks(
    columns: FloatArray, tuples: EventTuples, window: Window, shared: BoolArray, told: BoolArray
) -> list[Sequence[ClockOffset]]:
    """Fill in the columns of matches of which members share clocks; return how slow clocks were where it is told."""
    rows = np.flatnonzero(shared)
    if len(rows):
        columns[0, rows] = joint_on_clocks(graph_of(len(tuples.templates), window), tuples.take(rows)).value
    clocks: list[Sequence[ClockOffset]] = [()] * len(tuples)
    for row in np.flatnonzero((shared | told) & (columns[0] >= LEAST_MASS)).tolist():
        index, times_us = tuples.template_index[:, row].tolist(), tuples.detected_at_us[:, row].tolist()
        members = [side[which] for side, which in zip(tuples.templates, index, strict=True)]
        onset = OnsetOnClocks(members, times_us, window)
        if shared[row] and onset.is_possible:
            columns[1:, row] = (*onset.moments_s, *map(onset.quantile_s, TOLD))
        if told[row] and are_clocked(members):
            clocks[row] = onset.offsets()
    return clocks


def _blocks(
    templates: Sequence[Sequence[Histogram]], index: IndexArray, times_us: Int64Array, window: Window
) -> Iterator[tuple[IndexArray, Members]]:
    """Yield matches whose templates have the same numbers of buckets, a cacheful at a time."""
    stacks = [stacked(side) for side in templates]
    buckets = np.array([stack.buckets[which] for stack, which in zip(stacks, index, strict=True)])
    for alike in rows_alike(list(buckets)):
        counts = buckets[:, alike[0]].tolist()
        step = max(1, ELEMENTS_PER_STEP // (2 * sum(count + 1 for count in counts)))
        for first in range(0, len(alike), step):
            rows = alike[first : first + step]
            columns = [stack.columns(k, which[rows]) for stack, k, which in zip(stacks, counts, index, strict=True)]
            reported = [seconds_of(own[rows] - times_us[0, rows]) for own in times_us]
            yield rows, Members(columns, reported, window)
