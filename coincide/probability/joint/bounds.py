"""Cheap bounds on the joint probability: by every edge alone, and by the tree of the least probable edges.

More constraints make less probable: each edge alone and each spanning tree are upper bounds. What a tree leaves out
takes away at most the chance that one of the edges left out fails: tree - sum (1 - p_e) is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.probability.difference import match_probabilities
from coincide.probability.joint.member_links import Links
from coincide.probability.joint.messages import Forest
from coincide.probability.joint.tuples import EventTuples


def edge_probabilities(graph: ConstraintGraph, tuples: EventTuples) -> FloatArray:
    """`match_probability` of every edge, shape (edges, n), in the order of `graph.edges`."""
    probability = np.empty((len(graph.edges), len(tuples)))
    for row, edge in enumerate(graph.edges):
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        apart_us = tuples.detected_at_us[b] - tuples.detected_at_us[a]
        index_a, index_b = tuples.template_index[a], tuples.template_index[b]
        sides = tuples.templates[a], tuples.templates[b]
        probability[row] = match_probabilities(*sides, index_a, index_b, apart_us, edge.window)
    return probability


def tree_bounds(graph: ConstraintGraph, tuples: EventTuples, of_edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds, shape (n,), by each tuple's tree of the least probable edges."""
    in_tree = least_spanning_trees(graph, of_edges)
    tree = np.empty(len(tuples))
    for rows, links in _by_tree(graph, in_tree):
        for block in tuples.take(rows).blocks():
            tree[rows[block.rows]] = Forest(links, block.shape.edges).estimate(block.members()).value
    left_out = np.where(in_tree, 0.0, 1.0 - of_edges).sum(axis=0)
    return np.maximum(tree - left_out, 0.0), np.minimum(tree, of_edges.min(axis=0))


def least_spanning_trees(graph: ConstraintGraph, of_edges: FloatArray) -> BoolArray:
    """Which edges are in each tuple's tree of the least probable edges, shape (edges, n) (Kruskal, in columns)."""
    ends = np.array([[graph.roles.index(edge.a), graph.roles.index(edge.b)] for edge in graph.edges])
    columns = np.arange(of_edges.shape[1])
    group = np.repeat(np.arange(len(graph.roles))[:, None], len(columns), axis=1)
    in_tree = np.zeros(of_edges.shape, dtype=np.bool_)
    for edge in np.argsort(of_edges, axis=0, kind="stable"):
        a, b = (group[ends[edge, side], columns] for side in (0, 1))
        in_tree[edge, columns] = a != b
        group = np.where(group == b, a, group)
    return in_tree


def _by_tree(graph: ConstraintGraph, in_tree: BoolArray) -> Iterator[tuple[Int64Array, Links]]:
    """Yield the tuples of each tree, and its links."""
    links = Links.of(graph)
    trees, which = np.unique(in_tree, axis=1, return_inverse=True)
    for number, tree in enumerate(trees.T):
        kept = [edge.pair for edge, there in zip(graph.edges, tree.tolist(), strict=True) if there]
        named = {frozenset(map(graph.roles.index, pair)) for pair in kept}
        yield np.flatnonzero(which.ravel() == number), links.only(named)
