"""The nine algorithms of the window join paper; at exact times each gives the results of `window_join`."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.constraints.graph import ConstraintGraph
from coincide.papers.window_join.backward import BackwardEvaluation
from coincide.papers.window_join.counted_work import Algorithm, Answer, Measured, Predicate
from coincide.papers.window_join.forward import ForwardEvaluation
from coincide.papers.window_join.window_replay import Arrivals
from coincide.papers.window_join.windows import given_reach, global_reach, implied_reach, local_reach, uniform_reach


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


def bew_hash(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join a uniform clique backwards with a hash table for each stream, the window join paper's second BEW.

    Without keys there is one bucket, and the work is that of the nested loop.

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
    >>> found = bew_hash(arrivals, ConstraintGraph.clique(["a", "b", "c"], Window(4e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 7, 0)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), uniform_reach(graph)
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=False).run()


def bew_nested_loop(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join a uniform clique backwards by nested loops, as the window join paper first describes BEW.

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
    >>> found = bew_nested_loop(arrivals, ConstraintGraph.clique(["a", "b", "c"], Window(4e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 7, 0)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=False), uniform_reach(graph)
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=False).run()


def few_hash(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join a uniform clique forwards with a hash table for each stream, the window join paper's second FEW.

    Without keys there is one bucket, and the work is that of the nested loop.

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
    >>> found = few_hash(arrivals, ConstraintGraph.clique(["a", "b", "c"], Window(4e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 14, 60)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), uniform_reach(graph)
    return ForwardEvaluation(answer, reach, refined=False).run()


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


def gca_bew(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join any graph backwards by the global conservative approach of the window join paper.

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
    >>> found = gca_bew(arrivals, ConstraintGraph.path(["a", "b", "c"], Window(2e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 7, 0)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), global_reach(graph)
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=True).run()


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


def lca_bew(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join any graph backwards by the local conservative approach of the window join paper.

    `local_reach` says which windows filter.

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
    >>> found = lca_bew(arrivals, ConstraintGraph.path(["a", "b", "c"], Window(2e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 7, 0)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), local_reach(graph)
    return BackwardEvaluation(answer, tested=reach, kept=reach, refined=True).run()


def lca_few(arrivals: Arrivals, graph: ConstraintGraph, predicate: Predicate | None = None) -> Measured:
    """Join any graph forwards by the local conservative approach of the window join paper.

    `local_reach` says which windows filter.

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
    >>> found = lca_few(arrivals, ConstraintGraph.path(["a", "b", "c"], Window(2e-6)))
    >>> found.members.tolist(), found.work.windows_tested, found.work.longest_wait_us
    ([[0, 0, 0]], 16, 60)
    """
    answer, reach = Answer(arrivals, graph, predicate, hashed=True), local_reach(graph)
    return ForwardEvaluation(answer, reach, refined=True).run()


@dataclass(frozen=True)
class PaperAlgorithm:
    """An algorithm of the window join paper.

    Attributes
    ----------
    name : str
    run : Algorithm
    uniform_cliques_only : bool
        Refuses every other graph.
    """

    name: str
    run: Algorithm
    uniform_cliques_only: bool = False


ALGORITHMS = (
    PaperAlgorithm("bew-nested-loop", bew_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("bew-hash", bew_hash, uniform_cliques_only=True),
    PaperAlgorithm("few-nested-loop", few_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("few-hash", few_hash, uniform_cliques_only=True),
    PaperAlgorithm("bew-direct", bew_direct),
    PaperAlgorithm("gca-bew", gca_bew),
    PaperAlgorithm("gca-few", gca_few),
    PaperAlgorithm("lca-bew", lca_bew),
    PaperAlgorithm("lca-few", lca_few),
)
