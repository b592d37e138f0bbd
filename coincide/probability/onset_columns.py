"""When many matches occurred, each in the window of all or in its own: `occurred` in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import seconds_of
from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import positions_of, whole_numbers
from coincide.constraints.window import Window, checked_window
from coincide.errors import HistogramError, OffsetError, WindowError
from coincide.probability.difference import EXACT_OFFSET_US
from coincide.probability.joint.on_clocks import joint_on_clocks, share_clocks
from coincide.probability.joint.tuples import EventTuples
from coincide.probability.onset_on_clocks import TOLD, ClockOffset, OnsetOnClocks, graph_of
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.probability.onset_terms import Members, OwnWindows
from coincide.templates.clocked import are_clocked
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates, rows_alike, stacked

ELEMENTS_PER_STEP = 32_768  # break points times matches: temporaries that stay in the processor's cache
FURTHEST_TIME_US = 2**62  # differences of two such times fit into int64
LEAST_MASS = 1e-300  # below it the density of an onset is not worth its rounding


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
    return _occurrences(EventTuples(templates, index, times), window, tell_clocks)


def occurrence_within(
    tuples: EventTuples, half_width_s: FloatArray, tell_clocks: BoolArray | None = None
) -> OccurrenceColumns:
    """`occurrence_columns` of matches that each have a symmetric window of their own, half of which is given, (n,)."""
    return _occurrences(tuples, OwnWindows(half_width_s), tell_clocks)


def _occurrences(tuples: EventTuples, window: Window | OwnWindows, tell_clocks: BoolArray | None) -> OccurrenceColumns:
    index, times = tuples.template_index, tuples.detected_at_us
    relative = np.zeros((5, len(tuples)))
    shared = share_clocks(tuples)
    plain = np.flatnonzero(~shared)
    for rows, members in blocks_alike(tuples.templates, index[:, plain], times[:, plain], _chosen(window, plain)):
        relative[:, plain[rows]] = _columns(PosteriorPieces(members))
    told = np.zeros_like(shared) if tell_clocks is None else tell_clocks
    clocks = _put_on_clocks(relative, tuples, window, shared, told)
    probability, mean_s, std_s, p05_s, p95_s = relative
    mean_us, p05_us, p95_us = (np.rint(each * 1e6).astype(np.int64) + times[0] for each in (mean_s, p05_s, p95_s))
    return OccurrenceColumns(mean_us, std_s, p05_us, p95_us, probability, clocks)


def _chosen(window: Window | OwnWindows, rows: IndexArray) -> Window | OwnWindows:
    return window.take(rows) if isinstance(window, OwnWindows) else window


def _by_window(window: Window | OwnWindows, rows: IndexArray) -> Iterator[tuple[IndexArray, Window]]:
    """Part rows by their window."""
    if isinstance(window, Window):
        yield rows, window
        return
    own_s = window.hi_s[rows]
    for half_width_s in np.unique(own_s).tolist():
        yield rows[own_s == half_width_s], Window(half_width_s)


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
    columns: FloatArray, tuples: EventTuples, window: Window | OwnWindows, shared: BoolArray, told: BoolArray
) -> list[Sequence[ClockOffset]]:
    """Fill in the columns of matches of which members share clocks; return how slow clocks were where it is told."""
    for rows, own in _by_window(window, np.flatnonzero(shared)):
        if len(rows):
            columns[0, rows] = joint_on_clocks(graph_of(len(tuples.templates), own), tuples.take(rows)).value
    clocks: list[Sequence[ClockOffset]] = [()] * len(tuples)
    for rows, own in _by_window(window, np.flatnonzero((shared | told) & (columns[0] >= LEAST_MASS))):
        for row in rows.tolist():
            index, times_us = tuples.template_index[:, row].tolist(), tuples.detected_at_us[:, row].tolist()
            members = [side[which] for side, which in zip(tuples.templates, index, strict=True)]
            onset = OnsetOnClocks(members, times_us, own)
            if shared[row] and onset.is_possible:
                columns[1:, row] = (*onset.moments_s, *map(onset.quantile_s, TOLD))
            if told[row] and are_clocked(members):
                clocks[row] = onset.offsets()
    return clocks


def blocks_alike(
    templates: Sequence[Sequence[Histogram]], index: IndexArray, times_us: Int64Array, window: Window | OwnWindows
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
            yield rows, Members(columns, reported, _chosen(window, rows))
