"""BEW on any connected graph: every window as it is given."""

from __future__ import annotations

from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.paper.answer import Answer, Predicate
from coincide.window_join.paper.backward import BackwardEvaluation
from coincide.window_join.paper.reach import given_reach, implied_reach
from coincide.window_join.paper.replay import Arrivals
from coincide.window_join.paper.work import Measured


def bew_direct(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join backwards along the edges of a path or graph, the window join paper's variation of BEW.

    Streams are visited along edges, and a partner is tested against the members that it shares edges with: results need
    no refinement. As printed, a tuple goes when it is out of reach of the newest tuples of the *joined* streams. Where
    streams are delayed against each other that loses results: a tuple of one end of a path may go although its partner
    in the middle waits for the other end. Here it has to be out of reach of every stream, by implied bounds where the
    graph has no edge.

    Parameters
    ----------
    arrivals : Arrivals
    graph : ConstraintGraph
        Any.
    predicate : callable, optional
        See `Predicate`.

    Raises
    ------
    DetectionsError
        The streams that arrive are not those of the graph.

    Examples
    --------
    >>> exact = [Histogram.point()]
    >>> times_us = {"a": [10, 30], "b": [12, 90], "c": [14, 31]}
    >>> arrivals = Arrivals({name: Detections(times, exact) for name, times in times_us.items()})
    >>> found = bew_direct(arrivals, ConstraintGraph.path(["a", "b", "c"], Window(2e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 5, 0)
    """
    answer = Answer(arrivals, graph, predicate, hashed=True)
    return BackwardEvaluation(answer, given_reach(graph), kept=implied_reach(graph), refined=False).run()
