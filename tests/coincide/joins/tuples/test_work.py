"""Window joins do work that grows with what comes in and goes out, whatever lies between."""

import numpy as np
import pytest

from coincide import ConstraintGraph, Detections, Histogram, Window, window_join
from coincide.arrays import range_expansion
from coincide.joins.tuples import enumeration
from tests.reference.call_counts import CallCounts

SECOND_US = 1_000_000
DENSE = 20_000
PARTNERS = 400


def exact(rng: np.random.Generator, span_s: int, count: int) -> Detections:
    return Detections(np.sort(rng.integers(0, span_s * SECOND_US, count)), [Histogram.point()])


WIDE, NARROW = Window(PARTNERS / 2), Window(0.6)
GRAPHS = {
    "the rare stream at an end": ConstraintGraph.path("abc", [WIDE, NARROW]),
    "the rare stream in the middle": ConstraintGraph.path("acb", WIDE),
    "uniform clique": ConstraintGraph.clique("abc", NARROW),
    "uneven clique": ConstraintGraph.clique("abc", {("a", "b"): WIDE, ("b", "c"): NARROW, ("a", "c"): NARROW}),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_selective_query_over_dense_streams_does_not_blow_up(graph: ConstraintGraph, counts: CallCounts) -> None:
    """Two streams in which everything has hundreds of partners in every window, and one that hardly says anything."""
    rng = np.random.default_rng(5)
    frames = {name: exact(rng, DENSE, 12 if name == "c" else DENSE) for name in "abc"}
    counts.watch(range_expansion, "expanded", "written", lambda pairs, *_: len(pairs[0]))
    counts.watch(enumeration, "expanded_beside", "never", lambda *_: 0)
    window_join(frames, graph)
    assert counts["written"] <= sum(map(len, frames.values()))  # beside whole tuples; the pairs a-b alone are 8M


def test_partial_tuples_without_a_candidate_go_at_once(counts: CallCounts) -> None:
    counts.watch(range_expansion, "expanded", "written", lambda pairs, *_: len(pairs[0]))
    rng = np.random.default_rng(6)
    frames = {name: exact(rng, 2_000, 2_000) for name in "abcd"}
    found = window_join(frames, ConstraintGraph.path("abcd", [Window(5), Window(0.001), Window(5)]))
    assert 0 < len(found) < 2_000
    assert counts["written"] <= 10 * len(found)  # 20,000 pairs of a and b, of which hardly one has a c
