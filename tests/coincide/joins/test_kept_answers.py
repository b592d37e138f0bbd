"""Answers that somebody keeps: nothing that happens to the caller's arrays changes them, and they can be pickled."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coincide import (
    ConstraintGraph,
    Detections,
    Histogram,
    Pairs,
    Stream,
    TimingJoin,
    Tuples,
    Window,
    WindowJoin,
    coalesce_readings,
    timing_join,
    window_join,
)
from coincide.joins import timing_join_blocks
from coincide.joins.tuples.tuple_join import window_join_blocks

CLOCKS = [Histogram.uniform(-2, 0), Histogram.uniform(-1, 1)]
WINDOW = Window(5)
PAIR = ConstraintGraph.binary("a", "b", WINDOW, 0.3)
PATH = ConstraintGraph.path(["a", "b", "c"], WINDOW, 0.3)
CLIQUE = ConstraintGraph.clique(["a", "b", "c"], WINDOW, 0.3)

ALONE = Detections([90_000_000], CLOCKS[:1])


def batch(*columns: np.ndarray[Any, Any]) -> Detections:
    return Detections(columns[0], CLOCKS, columns[1])


def in_blocks(blocks: Callable[..., Any], *arguments: Any) -> Any:
    [block] = blocks(*arguments)
    return block


def streamed_pairs(a: Detections, b: Detections) -> Pairs:
    join = TimingJoin(Stream("a", 60), Stream("b", 60), WINDOW, 0.3)
    join.push("a", a)
    return join.push("b", b).insert


def streamed_tuples(a: Detections, b: Detections, at_least: int | None) -> Tuples:
    join = WindowJoin(CLIQUE, [Stream(role, 60) for role in "abc"], at_least=at_least)
    join.push("a", a)
    join.push("b", b)
    return join.push("c", a).insert


JOINS: dict[str, Callable[[Detections, Detections], Any]] = {
    "timing_join": lambda a, b: timing_join(a, b, WINDOW, 0.3),
    "self-join": lambda a, b: timing_join(a, None, WINDOW, 0.3),
    "timing_join_blocks": lambda a, b: in_blocks(timing_join_blocks, a, b, WINDOW, 0.3),
    "TimingJoin": streamed_pairs,
    "window_join of two": lambda a, b: window_join({"a": a, "b": b}, PAIR),
    "window_join": lambda a, b: window_join({"a": a, "b": b, "c": a}, PATH, threshold=0.4),
    "window_join_blocks": lambda a, b: in_blocks(window_join_blocks, {"a": a, "b": b, "c": a}, PATH),
    "window_join at_least": lambda a, b: window_join({"a": a, "b": b, "c": ALONE}, CLIQUE, at_least=2),
    "WindowJoin": lambda a, b: streamed_tuples(a, b, None),
    "WindowJoin at_least": lambda a, b: streamed_tuples(a, b, 2),
}

each_join = pytest.mark.parametrize("join", JOINS.values(), ids=JOINS)


def columns_of(answer: Any) -> list[list[Any]]:
    rows = (answer.left, answer.right) if isinstance(answer, Pairs) else (answer.members, answer.present)
    edges = () if isinstance(answer, Pairs) else (np.nan_to_num(answer.edge_probability, nan=-1.0),)
    return [column.tolist() for column in (*rows, answer.probability, *edges)]


def given_columns() -> tuple[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]], ...]:
    """Times and templates of a, and of b, as a caller's own arrays of the very types that Detections keeps."""
    index = np.array([0, 1, 0, 1], np.int32)
    return (np.arange(4) * 4_000_000, index), (np.arange(4) * 4_000_000 + 500_000, index[::-1].copy())


@each_join
def test_what_the_caller_does_to_the_arrays_afterwards_changes_no_answer(join: Callable[..., Any]) -> None:
    a, b = given_columns()
    expected = columns_of(join(batch(*a), batch(*b)))
    answer = join(batch(*a), batch(*b))
    for times_us, index in (a, b):
        times_us[:] = 3 * times_us[::-1]
        index[:] = 1 - index
    assert columns_of(answer) == expected
    assert expected[-1], "there are matches"


def test_detections_keep_columns_of_their_own() -> None:
    times_us, area, sensor, name = np.arange(3), np.array([4, 5, 6]), np.array(["p", "q", "r"]), np.array([7, 8, 9])
    events = Detections(times_us, CLOCKS, times_us.astype(np.int32) % 2, area, sensor, received_at_us=times_us, id=name)
    for column in (times_us, area, sensor, name):
        column[:] = column[::-1].copy()
    assert events.detected_at_us.tolist() == [0, 1, 2]
    assert events.received_at_us is not None
    assert events.received_at_us.tolist() == [0, 1, 2]
    labels = (events.area, events.sensor, events.id)
    assert [each.tolist() for each in labels if each is not None] == [[4, 5, 6], ["p", "q", "r"], [7, 8, 9]]


def test_columns_that_nobody_can_change_are_not_copied() -> None:
    times_us = np.arange(1000)
    times_us.flags.writeable = False
    events = Detections(times_us, CLOCKS[:1])
    assert np.shares_memory(events.detected_at_us, times_us)
    other = events.in_areas(np.broadcast_to(np.int64(3), 1000))
    assert np.shares_memory(other.detected_at_us, times_us)
    assert np.shares_memory(events.detected_at_us[10:20], times_us)
    assert other.area is not None
    assert other.area.strides == (0,), "one label for all rows takes no memory"
    view = times_us.view()
    times_us.flags.writeable = True
    view.flags.writeable = False
    assert not np.shares_memory(Detections(view, CLOCKS[:1]).detected_at_us, times_us), "its owner can be written to"


@each_join
@pytest.mark.parametrize("asked_before", [False, True])
def test_an_answer_can_be_pickled_whole(join: Callable[..., Any], asked_before: bool) -> None:
    a, b = given_columns()
    answer = join(batch(*a), batch(*b))
    if asked_before:
        assert len(answer.probability)
    again = pickle.loads(pickle.dumps(answer))
    assert columns_of(again) == columns_of(answer)


def test_no_pairs_no_tuples_and_runs_can_be_pickled() -> None:
    assert len(pickle.loads(pickle.dumps(Pairs.none())).probability) == 0
    assert pickle.loads(pickle.dumps(Tuples.none(3, 2))).edge_probability.shape == (0, 2)
    runs = coalesce_readings([0, 60, 120, 180], value=[81, 81, 79, 79])
    assert list(pickle.loads(pickle.dumps(runs))) == list(runs)


@pytest.mark.parametrize("join", ["timing_join", "window_join"])
def test_few_matches_of_a_large_batch_make_a_small_pickle(join: str) -> None:
    times_us = np.arange(100_000) * 60_000_000
    a = batch(times_us, np.zeros(len(times_us), np.int32))
    near = batch(times_us[:3] + 1_000_000, np.zeros(3, np.int32))
    answer = timing_join(a, near, WINDOW, 0.3) if join == "timing_join" else JOINS["window_join of two"](a, near)
    assert len(answer) == 3
    assert len(pickle.dumps(answer)) < 4_000
