"""Window joins of any number of streams whose members are tied together by a graph of time constraints."""

from coincide.errors import GraphError
from coincide.window_join.batch import window_join, window_join_blocks
from coincide.window_join.constraint_graph import ConstraintGraph
from coincide.window_join.edge import Edge
from coincide.window_join.joint import JointProbability, joint_at_least, joint_probabilities
from coincide.window_join.streaming import WindowJoin
from coincide.window_join.tuples import Tuples

__all__ = [
    "ConstraintGraph",
    "Edge",
    "GraphError",
    "JointProbability",
    "Tuples",
    "WindowJoin",
    "joint_at_least",
    "joint_probabilities",
    "window_join",
    "window_join_blocks",
]
