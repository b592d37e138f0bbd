"""Which reference each detection belongs to, and by how much its sensor was wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, Int64Array, PositionArray
from coincide.arrays.numbers import whole_numbers
from coincide.constraints.window import Window, checked_window
from coincide.errors import DetectionsError, WindowError


@dataclass(frozen=True, eq=False)
class Errors:
    """By how much a sensor was wrong on a stream, in the order of its reports.

    Attributes
    ----------
    error_s : FloatArray, shape (n,)
        True minus reported time in seconds: below 0 where the report came late.
    row, reference : PositionArray, shape (n,)
        Which detection and which reference each error is of.
    ambiguous : int
        Detections that are dropped because more than one reference may be theirs, or their reference may be of
        another detection as well.
    unmatched : int
        Detections without any reference in the window.
    blurred : int
        Detections whose reference is itself too uncertain to tell the error; only a consensus has such.
    """

    error_s: FloatArray
    row: PositionArray
    reference: PositionArray
    ambiguous: int
    unmatched: int
    blurred: int = 0

    def __len__(self) -> int:
        return len(self.error_s)


def checked_search(within: object) -> Window:
    """Return `within` if it is a window with two ends and some length, else raise WindowError."""
    window = checked_window(within)
    if window.is_open or window.hi_us <= window.lo_us:
        raise WindowError("within", window, "two bounds, the first below the second")
    return window


def errors_against(detected_at_us: npt.ArrayLike, reference_us: npt.ArrayLike, within: Window) -> Errors:
    """Find the errors of one sensor's detections against times that are known.

    A detection has an error if exactly one reference lies in its window, and if that reference lies in the window of no
    other detection. All others are counted and dropped: a guess would favour small errors.

    Parameters
    ----------
    detected_at_us : array_like of int, shape (n,)
        Reported times of one sensor on one stream, in microseconds and in any order.
    reference_us : array_like of int, shape (m,)
        Times at which something did happen, in any order; equal ones count once.
    within : Window
        The errors that are looked for, true minus reported time. Both bounds belong to it. It should be at least twice
        as long as the errors spread: what is wrong is judged by the part of it that is nearly empty.

    Raises
    ------
    DetectionsError, WindowError

    Examples
    --------
    >>> found = errors_against([1_500_000, 9_000_000], [1_000_000, 40_000_000], Window(5))
    >>> found.error_s.tolist(), found.unmatched
    ([-0.5], 1)
    """
    window = checked_search(within)
    times_us = whole_numbers("detected_at_us", detected_at_us, None, DetectionsError).ravel()
    references_us, first_at = np.unique(
        whole_numbers("reference_us", reference_us, None, DetectionsError).ravel(), return_index=True
    )
    order = np.argsort(times_us, kind="stable")
    ordered_us = times_us[order]
    first = np.searchsorted(references_us, ordered_us + window.lo_us, "left")
    count = np.searchsorted(references_us, ordered_us + window.hi_us, "right") - first
    claims = _claims(ordered_us, references_us, window)
    alone = np.flatnonzero(count == 1)
    clear = alone[claims[first[alone]] == 1]
    error_s = (references_us[first[clear]] - ordered_us[clear]) / 1e6
    unmatched = int(np.count_nonzero(count == 0))
    ambiguous = len(ordered_us) - unmatched - len(clear)
    return Errors(error_s, order[clear], first_at[first[clear]], ambiguous, unmatched)


def _claims(ordered_us: Int64Array, references_us: Int64Array, window: Window) -> PositionArray:
    """Return in how many detections' windows each reference lies."""
    until = np.searchsorted(ordered_us, references_us - window.lo_us, "right")
    return until - np.searchsorted(ordered_us, references_us - window.hi_us, "left")
