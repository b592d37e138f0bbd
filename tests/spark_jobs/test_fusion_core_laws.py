"""Laws of the fusion core, against the slow twin: batching, restarts, repetition and run-time changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.histogram import Histogram
from spark_jobs.fusion_core import FusionCore
from spark_jobs.limits import Limits
from spark_jobs.records import InputRecord, Output
from tests.reference.fusion import Found, SlowFusion
from tests.spark_jobs.building import STREAMS, Row, control, frame, letters, matches, put, query_json, removal, status

# drop at every push, a few rows a slot, merge as soon as two slots have less than three rows
SWEEPING = Limits(sweep_after=1, max_slot_bytes=1_000, merge_slots_from=2)
TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram(edges_s=[-4, -3, 1, 2], mass=[0.5, 0, 0.5]),
    Histogram.uniform(-7, 0.5),
]
THRESHOLDS = [0.07, 0.31, 0.53, 0.83, 1.0]  # no probability of these templates comes near the first four by chance
WINDOWS: list[Any] = [0.0, 0.7, 3.0, (-1.0, 2.5), (0.5, 6.0)]
LONG_SECONDS = 120  # several times every delay: late ones and dropped ones are common
SHORT_SECONDS = 9  # less than every delay: nobody is late

T = TypeVar("T")
Pushes = list[list[InputRecord]]


def rows(seconds: int) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        id=st.sampled_from("abcdefgh"),
        at_s=st.integers(0, seconds * 10).map(lambda tenths: 1000 + tenths / 10),
        template=st.sampled_from(TEMPLATES),
        stream=st.sampled_from(["p", "s"]),
        sensor=st.sampled_from(["north", "south", "east"]),
    )


queries = st.builds(
    query_json,
    window_s=st.sampled_from(WINDOWS),
    threshold=st.sampled_from(THRESHOLDS),
    streams=st.sampled_from([("p", "s"), ("s", "p"), ("p", "p")]),
    sensors=st.sampled_from(["any", "different", "same"]),
    name=st.sampled_from(["near", "far"]),
)


@st.composite
def frames_in_order(draw: st.DrawFn, seconds: int = LONG_SECONDS) -> list[InputRecord]:
    """Frames of two areas, each area in its own partition."""
    made = []
    for offset in range(draw(st.integers(1, 8))):
        area, partition = draw(st.sampled_from([("bay", 0), ("hill", 3)]))
        members = draw(st.lists(rows(seconds), min_size=1, max_size=6))
        received_at_s = 1000 + draw(st.integers(0, seconds))
        made.append(frame(offset, members, area, partition, received_at_s))
    return made


@st.composite
def controls(draw: st.DrawFn) -> list[InputRecord]:
    """Changes of queries: created, changed, paused, resumed, removed, replayed."""
    made = []
    for offset in range(draw(st.integers(0, 5))):
        version = draw(st.integers(1, 6))
        if draw(st.integers(0, 4)) == 0:
            made.append(removal(offset, draw(st.sampled_from(["near", "far"])), version))
        else:
            made.append(put(offset, draw(queries), version, paused=draw(st.booleans())))
    return made


class Draw(Protocol):
    """What `st.DrawFn` and `st.DataObject.draw` have in common."""

    def __call__(self, strategy: st.SearchStrategy[T], label: object = None, /) -> T: ...


def split(draw: Draw, records: Sequence[InputRecord], pushes: int) -> Pushes:
    """Cut records into consecutive batches, each in any order."""
    cuts = sorted(draw(st.lists(st.integers(0, len(records)), min_size=pushes - 1, max_size=pushes - 1)))
    edges = [0, *cuts, len(records)]
    return [draw(st.permutations(list(records[a:b]))) for a, b in pairwise(edges)]


@st.composite
def runs(draw: st.DrawFn) -> Pushes:
    """Batches with frames and changes of queries among them."""
    count = draw(st.integers(1, 5))
    frames, changes = split(draw, draw(frames_in_order()), count), split(draw, draw(controls()), count)
    return [a + b for a, b in zip(changes, frames, strict=True)]


def started(*setup: InputRecord) -> FusionCore:
    core = FusionCore(STREAMS, SWEEPING, 0)
    core.push(list(setup))
    return core


def found(output: Output) -> list[Found]:
    return [
        (
            match["query"],
            match["query_version"],
            match["area"],
            tuple((member["sensor"], member["id"]) for member in match["members"]),
        )
        for match in matches(output)
    ]


def but_for_template_pairs(output: Output) -> tuple[dict[str, Any], object, object]:
    """What a restart must not change: how many template pairs had to be computed it may."""
    known = {name: value for name, value in status(output).items() if name != "template_pairs"}
    return known, output.matches, output.dead_letters


def late(output: Output) -> list[tuple[str, str, int]]:
    return [(it["sensor"], it["id"], it["late_by_us"]) for it in letters(output) if it["reason"] == "late"]


@settings(max_examples=150, deadline=None)
@given(runs())
def test_whatever_happens_the_answers_are_those_of_the_definition(pushes: Pushes) -> None:
    core, slow = FusionCore(STREAMS, SWEEPING, 0), SlowFusion(STREAMS)
    for batch in pushes:
        known, known_late = len(slow.found), len(slow.late)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(found(output)) == sorted(slow.found[known:])
        assert sorted(late(output)) == sorted(slow.late[known_late:])
        totals = status(output)["totals"]
        assert totals["accepted"] == len(slow.rows)
        assert totals["matches"] == len(slow.found)
        assert (totals["duplicates"], totals["conflicts"]) == (slow.duplicates, slow.conflicts)


@settings(max_examples=100, deadline=None)
@given(frames_in_order(), queries, st.data())
def test_batching_never_changes_a_match(frames: list[InputRecord], query: dict[str, Any], data: st.DataObject) -> None:
    at_once = started(put(0, query)).push(frames)
    core = started(put(0, query))
    one_by_one = [match for batch in split(data.draw, frames, 4) for match in core.push(batch).matches]
    assert sorted(one_by_one) == sorted(at_once.matches)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(rows(SHORT_SECONDS), min_size=2, max_size=10, unique_by=lambda row: (row.sensor, row.id)),
    queries,
    st.data(),
)
def test_the_order_of_arrival_never_changes_a_match(
    members: list[Row], query: dict[str, Any], data: st.DataObject
) -> None:
    received_at_s = 1000.0
    in_order = started(put(0, query)).push([frame(0, members, received_at_s=received_at_s)])
    shuffled = data.draw(st.permutations(members))
    core = started(put(0, query))
    anyhow = [
        match
        for offset, row in enumerate(shuffled)
        for match in core.push([frame(offset, [row], received_at_s=received_at_s)]).matches
    ]
    assert sorted(anyhow) == sorted(in_order.matches)


@settings(max_examples=100, deadline=None)
@given(runs(), st.data())
def test_a_restart_changes_nothing(pushes: Pushes, data: st.DataObject) -> None:
    never, restarted = FusionCore(STREAMS, SWEEPING, 0), FusionCore(STREAMS, SWEEPING, 0)
    slots: dict[int, bytes] = {}
    for batch in pushes:
        assert but_for_template_pairs(restarted.push(batch)) == but_for_template_pairs(never.push(batch))
        assert restarted.header() == never.header()
        assert restarted.journal() == never.journal()
        assert restarted.dropped_slots() == never.dropped_slots()
        slots |= never.journal()
        for number in never.dropped_slots():
            del slots[number]
        assert slots.keys() == never.live_slots()
        if data.draw(st.booleans()):
            kept = data.draw(st.permutations(list(slots.values())))
            restarted = FusionCore.restore(STREAMS, SWEEPING, 0, never.header(), kept)


@settings(max_examples=100, deadline=None)
@given(runs())
def test_records_that_come_twice_add_no_match(pushes: Pushes) -> None:
    once, twice = FusionCore(STREAMS, SWEEPING, 0), FusionCore(STREAMS, SWEEPING, 0)
    for batch in pushes:
        expected = once.push(batch)
        assert twice.push(batch).matches == expected.matches
        assert twice.push(batch).matches == []


def test_the_strategies_reach_what_they_are_for() -> None:
    """Guard against laws that hold because nothing ever happens."""
    core = started(put(0, query_json(window_s=3.0, threshold=0.31)))
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
