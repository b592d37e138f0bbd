"""The engine: many queries on shared buffers, none of which changes the answer of another."""

import pickle
from collections import defaultdict
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import AtLeast, CoincideError, ConstraintGraph, Detections, Histogram, Pairs, Stream, TimingJoin, Window
from coincide.constraints.conditions import JoinCondition, SensorRule
from coincide.errors import GraphError
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.live import Engine, WindowCondition
from tests.examples import examples
from tests.reference.timing_join import Row, couples, detections_of, on_time, row_lists, timing_join

SECOND = 1_000_000
TEMPLATES = (Histogram.point(), Histogram.uniform(-2, 1), Histogram([-2, -1.5, 1.5, 2], [0.5, 0, 0.5]))
STREAMS = {"x": Stream("x", 3.0, longest_template_s=4.0), "y": Stream("y", 1.0, longest_template_s=4.0)}
DELAY_US = {name: stream.max_delay_us for name, stream in STREAMS.items()}
rows_of_x_and_y = row_lists(
    24,
    detected_at_us=st.integers(0, 40).map(lambda half: half * SECOND // 2),
    template=st.sampled_from(TEMPLATES),
    area=st.sampled_from(["bay", "sea"]),
    sensor=st.sampled_from(["s1", "s2", "s10"]),
    received_at_us=st.integers(0, 50).map(lambda half: half * SECOND // 2),
)
pair_conditions = st.builds(
    JoinCondition,
    a=st.just("x"),
    b=st.sampled_from(["x", "y"]),
    window=st.sampled_from([Window(2.0), Window(0.5), Window(lo_s=-1.0, hi_s=3.0)]),
    threshold=st.sampled_from([0.05, 0.4, 1.0]),
    sensors=st.sampled_from(["different", "same", "any"]),
)
GRAPHS = {
    "three": ConstraintGraph.clique("abc", Window(2), 0.3),
    "valley": ConstraintGraph.path("abc", Window(lo_s=-1, hi_s=3), 0.3),
}
tuple_conditions = st.builds(
    WindowCondition,
    graph=st.sampled_from(list(GRAPHS.values())),
    streams=st.sampled_from([{"a": "x", "b": "y", "c": "x"}, {"a": "x", "b": "x", "c": "x"}]),
    threshold=st.sampled_from([None, 0.2]),
    sensors=st.sampled_from(["different", "any"]),
) | st.builds(
    WindowCondition,
    graph=st.just(ConstraintGraph.clique("ab", Window(2), 0.3)),
    streams=st.just({"a": "x", "b": "y"}),
    threshold=st.just(0.2),
    at_least=st.sampled_from([2, AtLeast(1, "b")]),
)


def runs_of(rows: list[Row], cuts: set[int]) -> list[list[Row]]:
    """Cut rows into runs of one stream."""
    number = 0
    keys = []
    for at, row in enumerate(rows):
        number += at in cuts or (at > 0 and rows[at - 1].stream != row.stream)
        keys.append(number)
    return [[row for row, _ in run] for _, run in groupby(zip(rows, keys, strict=True), key=lambda each: each[1])]


@settings(max_examples=examples(60))
@given(st.data(), rows_of_x_and_y, st.sets(st.integers(0, 24)), st.lists(pair_conditions, min_size=1, max_size=3))
def test_each_query_answers_as_if_it_were_alone_while_it_is_in_force(
    data: st.DataObject, rows: list[Row], cuts: set[int], conditions: list[JoinCondition]
) -> None:
    runs, engine = runs_of(rows, cuts), Engine(STREAMS.values())
    of_runs = st.integers(0, len(runs))
    installed = [data.draw(of_runs) for _ in conditions]
    removed = [data.draw(st.integers(since, len(runs))) for since in installed]
    paused = [data.draw(st.sets(of_runs)) for _ in conditions]
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for name, condition in enumerate(conditions):
            if number == installed[name]:
                engine.install(str(name), condition)
            if number == removed[name]:
                engine.remove(str(name))
            elif installed[name] <= number < removed[name]:
                (engine.pause if number in paused[name] else engine.resume)(str(name))
        for of, changes in engine.push(run[0].stream, detections_of(run, TEMPLATES)).items():
            assert isinstance(changes.insert, Pairs)
            found[int(of)] += couples(changes.insert)
    run_of = {row.id: number for number, run in enumerate(runs) for row in run}
    accepted = on_time(rows, DELAY_US)
    for name, each in enumerate(conditions):
        alone = timing_join(accepted, each.a, each.b, each.window, each.threshold, each.sensors)
        answers = range(installed[name], removed[name])
        expected = {
            pair
            for pair in alone
            if min(run_of[row] for row in pair) >= installed[name]
            and (last := max(run_of[row] for row in pair)) in answers
            and last not in paused[name]
        }
        assert sorted(found[name]) == sorted(expected)


@settings(max_examples=examples(60))
@given(rows_of_x_and_y, st.sets(st.integers(0, 24)), pair_conditions, tuple_conditions)
def test_a_batch_of_several_streams_is_taken_row_by_row(
    rows: list[Row], cuts: set[int], pairs: JoinCondition, tuples: WindowCondition
) -> None:
    mixed, single = Engine(STREAMS.values()), Engine(STREAMS.values())
    for engine in (mixed, single):
        engine.install("pairs", pairs)
        engine.install("tuples", tuples)
    late: list[int] = []
    expected: dict[str, list[Any]] = {"pairs": [], "tuples": []}
    for row in rows:
        changes = single.push(row.stream, detections_of([row], TEMPLATES))
        late += [row.id] * len(changes["pairs"].late)
        for name in expected:
            expected[name] += members_of(changes[name])
    found: dict[str, list[Any]] = {"pairs": [], "tuples": []}
    found_late: list[int] = []
    for first, last in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        batch = rows[first:last]
        changes = mixed.push([row.stream for row in batch], detections_of(batch, TEMPLATES))
        found_late += [batch[at].id for at in changes["pairs"].late.tolist()]
        for name in found:
            found[name] += members_of(changes[name])
    assert {name: sorted(told) for name, told in found.items()} == {
        name: sorted(told) for name, told in expected.items()
    }
    assert found_late == late


def test_each_row_of_a_batch_is_judged_by_the_delay_of_its_own_stream() -> None:
    engine = Engine(STREAMS.values())  # x may be 3 s late, y 1 s
    engine.install("q", JoinCondition("x", "y", Window(9), 1.0))
    times_us = [10 * SECOND, 8 * SECOND, 8 * SECOND, 6 * SECOND]
    changes = engine.push(["y", "x", "y", "x"], Detections(times_us, [Histogram.point()]))["q"]
    assert (changes.late.tolist(), changes.late_by_us.tolist()) == ([2, 3], [SECOND, SECOND])
    assert members_of(changes) == [(1, 0)]


def members_of(changes: Any) -> list[Any]:
    assert len(changes.retract) == 0
    answer = changes.insert
    return couples(answer) if isinstance(answer, Pairs) else list(map(tuple, answer.members.tolist()))


@settings(max_examples=examples(60))
@given(rows_of_x_and_y, st.sets(st.integers(0, 24)), st.sampled_from(["different", "any"]))
def test_a_source_is_a_part_of_its_stream(rows: list[Row], cuts: set[int], sensors: SensorRule) -> None:
    engine = Engine(STREAMS.values(), sources={"part": "x"})
    engine.install("q", JoinCondition("part", "x", Window(2.0), 0.4, sensors))
    found: list[tuple[int, int]] = []
    for first, last in pairwise(sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})):
        batch = rows[first:last]
        if first % 3 == 1:
            engine = Engine.restore(pickle.loads(pickle.dumps(engine.state)))
        mask = [row.sensor != "s1" for row in batch]
        changes = engine.push([row.stream for row in batch], detections_of(batch, TEMPLATES), sources={"part": mask})
        found += members_of(changes["q"])
    whole = timing_join(on_time(rows, DELAY_US), "x", "x", Window(2.0), 0.4, sensors)
    admitted = {row.id for row in rows if row.sensor != "s1"}
    assert sorted(found) == sorted(
        pair for one, other in whole for pair in ((one, other), (other, one)) if pair[0] in admitted
    )


