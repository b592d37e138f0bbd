"""A chunk sees as far as the longest answer is long."""

import pytest

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window
from coincide.chunks.chunk_joins import TupleQuery
from tests.reference.chunked import chunked


@pytest.mark.parametrize("reaches_a_cell", [1, 2])
@pytest.mark.parametrize(("roles", "optional"), [("abc", "c"), ("abcd", "d"), ("abcd", "ad")])
def test_a_set_as_long_as_all_its_edges_together(roles: str, optional: str, reaches_a_cell: int) -> None:
    """Wherever the cells are cut, the chunk of its first member sees its last one, as far away as any may be."""
    graph, at_least = ConstraintGraph.path(roles, Window(lo_s=0, hi_s=2)), AtLeast(0, of=optional)
    sides, query = range(len(roles)), TupleQuery(graph, {role: n for n, role in enumerate(roles)}, at_least=at_least)
    for begin_us in range(-8_000_000, 8_000_000, 500_000):
        frames = [Detections([begin_us + 2_000_000 * side], [Histogram.point()]) for side in sides]
        assert set(chunked(query, frames, reaches_a_cell)) == {(0,) * len(roles)}
