"""One source density: how densely reported times lie like this if one event made them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from coincide.arrays.exact_sums import ExactSum, difference_of, seconds_of
from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import whole_numbers
from coincide.constraints.graph import ConstraintGraph, induced
from coincide.constraints.window import Window
from coincide.errors import GraphError, HistogramError, OffsetError, WindowError
from coincide.evidence.shared_offsets import clocks_of_members, density_on_clocks
from coincide.probability.difference import EXACT_OFFSET_US
from coincide.probability.joint.probability import joint_probabilities
from coincide.probability.joint.shifted_tuple import share_a_clock
from coincide.probability.piecewise import BreakPoints, total
from coincide.templates.clocked import are_clocked, own_of
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import StackedTemplates, TemplateColumns, checked_templates, rows_alike

HALF_MICROSECOND_S = 0.5e-6
ELEMENTS_PER_STEP = 32_768  # break points times matches: temporaries that stay in the processor's cache

Travel = Window | ConstraintGraph


def one_source_density(
    templates: Sequence[Histogram],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    travel: Travel | None = None,
) -> FloatArray:
    """Return the density of the members' reported times, given that one event made them; float64 (n,).

    Of k members the first may report at any time, so the density is that of the other k - 1 times: per second to the
    power of k - 1. Without `travel` the event is at one moment for all sensors:

        f(r) = integral prod_i u_i(t - r_i) dt

    With `travel` it comes to different sensors at different moments. All that these windows allow are equally likely:

        f(r) = P(all windows hold) / volume of what they allow

    Members that share a clock have its error in common: what each has of its own counts between them, and the density
    is averaged over the error of the clock. If all are on one clock, that cancels.

    For two members in a window of d seconds either way that is P / 2d, and with d it tends to the first form.

    Parameters
    ----------
    templates : sequence of Histogram
    template_index : array of integer, shape (k, n)
        Which template each member has; -1: this match has no such member. Each match has two or more.
    detected_at_us : array of int64, shape (k, n)
        Reported times; those of one match lie less than 2**53 microseconds apart.
    travel : Window or ConstraintGraph, optional
        A window for each two members: symmetric, or of the second member minus the first where there are two. Or a
        graph whose roles are the rows.

    Notes
    -----
    An exact time is one to the microsecond: it is spread over the microsecond around it.

    Raises
    ------
    HistogramError, OffsetError, WindowError, GraphError

    Examples
    --------
    >>> clock = Histogram.uniform(-1, 1)
    >>> one_source_density([clock], [[0, 0], [0, 0]], [[0, 0], [0, 1_000_000]]).tolist()
    [0.5, 0.25]
    >>> one_source_density([clock], [[0], [0]], [[0], [1_000_000]], travel=Window(0.5)).round(12).tolist()
    [0.25]
    """
    known = checked_templates("templates", templates)
    index = whole_numbers("template_index", template_index, None, HistogramError)
    if index.ndim != 2 or (index.size and (index.min() < -1 or index.max() >= len(known))):
        raise HistogramError("template_index", f"of shape {index.shape}", f"(k, n) positions below {len(known)}, or -1")
    times = whole_numbers("detected_at_us", detected_at_us, index.shape, OffsetError)
    _refuse_bad_travel(travel, len(index))
    density = np.zeros(index.shape[1])
    for members, rows in _alike(index >= 0):
        own, at_us = index[np.ix_(members, rows)], times[np.ix_(members, rows)]
        if (np.ptp(at_us.astype(np.float64), axis=0) >= EXACT_OFFSET_US).any():
            raise OffsetError("detected_at_us", at_us.shape, "times of one match less than 2**53 microseconds apart")
        if travel is None:
            density[rows] = _at_one_moment(known, own, at_us)
        else:
            graph = _graph_of(travel, members.tolist(), len(index))
            joint = joint_probabilities(graph, [known] * len(members), own, at_us)
            density[rows] = joint.value / volume(graph)
    return density


def _refuse_bad_travel(travel: object, members: int) -> None:
    if isinstance(travel, ConstraintGraph) and len(travel.roles) != members:
        raise GraphError("travel", list(travel.roles), f"a role for each of {members} rows")
    if not isinstance(travel, ConstraintGraph | Window | None):
        raise WindowError("travel", travel, "a Window, such as Window(5.0), a ConstraintGraph, or None")
    windows = [travel] if isinstance(travel, Window) else [edge.window for edge in travel.edges] if travel else []
    for window in windows:
        if window.is_open or not window.lo_s < window.hi_s:
            raise WindowError("travel", window, "windows with two ends, and longer than 0 s; None for one moment")
    if isinstance(travel, Window) and members > 2 and not travel.is_symmetric:
        raise WindowError("travel", travel, f"symmetric, for {members} members; or a ConstraintGraph")


def _alike(present: npt.NDArray[np.bool_]) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Yield (members, rows): the matches that have the same members."""
    if not present.shape[1]:
        return
    for rows in rows_alike(list(present.astype(np.int64))):
        members = np.flatnonzero(present[:, rows[0]])
        if len(members) < 2:
            raise HistogramError("template_index", f"{len(members)} members in match {rows[0]}", "two or more")
        yield members, rows


