"""Laws of queries of more than two roles, against the slow twin: batching, order, restarts, changed thresholds."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from spark_jobs.fusion_core import FusionCore
from spark_jobs.records import InputRecord
from tests.reference.fusion import SlowFusion
from tests.spark_jobs.building import Row, frame, matches, put
from tests.spark_jobs.comparing import but_for_template_pairs, found
from tests.spark_jobs.strategies import (
    BURST_SECONDS,
    SWEEPING,
    THREE_STREAMS,
    Pushes,
    bursts_in_order,
    rows,
    split,
    wide_queries,
    wide_runs,
)


def started(*setup: InputRecord) -> FusionCore:
    core = FusionCore(THREE_STREAMS, SWEEPING, 0)
    core.push(list(setup))
    return core


@settings(max_examples=120, deadline=None)
@given(wide_runs())
def test_whatever_happens_the_answers_are_those_of_the_definition(pushes: Pushes) -> None:
    core, slow = started(), SlowFusion(THREE_STREAMS)
    for batch in pushes:
        known = len(slow.found)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(found(output)) == sorted(slow.found[known:])
    event(f"some match: {bool(slow.found)}")
    event(f"some superseded: {any(match[-1] for match in slow.found)}")


@settings(max_examples=50, deadline=None)
@given(bursts_in_order(), wide_queries(), st.data())
def test_batching_never_changes_a_match(frames: list[InputRecord], query: dict[str, Any], data: st.DataObject) -> None:
    at_once = started(put(0, query)).push(frames)
    core = started(put(0, query))
    batches = split(data.draw, frames, 4)
    assert sorted(match for batch in batches for match in core.push(batch).matches) == sorted(at_once.matches)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(rows(BURST_SECONDS, "pst"), min_size=3, max_size=9, unique_by=lambda row: (row.sensor, row.id)),
    wide_queries(),
    st.data(),
)
def test_the_order_of_arrival_never_changes_what_is_left(
    members: list[Row], query: dict[str, Any], data: st.DataObject
) -> None:
    def left(order: list[Row]) -> list[tuple[str, str]]:
        """Everything of the records but what each superseded, which is gone."""
        core = started(put(0, query))
        records = [
            match
            for offset, row in enumerate(order)
            for match in matches(core.push([frame(offset, [row], received_at_s=1000.0)]))
        ]
        gone = {each for match in records for each in match.pop("supersedes")}
        return sorted((match["id"], repr(match)) for match in records if match["id"] not in gone)

    assert left(data.draw(st.permutations(members))) == left(members)


@settings(max_examples=60, deadline=None)
@given(wide_runs(), st.data())
def test_a_restart_changes_nothing(pushes: Pushes, data: st.DataObject) -> None:
    never, restarted = started(), started()
    slots: dict[int, bytes] = {}
    for batch in pushes:
        assert but_for_template_pairs(restarted.push(batch)) == but_for_template_pairs(never.push(batch))
        assert restarted.header() == never.header()
        slots |= never.journal()
        for number in never.dropped_slots():
            del slots[number]
        if data.draw(st.booleans()):
            kept = data.draw(st.permutations(list(slots.values())))
            restarted = FusionCore.restore(THREE_STREAMS, SWEEPING, 0, never.header(), kept)
