"""Slides: which windows end between two instants and hold any of some facts."""

from __future__ import annotations

import numpy as np

from coincide.arrays import BoolArray, Int64Array
from coincide.temporal.intervals import Intervals
from coincide.temporal.windows import Windows
from coincide.timing_join.expansion import expanded_columns


def any_due(after_us: Int64Array, until_us: Int64Array, slide_us: int) -> BoolArray:
    """Whether windows end in each (after, until]: at multiples of the slide since the epoch.

    Examples
    --------
    >>> any_due(np.array([599, 600]), np.array([600, 659]), slide_us=60).tolist()
    [True, False]
    """
    due: BoolArray = after_us // slide_us < until_us // slide_us
    return due


def windows_due(facts: Intervals, after_us: int, until_us: int, time_us: int, slide_us: int) -> Windows:
    """Return the windows that end in (after, until] and hold something, however many lie between.

    Examples
    --------
    >>> facts = Intervals([0, 1_000_000], [25, 1_000_001])
    >>> windows_due(facts, after_us=-(2**62), until_us=2**62, time_us=20, slide_us=10).end_us.tolist()
    [10, 20, 30, 40, 1000010, 1000020]
    """
    first = np.maximum(facts.start_us // slide_us, after_us // slide_us) + 1
    beyond = np.minimum((facts.end_us + time_us - 1) // slide_us, until_us // slide_us) + 1
    _, number = expanded_columns(first, np.maximum(beyond, first))
    return Windows(np.unique(number) * slide_us, time_us)
