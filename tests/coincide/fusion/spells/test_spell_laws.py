"""Laws of live spells, against the slow twin: batching, order of arrival, changes of limits, restarts, repetition."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import SpellQuery
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import STREAMS, Row, frame, heartbeat, put, started
from tests.coincide.fusion.outputs import (
    EpisodeReader,
    Record,
    assert_a_restart_changes_nothing,
    assert_repetition_adds_nothing,
    episodes,
)
from tests.coincide.fusion.strategies import CONDITIONS, EQUIVALENCES, reading_frames, split
from tests.examples import examples
from tests.reference.silence import SlowSilence
from tests.reference.spells import SlowSpells

LIMITED: list[Mapping[str, float]] = [
    *CONDITIONS,
    {"above": 101, "until_below": 100},
    {"at_least": 101.5, "until_below": 99.5},
    {"below": 100, "until_above": 101},
]
LIMITS = Limits(sweep_after=1, max_slot_bytes=400, merge_slots_from=2, quiet_s=10)


@st.composite
def spell_queries(draw: st.DrawFn, name: str = "hot") -> dict[str, Any]:
    coalesce: dict[str, Any] = {
        "from": draw(st.sampled_from("pppps")),
        "by": draw(st.sampled_from(["sensor", "attributes.region", ["sensor", "attributes.region"], []])),
        "value": "attributes.celsius",
        "hold_s": draw(st.sampled_from([0.5, 2, 20])),
    }
    if draw(st.integers(0, 3)) > 0:
        coalesce["where"] = draw(st.sampled_from(LIMITED))
    if draw(st.integers(0, 3)) == 0:
        coalesce["equivalence"] = draw(st.sampled_from(EQUIVALENCES))
    lasting_s, threshold = draw(st.sampled_from([0.5, 1, 4])), draw(st.sampled_from([0.2, 0.5, 1]))
    query = {"id": name, "coalesce": coalesce, "lasting_s": lasting_s, "threshold": threshold}
    return SpellQuery.from_json(query).to_json()


@st.composite
def spell_frames(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of mostly hot readings, of two areas, on time and late, and heartbeats; or frames of anything."""
    if draw(st.integers(0, 4)) == 0:
        return draw(reading_frames())
    made: list[InputRecord] = []
    start_s = 1000
    for offset in range(draw(st.integers(2, 7))):
        start_s += draw(st.sampled_from([-6, -4, 3, 3, 6, 15, 40]))
        area, partition = draw(st.sampled_from([("bay", 0)] * 4 + [("hill", 3)]))
        rows = [
            Row(
                f"{offset}-{number}",
                start_s + draw(st.integers(0, 12)) / 2,
                template=draw(st.sampled_from(drawn.READING_TEMPLATES)),
                stream=draw(st.sampled_from("pppppps")),
                sensor=draw(st.sampled_from(["north", "north", "south"])),
                attributes=(("celsius", draw(st.sampled_from([101, 101, 101, 101.5, 100.5, 99]))), ("region", "west")),
            )
            for number in range(draw(st.integers(1, 9)))
        ]
        made.append(frame(2 * offset, rows, area, partition, start_s + draw(st.integers(0, 9))))
        if draw(st.integers(0, 4)) == 0:
            made.append(heartbeat(2 * offset + 1, start_s + 9 + draw(st.integers(0, 40)), partition))
    return made


def with_limits(query: dict[str, Any], limits: Mapping[str, float]) -> dict[str, Any]:
    return {**query, "coalesce": {**query["coalesce"], "where": limits}}


def phase(record: Record) -> str:
    return "open" if record["open"] else "final" if record["final"] else "closed"


def content(record: Record) -> tuple[Any, ...]:
    """Return what is told of a spell: of an open one only that there is one."""
    first = record["members"][0]
    values = json.dumps(list(record["group"].values()))
    key = record["area"], values, first["sensor"], first["id"], record["start_us"]
    fixed = ("end_us", "count", "revision", "received_at_us")
    return *key, phase(record), () if record["open"] else tuple(record[name] for name in fixed)


def read(core: FusionCore, batches: list[list[InputRecord]]) -> list[tuple[Any, ...]]:
    reader = EpisodeReader()
    for batch in batches:
        reader.read(core.push(batch))
    return sorted(map(content, reader.current.values()))


