"""Window joins of any number of streams whose members are tied together by a graph of time constraints."""

from coincide.window_join.batch import window_join, window_join_blocks
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.edge import Edge, GraphError

__all__ = ["ConstraintGraph", "Edge", "GraphError", "window_join", "window_join_blocks"]
