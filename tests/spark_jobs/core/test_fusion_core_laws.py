"""Laws of the fusion core, against the slow twin: batching, restarts, repetition and run-time changes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.records.kafka_records import InputRecord
from tests.reference.fusion import SlowFusion
from tests.spark_jobs.inputs import STREAMS, Row, control, frame, put, query_json, started
from tests.spark_jobs.outputs import (
    assert_a_restart_changes_nothing,
    late,
    slow_matches,
    status,
)
from tests.spark_jobs.strategies import (
    SHORT_SECONDS,
    SWEEPING,
    Pushes,
    frames_in_order,
    queries,
    rows,
    runs,
    split,
)


@settings(max_examples=60, deadline=None)
@given(runs())
def test_whatever_happens_the_answers_are_those_of_the_definition(pushes: Pushes) -> None:
    core, slow = FusionCore(STREAMS, SWEEPING, 0), SlowFusion(STREAMS)
    for batch in pushes:
        known, known_late = len(slow.matches), len(slow.late)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(slow_matches(output)) == sorted(slow.matches[known:])
        assert sorted(late(output)) == sorted(slow.late[known_late:])
        totals = status(output)["totals"]
        assert totals["accepted"] == len(slow.rows)
        assert totals["matches"] == len(slow.matches)
        assert (totals["duplicates"], totals["conflicts"]) == (slow.duplicates, slow.conflicts)


@settings(max_examples=40, deadline=None)
@given(frames_in_order(), queries, st.data())
def test_batching_never_changes_a_match(frames: list[InputRecord], query: dict[str, Any], data: st.DataObject) -> None:
    at_once = started(put(0, query), limits=SWEEPING).push(frames)
    core = started(put(0, query), limits=SWEEPING)
    one_by_one = [match for batch in split(data.draw, frames, 4) for match in core.push(batch).matches]
    assert sorted(one_by_one) == sorted(at_once.matches)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(rows(SHORT_SECONDS), min_size=2, max_size=10, unique_by=lambda row: (row.sensor, row.id)),
    queries,
    st.data(),
)
def test_the_order_of_arrival_never_changes_a_match(
    members: list[Row], query: dict[str, Any], data: st.DataObject
) -> None:
    received_at_s = 1000.0
    in_order = started(put(0, query), limits=SWEEPING).push([frame(0, members, received_at_s=received_at_s)])
    shuffled = data.draw(st.permutations(members))
    core = started(put(0, query), limits=SWEEPING)
    anyhow = [
        match
        for offset, row in enumerate(shuffled)
        for match in core.push([frame(offset, [row], received_at_s=received_at_s)]).matches
    ]
    assert sorted(anyhow) == sorted(in_order.matches)


@settings(max_examples=40, deadline=None)
@given(runs(), st.data())
def test_a_restart_changes_nothing(pushes: Pushes, data: st.DataObject) -> None:
    assert_a_restart_changes_nothing(pushes, data, SWEEPING)


@settings(max_examples=40, deadline=None)
@given(runs())
def test_records_that_come_twice_add_no_match(pushes: Pushes) -> None:
    once, twice = FusionCore(STREAMS, SWEEPING, 0), FusionCore(STREAMS, SWEEPING, 0)
    for batch in pushes:
        expected = once.push(batch)
        assert twice.push(batch).matches == expected.matches
        assert twice.push(batch).matches == []


def test_the_strategies_reach_what_they_are_for() -> None:
    """Guard against laws that hold because nothing ever happens."""
    core = started(put(0, query_json(window_s=3.0, threshold=0.31)), limits=SWEEPING)
    output = core.push(
        [
            frame(0, [Row("a", 1000.0), Row("b", 1001.0, stream="s"), Row("a", 1000.0), Row("a", 1005.0)]),
            frame(1, [Row("c", 1100.0), Row("d", 1001.0)]),
        ]
    )
    totals = status(output)["totals"]
    assert [totals[name] for name in ("accepted", "late", "duplicates", "conflicts", "matches")] == [3, 1, 1, 1, 1]
    assert status(output)["buffered"] == {"p": 1, "s": 0}
    assert control(0, {"id": "near"}).topic == "queries"
