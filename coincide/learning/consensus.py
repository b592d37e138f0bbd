"""What all sensors but one say together, taken as the truth for that one: leave-one-out references.

Each sensor's reports are moved by the mean of its present template. Reports of other sensors that then lie next to each
other are of one event, and their mean, weighted by how sure each is, is when it happened.

What this can and cannot tell
-----------------------------
- Errors that all sensors share stay unseen: only differences between sensors can be known without a truth.
- The spread of the consensus adds to that of the errors. A consensus is used only if its 90 % interval is at most half
  as long as that of the errors. So a learnt standard deviation is at most 16 % too great (1 / sqrt(1 - 1/4)), if the
  present templates say rightly how far the others spread.
- A wrong mean of another sensor's present template moves what is learnt by that sensor's weight in the consensus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array, PositionArray
from coincide.constraints.window import Window
from coincide.joins.progress import Progress, checked_progress
from coincide.learning.associations import Errors, errors_against
from coincide.templates.histogram import Histogram

CLOSE = 3.0  # standard deviations of their difference: neighbours that are further apart are of two events
LEAST_MEMBERS = 2
INTERVAL_90 = 3.29  # standard deviations that hold 90 % of a Gaussian
SHORT = 0.5  # the longest interval of a consensus, as a share of that of the errors
SHORTEST_STD_US = 1.0


@dataclass(frozen=True, eq=False)
class References:
    """Times that a consensus gives, m of them, ascending.

    Attributes
    ----------
    at_us : Int64Array, shape (m,)
    interval_us : FloatArray, shape (m,)
        Length of the central 90 % of when it was.
    ambiguous : int
        Groups of reports that are left out because a sensor reports twice in them.
    """

    at_us: Int64Array
    interval_us: FloatArray
    ambiguous: int


def consensus_of(centre_us: Int64Array, std_us: FloatArray, source: Int64Array) -> References:
    """Group reports that lie close together and say when each group happened.

    Two neighbours in time belong to one group if they are at most three standard deviations of their difference apart.
    A group needs two reports, and no source in it twice.

    Parameters
    ----------
    centre_us : Int64Array, shape (n,)
        Reported times moved by the mean of their templates, in any order.
    std_us : FloatArray, shape (n,)
        Standard deviation of each; counts as at least 1 us.
    source : Int64Array, shape (n,)
        Number of the sensor and stream.

    Examples
    --------
    >>> of = consensus_of(np.array([0, 3_000, 90_000]), np.full(3, 1_000.0), np.array([0, 1, 0]))
    >>> of.at_us.tolist(), of.interval_us.round().tolist()
    ([1500], [2326.0])
    """
    order = np.argsort(centre_us, kind="stable")
    at_us, source = centre_us[order], source[order]
    variance = np.maximum(std_us[order], SHORTEST_STD_US) ** 2
    if len(at_us) < LEAST_MEMBERS:
        return References(np.empty(0, np.int64), np.empty(0), 0)
    begins = np.diff(at_us) > CLOSE * np.sqrt(variance[:-1] + variance[1:])
    first = np.flatnonzero(np.insert(begins, 0, True))
    size = np.diff(np.append(first, len(at_us)))
    enough = size >= LEAST_MEMBERS
    once = ~_twice(np.repeat(np.arange(len(first)), size), source, len(first))
    weight = 1 / variance
    total = np.add.reduceat(weight, first)
    since_us = np.add.reduceat(weight * (at_us - np.repeat(at_us[first], size)), first) / total
    usable = enough & once
    mean_us = at_us[first] + np.rint(since_us).astype(np.int64)
    ambiguous = int(np.count_nonzero(enough & ~once))
    return References(mean_us[usable], (INTERVAL_90 / np.sqrt(total))[usable], ambiguous)


def _twice(group: PositionArray, source: Int64Array, groups: int) -> BoolArray:
    """Return in which groups a source reports more than once."""
    order = np.lexsort((source, group))
    repeats = (np.diff(group[order]) == 0) & (np.diff(source[order]) == 0)
    return np.bincount(group[order][1:][repeats], minlength=groups) > 0


def errors_by_consensus(
    detected_at_us: Int64Array,
    source: Int64Array,
    sensor: Int64Array,
    present: Mapping[int, Histogram],
    within: Window,
    *,
    progress: Progress | None = None,
) -> dict[int, Errors]:
    """Find the errors of every source of one area against what the other sensors say together.

    The work grows with the number of sensors times the number of detections of the area.

    Parameters
    ----------
    detected_at_us : Int64Array, shape (n,)
        Reported times, in any order.
    source, sensor : Int64Array, shape (n,)
        Numbers of the sensor and stream, and of the sensor alone. All streams of a sensor are left out together.
    present : mapping of int to Histogram
        The present template of each source.
    within : Window
        As in `errors_against`.
    progress : callable, optional
        Called with the share that is done, from 0 to 1. What it raises ends the work.

    Returns
    -------
    dict of int to Errors
        Of each source; `Errors.row` are rows of `detected_at_us`.
    """
    mean_us, std_us = np.zeros(len(source)), np.zeros(len(source))
    for number, template in present.items():
        mean_us[source == number], std_us[source == number] = template.mean_s * 1e6, template.std_s * 1e6
    centre_us = detected_at_us + np.rint(mean_us).astype(np.int64)
    heard, found, sensors = checked_progress(progress), dict[int, Errors](), np.unique(sensor).tolist()
    for done, one in enumerate(sensors):
        heard(done / len(sensors))
        others = sensor != one
        references = consensus_of(centre_us[others], std_us[others], source[others])
        for number in np.unique(source[~others]).tolist():
            rows = np.flatnonzero(source == number)
            errors = errors_against(detected_at_us[rows], references.at_us, within)
            found[number] = _sharp(replace(errors, row=rows[errors.row]), references)
    heard(1.0)
    return found


def _sharp(errors: Errors, references: References) -> Errors:
    """Leave out errors whose reference is too uncertain, by the spread of errors against the sharper half of them."""
    if len(errors) == 0:
        return errors
    interval_s = references.interval_us[errors.reference] / 1e6
    sharper = errors.error_s[interval_s <= np.median(interval_s)]
    low, high = np.quantile(sharper, [0.25, 0.75])
    keep = interval_s <= SHORT * (high - low) / 1.349 * INTERVAL_90  # a Gaussian's quartiles lie 1.349 sigma apart
    return replace(
        errors,
        error_s=errors.error_s[keep],
        row=errors.row[keep],
        reference=errors.reference[keep],
        blurred=int(np.count_nonzero(~keep)),
    )
