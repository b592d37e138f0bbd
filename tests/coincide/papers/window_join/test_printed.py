"""Where the window join paper is wrong or silent: the printed or naive reading fails, ours does not."""

from __future__ import annotations

import pytest

from coincide import ConstraintGraph, Window
from coincide.papers.window_join import variants
from coincide.papers.window_join.variants import WindowJoinVariant
from tests.reference import printed_window_join as printed
from tests.reference.window_join_points import arriving

PATH = ConstraintGraph.path("abc", Window(10e-6))
TRIANGLE = ConstraintGraph.clique("abc", Window(10e-6))
UNEVEN = ConstraintGraph.clique(
    "abc", {("a", "b"): Window(20e-6), ("b", "c"): Window(20e-6), ("a", "c"): Window(100e-6)}
)
PAIR = ConstraintGraph.clique("ab", Window(10e-6))


@pytest.mark.parametrize(
    ("naive", "right", "graph", "order", "expected", "as_printed"),
    [
        pytest.param(
            printed.direct_by_joined_streams,
            variants.bew_direct,
            PATH,
            [("a", 5), ("b", 6), ("b", 20), ("c", 7)],  # c is delayed: a 5 is 15 older than b's newest, and yet joins
            [[0, 0, 0]],
            [],
            id="a tuple outlives the windows of the streams that it is joined with",
        ),
        pytest.param(
            printed.gca_of_the_windows_given,
            variants.gca_bew,
            PATH,
            [("a", 0), ("b", 9), ("c", 18)],
            [[0, 0, 0]],
            [],
            id="the ends of a path lie farther apart than its largest window",
        ),
        pytest.param(
            printed.bew_by_last_to_arrive,
            variants.bew_hash,
            PAIR,
            [("a", 0), ("b", 30), ("b", 5)],
            [[0, 1]],
            [],
            id="the newest of a stream that is out of order is not the last to arrive, nor the oldest to come",
        ),
        pytest.param(
            printed.bew_by_any_stream,
            variants.bew_nested_loop,
            TRIANGLE,
            [("b", 0), ("a", 5), ("a", 12), ("c", 6)],
            [[0, 0, 0]],
            [],
            id="a tuple too old for one stream's newest joins an older one there when a third stream is delayed",
        ),
        pytest.param(
            printed.bew_of_all_that_waits,
            variants.bew_nested_loop,
            PAIR,
            [("a", 0), ("b", 5)],
            [[0, 0]],
            [[0, 0], [0, 0]],
            id="tuples that wait together are not each the last to arrive",
        ),
        pytest.param(
            printed.few_closed_by_any_stream,
            variants.few_nested_loop,
            PAIR,
            [("a", 0), ("b", 1), ("a", 11), ("b", 4)],
            [[0, 0], [0, 1], [1, 0], [1, 1]],
            [[0, 0], [1, 0], [1, 1]],
            id="FEW waits for every stream before it drops",
        ),
        pytest.param(
            printed.lca_few_drops_the_oldest,
            variants.lca_few,
            UNEVEN,
            [("a", 0), ("b", 5), ("c", 10), ("b", 15), ("c", 34), ("a", 90), ("b", 90), ("c", 90)],
            [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 2, 2]],  # of b, reaching to 25, the first goes; not a 0
            [[0, 0, 0], [0, 1, 0], [1, 2, 2]],
            id="the starting tuple whose reach ends first may go, not the oldest",
        ),
        pytest.param(
            printed.few_without_flush,
            variants.few_hash,
            TRIANGLE,
            [("a", 0), ("b", 1), ("c", 2), ("a", 5), ("b", 12)],  # b 12 is past a 0, whose period c keeps open
            [[0, 0, 0], [1, 0, 0], [1, 1, 0]],
            [[0, 0, 0], [1, 0, 0]],
            id="FEW has to be told that the streams have ended",
        ),
    ],
)
def test_the_naive_reading_fails(
    naive: WindowJoinVariant,
    right: WindowJoinVariant,
    graph: ConstraintGraph,
    order: list[tuple[str, int]],
    expected: list[list[int]],
    as_printed: list[list[int]],
) -> None:
    recording = arriving(order)
    assert right(recording, graph).members.tolist() == expected
    assert naive(recording, graph).members.tolist() == as_printed
