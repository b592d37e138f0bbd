"""FEW by nested loops: two modes, a queue for each stream."""

from __future__ import annotations

from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.paper.answer import Answer, Predicate
from coincide.window_join.paper.forward import ForwardEvaluation
from coincide.window_join.paper.reach import uniform_reach
from coincide.window_join.paper.replay import Arrivals
from coincide.window_join.paper.work import Measured


def few_nested_loop(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join a uniform clique forwards by nested loops, as the window join paper first describes FEW.

    Parameters
    ----------
    arrivals : Arrivals
    graph : ConstraintGraph
        A uniform clique.
    predicate : callable, optional
        See `Predicate`.

    Raises
    ------
    GraphError
        Windows are not one and the same for every pair.
    DetectionsError
        The streams that arrive are not those of the graph.

    Examples
    --------
    >>> exact = [Histogram.point()]
    >>> times_us = {"a": [10, 30], "b": [12, 90], "c": [14, 31]}
    >>> arrivals = Arrivals({name: Detections(times, exact) for name, times in times_us.items()})
    >>> found = few_nested_loop(arrivals, ConstraintGraph.clique(["a", "b", "c"], Window(4e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 14, 60)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=False), uniform_reach(graph)
    return ForwardEvaluation(answer, reach, refined=False).run()
