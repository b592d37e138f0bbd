"""Laws of live episodes, against the slow twin: batching, order of arrival, restarts, and that final is final."""

import json
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import Query
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put
from tests.coincide.fusion.inputs import started as started_with
from tests.coincide.fusion.outputs import EpisodeReader, assert_a_restart_changes_nothing, episodes, matches
from tests.coincide.fusion.strategies import BURST_SECONDS, SWEEPING, THREE_STREAMS, split
from tests.examples import examples
from tests.reference.episodes import SlowEpisodes


@st.composite
def coalescing(draw: st.DrawFn) -> dict[str, Any]:
    """Queries of two and more roles whose matches become episodes."""
    query = draw(st.one_of(drawn.wide_queries(), drawn.queries))
    labels = ["a.sensor", "b.attributes.object", *([query["equal"]] if "equal" in query else [])]
    by = draw(st.lists(st.sampled_from(labels), unique=True, max_size=2))
    rule = {"gap_s": draw(st.sampled_from([0, 0.4, 2, 15])), "by": by}
    if draw(st.booleans()):
        rule["interval"] = "hull"
    return Query.from_json({**query, "coalesce": rule}).to_json()


@st.composite
def streams_of_frames(draw: st.DrawFn) -> list[InputRecord]:
    """Frames, and heartbeats of a silence after some of them."""
    made: list[InputRecord] = []
    frames = st.one_of(drawn.bursts_in_order(), drawn.frames_in_order(60), drawn.frames_in_order())
    for each in draw(frames):
        made.append(each._replace(offset=len(made)))
        received_s = json.loads(each.value or b"")["received_at_us"] / 1e6
        for nth in range(draw(st.sampled_from([0, 0, 0, 6, 20]))):
            made.append(heartbeat(len(made), received_s + 10 + 10 * nth, each.partition))
    return made


def started(query: dict[str, Any]) -> FusionCore:
    return started_with(put(0, query), streams=THREE_STREAMS, limits=SWEEPING)


@settings(max_examples=examples(80), deadline=None)
@given(streams_of_frames(), coalescing())
def test_episodes_are_those_of_the_definition(frames: list[InputRecord], query: dict[str, Any]) -> None:
    core, slow, reader = started(query), SlowEpisodes(query["coalesce"]), EpisodeReader()
    final: set[str] = set()
    for each in frames:
        output = core.push([each])
        for match in matches(output):
            slow.add(match, each.offset)
        reader.read(output)
        assert reader.content() == slow.current
        assert not final & {record["id"] for record in episodes(output)}, "what was final has changed"
        final = {id_ for id_, record in reader.current.items() if record["final"]}
    event(f"episodes: {min(len(slow.current), 5)}")
    event(f"retracted: {any(record.get('retracted') for record in reader.known.values())}")
    event(f"final: {bool(final)}")


@settings(max_examples=examples(60), deadline=None)
@given(streams_of_frames(), coalescing(), st.data())
def test_batching_never_changes_an_episode(
    frames: list[InputRecord], query: dict[str, Any], data: st.DataObject
) -> None:
    def read(batches: list[list[InputRecord]]) -> dict[str, Any]:
        core, reader = started(query), EpisodeReader()
        for batch in batches:
            reader.read(core.push(batch))
        return reader.current

    assert read(split(data.draw, frames, 4)) == read([[each] for each in frames])


@settings(max_examples=examples(30), deadline=None)
@given(coalescing(), st.data())
def test_the_order_of_arrival_never_changes_what_is_left(query: dict[str, Any], data: st.DataObject) -> None:
    rows = drawn.rows(BURST_SECONDS, "pst")
    members = data.draw(st.lists(rows, min_size=3, max_size=9, unique_by=lambda row: (row.sensor, row.id)))

    def left(order: list[Row]) -> list[tuple[str, str]]:
        core, reader = started(query), EpisodeReader()
        for offset, row in enumerate(order):
            reader.read(core.push([frame(offset, [row], received_at_s=1000.0)]))
        return sorted((id_, repr({**told, "revision": 0})) for id_, told in reader.content().items())

    assert left(data.draw(st.permutations(members))) == left(members)


@settings(max_examples=examples(40), deadline=None)
@given(streams_of_frames(), coalescing(), coalescing(), st.data())
def test_a_restart_changes_nothing(
    frames: list[InputRecord], query: dict[str, Any], other: dict[str, Any], data: st.DataObject
) -> None:
    batches = [
        [*changes, *batch]
        for nth, batch in enumerate(split(data.draw, frames, 5))
        for changes in [[put(nth, {**other, "id": query["id"]}, nth + 1)] if data.draw(st.integers(0, 4)) == 0 else []]
    ]
    assert_a_restart_changes_nothing(batches, data, SWEEPING, put(0, query), streams=THREE_STREAMS)
