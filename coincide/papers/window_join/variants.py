"""The nine algorithms of the window join paper; at exact times each gives the results of `window_join`.

BEW joins a tuple when it arrives; FEW waits for a period that all streams reach. Each of them takes a uniform clique,
with a nested loop or with a hash table for each stream. Three approaches take every graph:

- direct: streams are visited along edges, so that results need no refinement
- GCA, the global conservative approach: a clique of the largest window filters (`global_reach`)
- LCA, the local conservative approach: a clique of each stream's own largest window filters (`local_reach`)

As printed, `bew_direct` drops a tuple when it is out of reach of the newest tuples of the *joined* streams. Where
streams are delayed against each other that loses results: a tuple of one end of a path may go although its partner in
the middle waits for the other end. Here it has to be out of reach of every stream, by implied bounds where the graph
has no edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coincide.constraints.graph import ConstraintGraph
from coincide.papers.counted_answer import PaperResult
from coincide.papers.recording import Recording
from coincide.papers.window_join.backward_evaluation import BackwardEvaluation
from coincide.papers.window_join.evaluation import EvaluationPlan, JoinEvaluation, Predicate
from coincide.papers.window_join.forward_evaluation import ForwardEvaluation
from coincide.papers.window_join.reaches import (
    Reach,
    given_reach,
    global_reach,
    implied_reach,
    local_reach,
    uniform_reach,
)


@dataclass(frozen=True)
class WindowJoinVariant:
    """An evaluation, the windows that it tests, and its kind of buffer: called, it joins a recording."""

    evaluation: type[JoinEvaluation]
    tested: Callable[[ConstraintGraph], Reach]  # the windows that partners are tested with
    kept: Callable[[ConstraintGraph], Reach] | None = None  # those that say how long tuples are kept; None: the same
    hashed: bool = False  # without keys there is one bucket, and the work is that of the nested loop
    refined: bool = False  # results still have to pass the windows of the graph

    def __call__(self, recording: Recording, graph: ConstraintGraph, predicate: Predicate | None = None) -> PaperResult:
        """Join the streams of the graph; a result has one tuple of each, with equal keys where there are keys."""
        tested = self.tested(graph)
        kept = tested if self.kept is None else self.kept(graph)
        plan = EvaluationPlan(tested, kept, self.hashed, self.refined)
        return self.evaluation(recording, graph, predicate, plan).run()


bew_nested_loop = WindowJoinVariant(BackwardEvaluation, uniform_reach)
bew_hash = WindowJoinVariant(BackwardEvaluation, uniform_reach, hashed=True)
few_nested_loop = WindowJoinVariant(ForwardEvaluation, uniform_reach)
few_hash = WindowJoinVariant(ForwardEvaluation, uniform_reach, hashed=True)
bew_direct = WindowJoinVariant(BackwardEvaluation, given_reach, kept=implied_reach, hashed=True)
gca_bew = WindowJoinVariant(BackwardEvaluation, global_reach, hashed=True, refined=True)
gca_few = WindowJoinVariant(ForwardEvaluation, global_reach, hashed=True, refined=True)
lca_bew = WindowJoinVariant(BackwardEvaluation, local_reach, hashed=True, refined=True)
lca_few = WindowJoinVariant(ForwardEvaluation, local_reach, hashed=True, refined=True)