def _graph_of(travel: Travel, members: Sequence[int], rows: int) -> ConstraintGraph:
    """Return what ties these members."""
    if isinstance(travel, ConstraintGraph):
        return induced(travel, [travel.roles[each] for each in members]) if len(members) < rows else travel
    roles = [str(each) for each in members]
    if travel.is_symmetric:
        return ConstraintGraph.clique(roles, travel)
    return ConstraintGraph.binary(roles[0], roles[1], travel)


@lru_cache(maxsize=256)
def volume(graph: ConstraintGraph) -> float:
    """Return how much room the windows leave to all members but the first, in seconds to the power of k - 1.

    Examples
    --------
    >>> volume(ConstraintGraph.clique("abc", Window(2)))
    12.0
    """
    others = len(graph.roles) - 1
    if graph.uniform_window is not None:
        return float((others + 1) * graph.uniform_window.hi_s**others)
    if graph.is_tree:
        return prod(edge.window.hi_s - edge.window.lo_s for edge in graph.edges)
    bounds_s = graph.window_bounds_us[0] / 1e6, -graph.window_bounds_us[:, 0] / 1e6
    reach = [(lo_s - 1e-6, hi_s + 1e-6) for hi_s, lo_s in zip(*bounds_s, strict=True)][1:]
    anywhere = [[Histogram.point()], *([Histogram.uniform(*each)] for each in reach)]
    nothing = np.zeros((others + 1, 1), dtype=np.int64)
    share = float(joint_probabilities(graph, anywhere, nothing, nothing).value[0])
    return share * float(prod(hi_s - lo_s for lo_s, hi_s in reach))


def _at_one_moment(templates: Sequence[Histogram], index: IndexArray, times_us: Int64Array) -> FloatArray:
    """Return the density of each match, by what its members have of their own where one clock has them all."""
    if not are_clocked(templates):
        return _independent(templates, index, times_us)
    codes = clocks_of_members(templates, index)
    shared = share_a_clock(codes)
    cancels = shared.all(axis=0) & (codes == codes[0]).all(axis=0)
    on_clocks = shared.any(axis=0) & ~cancels
    density, plain = np.zeros(index.shape[1]), np.flatnonzero(~on_clocks)
    within = index + cancels * len(templates)
    density[plain] = _independent((*templates, *map(own_of, templates)), within[:, plain], times_us[:, plain])
    for number in np.flatnonzero(on_clocks).tolist():
        members = [templates[each] for each in index[:, number].tolist()]
        reported_s = (times_us[:, number] - times_us[0, number]) / 1e6
        density[number] = density_on_clocks(members, reported_s.tolist())
    return density


def _independent(templates: Sequence[Histogram], index: IndexArray, times_us: Int64Array) -> FloatArray:
    stack = StackedTemplates(templates)
    buckets = stack.buckets[index]
    density = np.zeros(index.shape[1])
    for alike in rows_alike(list(buckets)):
        counts = buckets[:, alike[0]].tolist()
        step = max(1, ELEMENTS_PER_STEP // (3 * sum(count + 1 for count in counts)))
        for first in range(0, len(alike), step):
            rows = alike[first : first + step]
            columns = [stack.columns(count, which[rows]) for count, which in zip(counts, index, strict=True)]
            reported = [seconds_of(own[rows] - times_us[0, rows]) for own in times_us]
            density[rows] = _integral(columns, reported)
    return density


def _integral(templates: Sequence[TemplateColumns], reported: Sequence[ExactSum]) -> FloatArray:
    """Integrate the product of the members' densities: constant on each piece between break points."""
    parts = [_parts(template, at) for template, at in zip(templates, reported, strict=True)]
    breaks = BreakPoints([edges for own in parts for edges, _ in own])
    product, which = breaks.width_s, 0
    for own in parts:
        densities = [breaks.between(which + nth, each) for nth, (_, each) in enumerate(own)]
        product, which = product * sum(densities), which + len(own)
    return total(product)


def _parts(template: TemplateColumns, reported: ExactSum) -> list[tuple[ExactSum, FloatArray]]:
    """Return edges on the common clock, and the density between them: of what is spread, and of exact times."""
    parts = [(_placed(template.edges_s, reported, 0.0), template.density)]
    is_atom = (template.length_s == 0) & (template.mass > 0)
    for bucket in np.flatnonzero(is_atom.any(axis=1)).tolist():
        around_s = np.stack((template.edges_s[bucket], template.edges_s[bucket]))
        edges = _placed(around_s, reported, np.array([[-HALF_MICROSECOND_S], [HALF_MICROSECOND_S]]))
        mass = np.where(is_atom[bucket], template.mass[bucket], 0.0)
        parts.append((edges, mass[None] / (2 * HALF_MICROSECOND_S)))
    return parts


def _placed(edges_s: FloatArray, reported: ExactSum, later_s: FloatArray | float) -> ExactSum:
    placed = difference_of(edges_s, -reported.high)
    return difference_of(placed.high, -(placed.low + reported.low + later_s))  # so that high sorts them
