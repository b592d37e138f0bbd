"""The joint probability of the members of a window join: that all windows of its graph hold at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import checked_threshold
from coincide.errors import OffsetError
from coincide.probability.difference import EXACT_OFFSET_US
from coincide.probability.joint.on_clocks import joint_on_clocks, share_clocks
from coincide.probability.joint.refinement import (
    ACCURACY,
    WIDEST_AT_FIRST,
    JointProbability,
    edge_probabilities,
    refined,
    refined_about,
    tree_bounds,
)
from coincide.probability.joint.tuples import EventTuples
from coincide.templates.histogram import Histogram


def checked_tuples(
    graph: ConstraintGraph,
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
) -> EventTuples:
    """Return the tuples, or say which field is not one row for each stream."""
    members = len(graph.roles)
    if len(templates) != members:
        raise OffsetError("templates", f"{len(templates)} sequences", f"one for each of {members} streams")
    index = _rows("template_index", template_index, members)
    times_us = _rows("detected_at_us", detected_at_us, members)
    if index.shape != times_us.shape:
        raise OffsetError("detected_at_us", times_us.shape, f"of the shape of template_index, {index.shape}")
    for stream, side, row in zip(graph.roles, templates, index, strict=True):
        if not ((row >= 0) & (row < len(side))).all():
            raise OffsetError("template_index", stream, f"numbers of its templates, from 0 to {len(side) - 1}")
    if index.size and (np.ptp(times_us.astype(np.float64), axis=0) >= EXACT_OFFSET_US).any():
        raise OffsetError("detected_at_us", times_us.shape, "times of one tuple less than 2**53 microseconds apart")
    return EventTuples(templates, index, times_us)


def _rows(field: str, given: npt.ArrayLike, members: int) -> Int64Array:
    array = np.asarray(given)
    if array.ndim != 2 or len(array) != members:
        raise OffsetError(field, array.shape, f"of shape ({members}, n): a row for each stream")
    if array.size and array.dtype.kind not in "iu":
        raise OffsetError(field, array.dtype.name, "whole numbers")
    return array.astype(np.int64)


def joint_probabilities(
    graph: ConstraintGraph,
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    threshold: float | None = None,
) -> JointProbability:
    """P(all windows of the graph hold at once) for n tuples of k members, independent but for the clocks they share.

    A uniform clique is exact: it is the mass of the posterior of the onset. So is a tree: messages from its ends to its
    centre, piecewise polynomials integrated between merged break points. Any other graph has cycles. Members are then
    fixed, one after the other, until no cycle is left, and the result is integrated over their times: exact where
    fixing one is enough (every single cycle, every triangle), where the times of all but one are exact, and for cliques
    of four without exact times. Where more are needed (a clique of five with a window of its own for each pair) the
    result is an interval with certified bounds: if those of the best spanning tree are no closer than 1e-3, cells with
    a bound on their error make them so.

    Parameters
    ----------
    graph : ConstraintGraph
        Windows are closed at both ends; exact times within 1 ns of an end lie on it. Thresholds do not matter here.
    templates : sequence of k sequences of Histogram
        Templates of each stream's events, in the order of `graph.roles`.
    template_index : array of integer, shape (k, n)
        Which template of its stream each member has.
    detected_at_us : array of int64, shape (k, n)
        Reported times in microseconds; those of one tuple lie less than 2**53 apart.
    threshold : float, optional
        Refine intervals with this number inside down to 1e-5, with at most ten times the cells that 1e-3 takes. Ask
        `JointProbability.is_certain` whether it is still inside.

    Raises
    ------
    ThresholdError
    OffsetError
        An array is of another shape or kind, or names a template that is not there.

    Notes
    -----
    A 3-way tuple of 4-bucket templates costs 7 us in a uniform clique, 4 us in a path and 0.2 ms with three different
    windows. Among thousands of tuples a clique of 4 with a window of its own for each pair costs 0.1 ms with 4 buckets
    and 0.4 ms with 16. One of 5 costs some 15 ms where the cheap bounds do not settle it. A further member that must be
    fixed multiplies that by about 30.

    The two-member case is Lemma 1 of Mok, Woo, Lee: Probabilistic Timing Join over Uncertain Event Streams (2006).

    Examples
    --------
    The first events of SN1987A at IMB, Baksan and Kamiokande, all within 10 s of each other:

    >>> from coincide import Window
    >>> clocks = [Histogram.uniform(-0.05, 0.05)], [Histogram.uniform(-54, 2)], [Histogram.uniform(-60, 60)]
    >>> graph = ConstraintGraph.clique(["imb", "baksan", "kamiokande"], Window(10))
    >>> joint = joint_probabilities(graph, clocks, [[0], [0], [0]], [[41_374_000], [71_818_000], [35_000_000]])
    >>> (joint.value * 112).round(9).tolist()
    [5.0]
    """
    tuples = checked_tuples(graph, templates, template_index, detected_at_us)
    about = None if threshold is None else checked_threshold(threshold)
    return _with_clocks(graph, tuples, lambda plain: _refined(graph, plain, about))


def _refined(graph: ConstraintGraph, tuples: EventTuples, about: float | None) -> JointProbability:
    return refined(graph, tuples) if about is None else refined_about(graph, tuples, about)


def _with_clocks(
    graph: ConstraintGraph, tuples: EventTuples, joint_of: Callable[[EventTuples], JointProbability]
) -> JointProbability:
    """Return what is told of tuples of independent members, and of the others what their clocks make of them."""
    shared = share_clocks(tuples)
    if not shared.any():
        return joint_of(tuples)
    joint = JointProbability.unset(len(tuples))
    plain, clocked = np.flatnonzero(~shared), np.flatnonzero(shared)
    joint.put(plain, joint_of(tuples.take(plain)))
    joint.put(clocked, joint_on_clocks(graph, tuples.take(clocked)))
    return joint


def joint_at_least(
    graph: ConstraintGraph,
    templates: Sequence[Sequence[Histogram]],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    threshold: float,
) -> npt.NDArray[np.bool_]:
    """Whether the joint probability of each tuple is at least `threshold`, shape (n,); cheaper than to compute it.

    It takes tuples as `joint_probabilities` does, and a threshold in (0, 1]. No edge may be less probable than the
    threshold: that is asked first, then, for cycles, the best spanning tree. What is exact is right to 1e-12 of the
    probability. Only an interval that has the threshold inside is refined, down to 1e-5. Where the threshold is inside
    even then, the interval's best guess decides. `joint_probabilities` with the same threshold shows these intervals.

    Raises
    ------
    ThresholdError, OffsetError

    Examples
    --------
    >>> from coincide import Window
    >>> graph = ConstraintGraph.path("abc", Window(lo_s=0, hi_s=1))
    >>> exact, late = [Histogram.point()], [Histogram.uniform(-2, 0)]
    >>> times_us = [[0, 0], [500_000, 900_000], [1_500_000, 2_000_000]]
    >>> joint_at_least(graph, [exact, exact, late], np.zeros((3, 2), dtype=int), times_us, 0.5).tolist()
    [True, True]
    """
    least = checked_threshold(threshold) - ACCURACY / 2
    tuples = checked_tuples(graph, templates, template_index, detected_at_us)
    verdict = np.zeros(len(tuples), dtype=np.bool_)
    of_edges = edge_probabilities(graph, tuples)
    open_rows = np.flatnonzero(of_edges.min(axis=0) >= least)
    shared = open_rows[share_clocks(tuples)[open_rows]]
    if len(shared):
        verdict[shared] = joint_on_clocks(graph, tuples.take(shared)).at_least(threshold)
        open_rows = np.setdiff1d(open_rows, shared)
    if not (graph.is_tree or graph.uniform_window or (graph.is_clique and len(graph.roles) == 4)):  # these are cheap
        lower, upper = tree_bounds(graph, tuples.take(open_rows), of_edges[:, open_rows])
        verdict[open_rows[lower >= least]] = True
        open_rows = open_rows[(lower < least) & (upper >= least)]
    joint = refined(graph, tuples.take(open_rows), WIDEST_AT_FIRST)  # a coarse interval is cheap, and often decides
    verdict[open_rows] = joint.at_least(threshold)
    open_rows = open_rows[~joint.is_certain(threshold)]
    verdict[open_rows] = refined_about(graph, tuples.take(open_rows), threshold).at_least(threshold)
    return verdict