@settings(max_examples=examples(100), deadline=None)
@given(spell_frames(), spell_queries(), st.data())
def test_spells_are_those_of_the_definition(
    frames: list[InputRecord], query: dict[str, Any], data: st.DataObject
) -> None:
    core, slow = started(limits=LIMITS), SlowSpells(STREAMS, silence=SlowSilence(LIMITS.quiet_us))
    reader, final = EpisodeReader(), set[str]()
    changes = [put(0, query)]
    if "where" in query["coalesce"]:
        limits = data.draw(st.lists(st.sampled_from(LIMITED), max_size=2))
        changes += [put(nth, with_limits(query, each), nth + 1) for nth, each in enumerate(limits, 1)]
    batches = split(data.draw, frames, 3)
    for nth, batch in enumerate(batches):
        records = [*changes[nth : nth + 1], *batch]
        slow.push(records)
        output = core.push(records)
        reader.read(output)
        assert not final & {record["id"] for record in episodes(output)}, "what was final has changed"
        final = {id_ for id_, record in reader.current.items() if record["final"]}
        expected = [
            (*key, each, () if each == "open" else (spell.end_us, spell.count, spell.revision, spell.received_at_us))
            for key, (each, spell) in slow.current().items()
        ]
        assert sorted(map(content, reader.current.values())) == sorted(expected)
        assert all(each["best_probability"] >= query["threshold"] - 1e-12 for each in reader.current.values())
    event(f"spells: {min(len(expected), 5)}")
    event(f"retracted: {any(record.get('retracted') for record in reader.known.values())}")
    event(f"final: {bool(final)}")


@settings(max_examples=examples(60), deadline=None)
@given(spell_frames(), spell_queries(), st.data())
def test_batching_never_changes_a_spell(frames: list[InputRecord], query: dict[str, Any], data: st.DataObject) -> None:
    one, other = (started(put(0, query), limits=LIMITS) for _ in range(2))
    assert read(one, split(data.draw, frames, 4)) == read(other, [[each] for each in frames])


@settings(max_examples=examples(40), deadline=None)
@given(spell_queries(), st.data())
def test_the_order_of_arrival_never_changes_what_is_left(query: dict[str, Any], data: st.DataObject) -> None:
    members = data.draw(
        st.lists(drawn.readings(0), min_size=3, max_size=12, unique_by=lambda row: (row.sensor, row.id))
    )

    def left(order: list[Row]) -> list[tuple[Any, ...]]:
        core = started(put(0, query), limits=LIMITS)
        told = read(core, [[frame(nth, [row], received_at_s=1000.0)] for nth, row in enumerate(order)])
        return sorted((*each[:6], each[6][:2]) for each in told)

    assert left(data.draw(st.permutations(members))) == left(members)


@st.composite
def changed_spells(draw: st.DrawFn) -> list[list[InputRecord]]:
    """Queries for spells are changed, paused, resumed, and become other queries."""
    frames = draw(spell_frames())
    query, batches = draw(spell_queries()), []
    for nth, batch in enumerate(split(draw, frames, 5)):
        limited = with_limits(query, draw(st.sampled_from(LIMITED)))
        query = draw(st.one_of(st.just(query), st.just(query), st.just(limited), spell_queries()))
        other = draw(st.one_of(st.just(query), drawn.readings_queries()))
        change = [put(nth, other, nth + 1, paused=draw(st.integers(0, 4)) == 0)] if draw(st.booleans()) else []
        batches.append([*change, *batch])
    return batches


@settings(max_examples=examples(80), deadline=None)
@given(changed_spells(), st.data(), st.sampled_from([LIMITS.max_buffered, 8]))
def test_a_restart_changes_nothing(batches: list[list[InputRecord]], data: st.DataObject, most: int) -> None:
    limits = Limits(sweep_after=1, max_slot_bytes=400, merge_slots_from=2, quiet_s=10, max_buffered=most)
    assert_a_restart_changes_nothing(batches, data, limits)


@settings(max_examples=examples(25), deadline=None)
@given(changed_spells())
def test_records_that_come_twice_change_no_spell(batches: list[list[InputRecord]]) -> None:
    assert_repetition_adds_nothing(batches, LIMITS)
