"""window_join: the exact join of any number of batches, the default of all window joins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.joins.labels import Keys
from coincide.joins.progress import Progress, checked_progress
from coincide.joins.search.work import WHATEVER_IT_TAKES, SearchWork
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.members import in_order
from coincide.joins.tuples.tuple_blocks import BatchTuples, Where


def window_join(  # noqa: PLR0913 - each is a part of the question; all but two have a default
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
    *,
    at_least: int | AtLeast | None = None,
    max_candidates: int = MOST_CANDIDATES,
    progress: Progress | None = None,
    work: SearchWork = WHATEVER_IT_TAKES,
) -> Tuples:
    """Tuples of one event a role that satisfy every edge of the graph, and all of them at once.

    Parameters
    ----------
    batches : mapping of str to Detections
        A batch for each role of the graph, rows in any order. One batch in two roles is a self-join: its members are
        different events. Where roles of one batch can be swapped without changing the graph, each set of events counts
        once, its members in the order of (detected_at, sensor, id, position).
    graph : ConstraintGraph
    key : mapping of str to array_like, optional
        For each role one label a row, integers or strings: only events with equal keys (in one area) meet.
    threshold : float, optional
        In (0, 1]: the least joint probability, that every edge's window holds.
    where : callable, optional
        Any other condition: takes positions of members, int64 (n, k), returns which to keep, bool (n,).
    sensors : {"different", "same", "any"}
        Which sensors the members may come from. Detections without a sensor differ from all others.
    at_least : int or AtLeast, optional
        So many members of a clique are enough, at least 2. With `AtLeast` so many members of some roles are, beside one
        of each other role. The answer is then the sets of compatible events, at most one of each role, that cannot
        grow; `where` is not allowed.
    max_candidates : int
        With `at_least`: how many sets of three and more events, the last of them one row, the join may look at.
    progress : callable, optional
        Called now and then with the share of the work that is done, from 0 to 1.
    work : SearchWork, optional
        With `at_least`: hears how many pairs of events the join holds, and of sets before it looks at them. What it
        raises ends the join. By default the join takes whatever it takes.

    Returns
    -------
    Tuples
        Positions of the rows, in lexicographic order; -1 where a member is absent.

    Raises
    ------
    CoincideError
        Batches that are not those of the graph's roles or do not fit each other; a threshold, key or rule that cannot
        be used; or an edge without any threshold where times are not exact.
    CandidateLimitError
        One row has more candidate sets than `max_candidates`.

    References
    ----------
    The forms are those of Hammad, Aref, Elmagarmid: Stream Window Join: Tracking Moving Objects in Sensor-Network
    Databases (2003); there times are exact.

    Examples
    --------
    A cloud of gas passes three sensors along a valley, and a fourth event is too late to belong to it:

    >>> from coincide.templates.histogram import Histogram
    >>> from coincide.constraints.window import Window
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> gate, bridge = Detections([0], clock), Detections([40_000_000, 99_000_000], clock)
    >>> tower = Detections([70_000_000], clock)
    >>> valley = ConstraintGraph.path(["gate", "bridge", "tower"], Window(lo_s=0, hi_s=60), threshold=0.9)
    >>> clouds = window_join({"gate": gate, "bridge": bridge, "tower": tower}, valley)
    >>> clouds.members.tolist(), clouds.edge_probability.tolist()
    ([[0, 0, 0]], [[1.0, 1.0]])
    """
    heard = checked_progress(progress)
    join = replace(BatchTuples.of(batches, graph, key, threshold, sensors), progress=heard, work=work)
    if at_least is not None:
        sets = join.maximal(where, at_least, max_candidates)
        heard(1.0)
        return sets
    blocks = list(join.blocks(where))
    nobody = np.empty((len(graph.roles), 0), np.int64)
    members = np.hstack([nobody, *(block.members.T for block in blocks)]).T
    return join.tuples(members if all(block.is_in_order for block in blocks) else in_order(members))


def window_join_blocks(
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
    *,
    progress: Progress | None = None,
) -> Iterator[Tuples]:
    """`window_join` in parts, for answers that need not fit in memory.

    Parameters are those of `window_join`. A part has about 64k tuples, or as many as one event more makes; parts and
    the tuples in them come in any order.
    """
    heard = checked_progress(progress)
    join = replace(BatchTuples.of(batches, graph, key, threshold, sensors), progress=heard)
    for block in join.blocks(where):
        yield join.tuples(block.members)
