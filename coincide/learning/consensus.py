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
from coincide.learning.clock_errors import SharedError, moving_together, shared_errors
from coincide.templates.clocked import clock_of
from coincide.templates.histogram import Histogram

CLOSE = 3.0  # standard deviations of their difference: neighbours that are further apart are of two events
LEAST_MEMBERS = 2
INTERVAL_90 = 3.29  # standard deviations that hold 90 % of a Gaussian
SHORT = 0.5  # the longest interval of a consensus, as a share of that of the errors
SHORTEST_STD_US = 1.0
MOST_SCATTER = 1.5  # of a consensus whose templates are right enough to blame the others


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
    scatter : FloatArray, shape (m,)
        How far its reports lie from each other, squared, over what their templates let expect: about 1 where these are
        right.
    """

    at_us: Int64Array
    interval_us: FloatArray
    ambiguous: int
    scatter: FloatArray


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
        return References(np.empty(0, np.int64), np.empty(0), 0, np.empty(0))
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
    apart_us = at_us - np.repeat(at_us[first] + since_us, size)
    scatter = np.add.reduceat(weight * apart_us**2, first) / _median_of_squares(size - 1)
    return References(mean_us[usable], (INTERVAL_90 / np.sqrt(total))[usable], ambiguous, scatter[usable])


def _median_of_squares(free: Int64Array) -> FloatArray:
    """Return the median of a sum of so many squares of Gaussians (Wilson, Hilferty 1931); of none 1."""
    median: FloatArray = free * (1 - 2 / (9 * np.maximum(free, 1))) ** 3
    return np.where(free > 0, median, 1.0)


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
        Numbers of the sensor and stream, and of the sensor alone. All streams of a sensor are left out together, and
        all sensors whose present templates are on one clock: they would take its error for the truth.
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
    reports = _Reports.of(detected_at_us, source, sensor, present)
    heard, found, together = checked_progress(progress), dict[int, Errors](), np.unique(reports.together).tolist()
    for done, one in enumerate(together):
        heard(done / len(together))
        left_out = reports.together == one
        found |= reports.errors(left_out, reports.consensus(~left_out), within)
    heard(1.0)
    return found


def shared_by_consensus(
    detected_at_us: Int64Array,
    source: Int64Array,
    sensor: Int64Array,
    present: Mapping[int, Histogram],
    within: Window,
    buckets: int = 8,
) -> list[SharedError]:
    """Find the sensors of one area whose errors move together, those on one clock or on none that is declared.

    Each such group is judged by what all others say together. Where these are further apart than their templates let
    expect, their own error would show in the whole group, and nothing is told. Nor is it with fewer than two others.

    Parameters
    ----------
    detected_at_us, source, sensor, present, within
        As in `errors_by_consensus`.
    buckets
        As in `shared_errors`.
    """
    reports = _Reports.of(detected_at_us, source, sensor, present)
    found = list[SharedError]()
    for group in reports.groups(within):
        left_out = np.isin(reports.together, reports.together[np.isin(source, group)])
        references = reports.consensus(~left_out)
        if len(references.scatter) and np.median(references.scatter) <= MOST_SCATTER:
            found += shared_errors(reports.errors(left_out, references, within), within, buckets)
    return found


@dataclass(frozen=True, eq=False)
class _Reports:
    """Reports of an area, moved by the means of their templates, and which of them are left out together."""

    detected_at_us: Int64Array
    source: Int64Array
    together: Int64Array
    centre_us: Int64Array
    std_us: FloatArray

    @classmethod
    def of(
        cls, detected_at_us: Int64Array, source: Int64Array, sensor: Int64Array, present: Mapping[int, Histogram]
    ) -> _Reports:
        mean_us, std_us, together = np.zeros(len(source)), np.zeros(len(source)), sensor.copy()
        on_clock: dict[str, list[int]] = {}
        for number, template in present.items():
            mean_us[source == number], std_us[source == number] = template.mean_s * 1e6, template.std_s * 1e6
            if (clock := clock_of(template)) is not None:
                on_clock.setdefault(clock, []).append(number)
        for numbers in on_clock.values():
            sensors = np.unique(sensor[np.isin(source, numbers)])
            together[np.isin(sensor, sensors)] = sensors[:1]
        return cls(detected_at_us, source, together, detected_at_us + np.rint(mean_us).astype(np.int64), std_us)

    def consensus(self, of: BoolArray) -> References:
        """Return what some reports say together."""
        return consensus_of(self.centre_us[of], self.std_us[of], self.source[of])

    def errors(self, of: BoolArray, references: References, within: Window) -> dict[int, Errors]:
        """Return the errors of the sources that some reports are of."""
        found = dict[int, Errors]()
        for number in np.unique(self.source[of]).tolist():
            rows = np.flatnonzero(self.source == number)
            errors = errors_against(self.detected_at_us[rows], references.at_us, within)
            found[number] = _sharp(replace(errors, row=rows[errors.row]), references)
        return found

    def groups(self, within: Window) -> list[list[int]]:
        """Return sources that may share an error: those that are left out together, and others that seem to."""
        everyone = np.ones(len(self.source), np.bool_)
        rough, references = dict[int, Errors](), self.consensus(everyone)
        for number in np.unique(self.source).tolist():
            rows = self.source == number
            rough[number] = errors_against(self.detected_at_us[rows], references.at_us, within)
        groups = [group for group, _ in moving_together(rough)]
        known = [np.unique(self.source[self.together == one]).tolist() for one in np.unique(self.together)]
        return groups + [group for group in known if len(group) > 1 and not any({*group} <= {*all_} for all_ in groups)]


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