@pytest.mark.parametrize(
    "refused",
    [
        lambda engine, batch: engine.push("x", batch, sources={"whole": [True]}),
        lambda engine, batch: engine.push("x", batch, sources={"part": [True, False]}),
        lambda engine, batch: engine.push("x", batch, sources={"part": [1]}),
        lambda engine, batch: engine.push(["z"], batch),
        lambda engine, batch: engine.push(["x", "x"], batch),
        lambda _, __: Engine(STREAMS.values(), sources={"part": "z"}),
        lambda _, __: Engine(STREAMS.values(), sources={"y": "x"}),
    ],
)
def test_sources_and_streams_that_do_not_fit_are_refused(refused: Callable[[Engine, Detections], object]) -> None:
    engine = Engine(STREAMS.values(), sources={"part": "x"})
    with pytest.raises(CoincideError):
        refused(engine, Detections([0], [Histogram.point()]))
    assert engine.buffered("x") == engine.buffered("part") == 0


@settings(max_examples=examples(40))
@given(st.data(), rows_of_x_and_y, st.sets(st.integers(0, 24)))
def test_a_restored_engine_gives_the_same_later_answers_bit_for_bit(
    data: st.DataObject, rows: list[Row], cuts: set[int]
) -> None:
    engine = Engine(STREAMS.values(), max_buffered=data.draw(st.sampled_from([None, 5])))
    engine.install("pairs", data.draw(pair_conditions))
    engine.install("tuples", data.draw(tuple_conditions))
    runs = runs_of(rows, cuts)
    at = data.draw(st.integers(0, len(runs)))
    restored = engine
    for number, run in enumerate(runs):
        if number == at:
            restored = Engine.restore(pickle.loads(pickle.dumps(engine.state)))
            for each in (engine, restored) if data.draw(st.booleans()) else ():
                each.pause("pairs")
        batch = detections_of(run, TEMPLATES)
        changes = engine.push(run[0].stream, batch)
        again = restored.push(run[0].stream, batch) if restored is not engine else changes
        assert written(again) == written(changes)
    assert restored.dropped == engine.dropped
    assert [restored.buffered(name) for name in STREAMS] == [engine.buffered(name) for name in STREAMS]


