"""When many matches occurred: `occurred` in columns, for matches of any templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import seconds_of
from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import positions_of, whole_numbers
from coincide.constraints.window import Window, checked_window
from coincide.errors import HistogramError, OffsetError, WindowError
from coincide.probability.difference import EXACT_OFFSET_US
from coincide.probability.onset_pieces import PosteriorPieces
from coincide.probability.onset_terms import Members
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import StackedTemplates, checked_templates, rows_alike

ELEMENTS_PER_STEP = 32_768  # break points times matches: temporaries that stay in the processor's cache
FURTHEST_TIME_US = 2**62  # differences of two such times fit into int64
LEAST_MASS = 1e-300  # below it the density of an onset is not worth its rounding


@dataclass(frozen=True, eq=False)
class OccurrenceColumns:
    """When many matches occurred: the fields of `Occurred` as arrays of shape (n,).

    Attributes
    ----------
    mean_us, p05_us, p95_us : ndarray of int64
    std_s, probability : ndarray of float64
    """

    mean_us: Int64Array
    std_s: FloatArray
    p05_us: Int64Array
    p95_us: Int64Array
    probability: FloatArray

    def __len__(self) -> int:
        return len(self.mean_us)


def occurrence_columns(
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    window: Window,
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

    Returns
    -------
    OccurrenceColumns
        Where a match is impossible (probability 0), every time is the first member's reported time.

    Raises
    ------
    HistogramError
        A template is no Histogram, or an index no position in its role's list of templates.
    OffsetError
        Reported times are not whole numbers, one for each index, or too far apart.
    WindowError
        The window is none, or it is not symmetric and the members are more than two.

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
    for rows, members in _blocks(templates, index, times, window):
        relative[:, rows] = _columns(PosteriorPieces(members))
    probability, mean_s, std_s, p05_s, p95_s = relative
    mean_us, p05_us, p95_us = (np.rint(each * 1e6).astype(np.int64) + times[0] for each in (mean_s, p05_s, p95_s))
    return OccurrenceColumns(mean_us, std_s, p05_us, p95_us, probability)


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


def _blocks(
    templates: Sequence[Sequence[Histogram]], index: IndexArray, times_us: Int64Array, window: Window
) -> Iterator[tuple[IndexArray, Members]]:
    """Yield matches whose templates have the same numbers of buckets, a cacheful at a time."""
    stacks = [StackedTemplates(side) for side in templates]
    buckets = np.array([stack.buckets[which] for stack, which in zip(stacks, index, strict=True)])
    for alike in rows_alike(list(buckets)):
        counts = buckets[:, alike[0]].tolist()
        step = max(1, ELEMENTS_PER_STEP // (2 * sum(count + 1 for count in counts)))
        for first in range(0, len(alike), step):
            rows = alike[first : first + step]
            columns = [stack.columns(k, which[rows]) for stack, k, which in zip(stacks, counts, index, strict=True)]
            reported = [seconds_of(own[rows] - times_us[0, rows]) for own in times_us]
            yield rows, Members(columns, reported, window)
