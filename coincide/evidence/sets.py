"""Sets of detections: the posterior of one event, and of each member that it belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import whole_numbers
from coincide.errors import DetectionsError
from coincide.evidence.bits import EvidenceColumns, evidence_columns
from coincide.evidence.network import Network
from coincide.evidence.one_source import Travel
from coincide.evidence.parts import Parts
from coincide.evidence.shares import MOST_WORK, NO_MEMBER, SharedPosterior, shared_out
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class SetPosteriors:
    """What is known of n sets of at most k members once all their detections are shared out.

    Attributes
    ----------
    parts : Parts
        All parts of the sets, each of which may be an event.
    evidence : EvidenceColumns
        Of each part.
    shared : SharedPosterior
        Of each part: that these detections, and no others, are of one event.
    """

    parts: Parts
    evidence: EvidenceColumns
    shared: SharedPosterior

    @property
    def bits(self) -> FloatArray:
        """The evidence that all members of a set, and no others, are of one event, float64 (n,)."""
        return self.evidence.bits[self.parts.whole]

    def one_event(self, least: int = 2) -> FloatArray:
        """Return the least and the greatest posterior that so many members at least are of one event, shape (2, n).

        Others may be of it, too. Where twice as many may be of two events, it is how many are expected, at most 1.
        """
        sums = [self.parts.of_sets(each, least) for each in (self.shared.lower, self.shared.upper)]
        return np.minimum(sums, 1.0)

    def belongs(self) -> FloatArray:
        """Return the least and the greatest posterior that a member is of one event with another, shape (2, k, n)."""
        sums = [self.parts.of_members(each) for each in (self.shared.lower, self.shared.upper)]
        return np.minimum(sums, 1.0)


def evidence_of_sets(  # noqa: PLR0913 - columns of the detections, then what is asked; all but these have a default
    network: Network,
    templates: Sequence[Histogram],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    sensor: npt.ArrayLike,
    members: npt.ArrayLike,
    *,
    travel: Travel | None = None,
    live: npt.ArrayLike | None = None,
    unpaired_hz: npt.ArrayLike | None = None,
    most_work: int = MOST_WORK,
) -> SetPosteriors:
    """Share out detections among all parts of the sets that a join found: a true pair and a stranger are no event.

    Parameters
    ----------
    network : Network
    templates : sequence of Histogram
    template_index, detected_at_us, sensor : array of integer, shape (detections,)
        Template, reported time and sensor (its position in `network.sensors`) of each detection. It is least work where
        detections come in the order of time.
    members : array of integer, shape (k, n)
        Positions of each set's detections, at most 10 in one; -1: no such member. Pairs are sets, too.
    travel
        As in `evidence_columns`.
    live : array of bool, shape (sensors,) or (sensors, n), optional
        Which sensors are known to live, so that their silence counts, at all times or at each set; by default all. Sets
        that share detections have the same.
    unpaired_hz : array of float, shape (detections,), optional
        The rate of unpaired detections of each one's sensor at its time, instead of the network's.
    most_work : int
        As in `shared_out`.

    Raises
    ------
    RateError, HistogramError, OffsetError, WindowError, GraphError, DetectionsError

    Examples
    --------
    Two exact clocks agree. The third report fits less well, and its sensor is noisy:

    >>> clocks, times_us = [Histogram.normal(0.01), Histogram.normal(1)], [0, 5_000, 2_600_000]
    >>> network = Network.of_noise(["a", "b", "c"], 0.001, 0.9, [0.001, 0.001, 0.3])
    >>> found = evidence_of_sets(network, clocks, [0, 0, 1], times_us, [0, 1, 2], [[0], [1], [2]])
    >>> lower, upper = found.belongs()
    >>> lower.round(2).ravel().tolist()
    [1.0, 1.0, 0.39]
    """
    index, times, place = (
        whole_numbers(field, values, None, DetectionsError)
        for field, values in (
            ("template_index", template_index),
            ("detected_at_us", detected_at_us),
            ("sensor", sensor),
        )
    )
    if not index.shape == times.shape == place.shape or index.ndim != 1:
        raise DetectionsError("sensor", (index.shape, times.shape, place.shape), "three flat arrays of one length")
    parts = Parts.of(members)
    if parts.members.size and parts.members.max() >= len(index):
        raise DetectionsError("members", int(parts.members.max()), f"positions among {len(index)} detections")
    is_there = parts.members != NO_MEMBER
    alive = live if live is None or np.ndim(live) < 2 else np.asarray(live)[:, parts.of_set]
    evidence = evidence_columns(
        network,
        templates,
        np.where(is_there, index[parts.members], -1),
        times[parts.members],
        place[parts.members],
        travel=travel,
        live=alive,
        unpaired_hz=None if unpaired_hz is None else np.asarray(unpaired_hz)[parts.members],
    )
    shared = shared_out(parts.members, evidence.bits, most_work=most_work)
    return SetPosteriors(parts, evidence, shared)
