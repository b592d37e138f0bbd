"""GCA over FEW: the largest window of all as that of a uniform clique, then refine."""

from __future__ import annotations

from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.paper.answer import Answer, Predicate
from coincide.window_join.paper.conservative import global_reach
from coincide.window_join.paper.forward import ForwardEvaluation
from coincide.window_join.paper.replay import Arrivals
from coincide.window_join.paper.work import Measured


def gca_few(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join any graph forwards by the global conservative approach of the window join paper.

    `global_reach` says which windows filter.

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
    >>> found = gca_few(arrivals, ConstraintGraph.path(["a", "b", "c"], Window(2e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 16, 60)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), global_reach(graph)
    return ForwardEvaluation(answer, reach, refined=True).run()