def written(changes: Any) -> dict[str, Any]:
    rows = {name: (each.insert, each.late.tolist(), each.late_by_us.tolist()) for name, each in changes.items()}
    return {
        name: (vars(insert).get("members", insert.probability).tolist(), insert.probability.tolist(), *late)
        for name, (insert, *late) in rows.items()
    }


def test_a_query_with_too_many_candidates_is_suspended_and_the_others_are_complete() -> None:
    detectors = [Stream(f"d{n}", longest_template_s=2) for n in range(5)]
    engine, broad = Engine(detectors), [Histogram.uniform(-2, 0)]
    burst = ConstraintGraph.clique([stream.name for stream in detectors], Window(2), 0.1)
    engine.install("some", WindowCondition(burst, threshold=0.01, at_least=2, max_candidates=10))
    engine.install("pairs", JoinCondition("d0", "d4", Window(2), 0.1))
    found = [engine.push(stream.name, Detections([n * 1000], broad)) for n, stream in enumerate(detectors)]
    assert [len(each["pairs"].insert) for each in found] == [0, 0, 0, 0, 1]
    assert [len(each["some"].insert) for each in found] == [0, 1, 1, 1, 0]
    assert (engine.suspended["some"].row, engine.suspended["some"].value) == (4, 10)
    assert Engine.restore(engine.state).suspended.keys() == {"some"}
    engine.resume("some")
    assert len(engine.push("d0", Detections([90_000_000], broad))["some"].insert) == 0
    assert engine.suspended == {}


def points(times_s: list[float], area: str | None = None) -> Detections:
    areas = None if area is None else [area] * len(times_s)
    return Detections(np.round(np.array(times_s) * SECOND).astype(np.int64), [Histogram.point()], area=areas)


def point_join(**options: Any) -> TimingJoin:
    x, y = (Stream(name, max_delay_s=10, longest_template_s=0) for name in "xy")
    return TimingJoin(x, y, Window(5), 1.0, **options)


def test_time_that_moves_on_without_events_drops_what_nothing_on_time_can_match() -> None:
    join = point_join()
    join.push("x", points([100, 101]))
    assert join.advance(115 * SECOND) == 0  # y at 105 is on time still
    assert join.advance(116 * SECOND) == 1
    assert join.advance(50 * SECOND) == 0  # time does not go back
    assert join.watermark_us() == 116 * SECOND
    assert join.push("y", points([105.9])).late_by_us.tolist() == [100_000]
    assert len(join.push("y", points([106])).insert) == 1


def test_silent_areas_are_dropped_at_once() -> None:
    join, areas = point_join(), np.arange(20_000)
    join.push("x", Detections(np.full(len(areas), 100 * SECOND), [Histogram.point()], area=areas))
    assert join.advance(np.full(len(areas) + 1, 200 * SECOND), np.arange(len(areas) + 1)) == len(areas)
    assert join.buffered("x") == 0
    assert join.watermark_us(20_000) == BEFORE_ALL_US, "an area of which nothing was seen has no time"


def test_an_area_can_be_forgotten_and_begins_anew() -> None:
    join = point_join()
    for area in ("bay", "sea"):
        join.push("x", points([199, 200], area))
    assert join.forget("bay") == join.forget(["sea", "nowhere"]) == 2
    assert join.buffered("x") == 0
    assert len(join.push("y", points([100], "bay")).late) == 0


def test_nothing_is_left_after_a_flush_but_how_far_time_has_come() -> None:
    join = point_join()
    join.push("x", points([100, 101]))
    assert (join.flush(), join.flush(), join.buffered("x")) == (2, 0, 0)
    assert join.push("y", points([90.9, 100])).late.tolist() == [0]


def test_a_condition_that_cannot_be_used_is_refused_and_changes_nothing() -> None:
    engine = Engine(STREAMS.values())
    for condition in (JoinCondition("x", "z", Window(1), 0.5), WindowCondition(GRAPHS["three"])):
        with pytest.raises(CoincideError, match="one of \\['x', 'y'\\]"):
            engine.install("q", condition)
    with pytest.raises(GraphError, match="one for each role"):
        engine.install("q", WindowCondition(GRAPHS["three"], {"a": "x"}))
    with pytest.raises(CoincideError, match="a JoinCondition or a WindowCondition"):
        engine.install("q", "every pair")  # type: ignore[arg-type]
    with pytest.raises(CoincideError, match="name is 'q': one of \\[\\]"):
        engine.pause("q")
    assert engine.queries == ()
