"""Every algorithm of the window join paper gives what the definition says, in every order; none waits in vain."""

import numpy as np
import pytest
from hypothesis import given, settings

from coincide import CoincideError, ConstraintGraph, Detections, Histogram, Window
from coincide.errors import DetectionsError, GraphError
from coincide.papers.algorithms import WINDOW_JOINS, PaperAlgorithm
from coincide.papers.counted_answer import Work
from coincide.papers.recording import Recording
from coincide.papers.window_join import variants
from tests.examples import examples
from tests.reference.window_join_points import RecordedJoin, arriving, recorded_joins

FOR_ANY_GRAPH = tuple(each for each in WINDOW_JOINS if not each.uniform_cliques_only)
EXACT = [Histogram.point()]
PAIR = ConstraintGraph.clique("ab", Window(10e-6))

each_algorithm = pytest.mark.parametrize("algorithm", WINDOW_JOINS, ids=lambda algorithm: algorithm.name)


def assert_all_answer_alike(join: RecordedJoin, algorithms: tuple[PaperAlgorithm, ...]) -> None:
    expected, recording = join.expected, join.recording
    for algorithm in algorithms:
        assert algorithm.run(recording, join.graph, join.predicate).members.tolist() == expected, algorithm.name


@settings(max_examples=examples(50))
@given(recorded_joins(uniform=True))
def test_uniform_cliques(join: RecordedJoin) -> None:
    assert_all_answer_alike(join, WINDOW_JOINS)


@settings(max_examples=examples(50))
@given(recorded_joins(uniform=False))
def test_any_graph(join: RecordedJoin) -> None:
    assert_all_answer_alike(join, FOR_ANY_GRAPH)


@each_algorithm
def test_the_answer_is_a_matrix_of_streams_in_the_graphs_order(algorithm: PaperAlgorithm) -> None:
    nothing = Recording({name: Detections([], EXACT) for name in "abc"})
    result = algorithm.run(nothing, ConstraintGraph.clique("abc", Window(1)))
    assert result.members.shape == (0, 3)
    assert result.members.dtype == np.int64
    assert result.work == Work()
    recording = Recording({"b": Detections([5, 6, 7], EXACT), "a": Detections([9], EXACT)})
    result = algorithm.run(recording, ConstraintGraph.binary("a", "b", Window(2e-6)))
    assert result.members.tolist() == [[0, 2]]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (Histogram.uniform(-1, 0), "templates is .*'a'.*assume exact times"),
        (Histogram.point().shift(0.25e-6), "at a whole microsecond"),
    ],
)
def test_uncertain_times_are_refused(template: Histogram, message: str) -> None:
    recording = Recording({"a": Detections([5], [template]), "b": Detections([6], EXACT)})
    with pytest.raises(DetectionsError, match=message):
        WINDOW_JOINS[0].run(recording, ConstraintGraph.clique("ab", Window(1)))


@each_algorithm
def test_other_streams_are_refused(algorithm: PaperAlgorithm) -> None:
    recording = Recording({"a": Detections([5], EXACT), "z": Detections([9], EXACT)})
    with pytest.raises(CoincideError, match=r"streams is \('a', 'z'\): those of the graph: \('a', 'b'\)"):
        algorithm.run(recording, ConstraintGraph.binary("a", "b", Window(1)))


@pytest.mark.parametrize(
    "algorithm", [each for each in WINDOW_JOINS if each.uniform_cliques_only], ids=lambda a: a.name
)
def test_what_is_no_uniform_clique_is_refused(algorithm: PaperAlgorithm) -> None:
    uneven = {("a", "b"): Window(1), ("b", "c"): Window(1), ("a", "c"): Window(2)}
    path, ordered = ConstraintGraph.path("abc", Window(1)), ConstraintGraph.binary("a", "b", Window(lo_s=0, hi_s=1))
    for graph in (path, ConstraintGraph.clique("abc", uneven), ordered):
        recording = Recording({stream: Detections([], EXACT) for stream in graph.roles})
        with pytest.raises(GraphError, match="one symmetric window for every pair"):
            algorithm.run(recording, graph)


def test_sub_microsecond_windows_are_exact() -> None:
    between = ConstraintGraph.binary("a", "b", Window(lo_s=0.2e-6, hi_s=0.8e-6))  # no whole microsecond inside
    for algorithm in FOR_ANY_GRAPH:
        assert len(algorithm.run(arriving("b3 b2 b1 a3 a2 a1"), between).members) == 0, algorithm.name


def test_few_does_not_wait_for_the_stream_of_the_tuple_that_it_drops() -> None:
    # b 12 ends the period of a 0, whatever a sends yet, and is in that of b 2; only a 0 waited: for b 2
    result = variants.few_nested_loop(arriving("a0 b2 a3 b12 a40"), PAIR)
    assert result.members.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert (result.work.waited_us, result.work.longest_wait_us) == (2, 2)


def test_few_puts_a_stream_in_order_by_its_greatest_time() -> None:
    # a may come 18 late: a 10 waits until a 30 (20) and b 11 with it (19), a 12 not at all, a 30 until a 50 (20)
    result = variants.few_hash(arriving("a10 b11 a30 a12 b50 a50"), PAIR)
    assert result.members.tolist() == [[0, 0], [2, 0], [3, 1]]
    assert (result.work.waited_us, result.work.longest_wait_us) == (20 + 19 + 20, 20)


def test_bew_holds_a_window_of_each_stream_and_drops_by_the_greatest_time() -> None:
    # after a 40, and 15 of disorder, no a before 25 can come: of b no tuple up to 14 is held beyond its own turn
    result = variants.bew_hash(arriving("a40 a25 b12 b13 b14"), PAIR)
    assert result.work.buffered == 3
    order = " ".join(f"a{time_us} b{time_us}" for time_us in range(100))
    result = variants.bew_nested_loop(arriving(order), PAIR)
    assert result.work.buffered == 2 * 11
