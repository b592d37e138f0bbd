"""Runs over history of queries that ask where sensors are: their records are those of the live job."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from coincide.fusion.records.kafka_records import InputRecord
from services.history.runs.live_answer import QueryChangeAt, replayed
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put
from tests.coincide.fusion.matching.test_distance_laws import heard, places, queries
from tests.coincide.fusion.matching.test_source_joins import BANG, STRANGER, shot
from tests.coincide.fusion.strategies import split
from tests.examples import examples
from tests.services.history.replaying.test_answers import FakeTopic
from tests.services.history.replaying.test_hosts_agree import core, matches_of

BEGIN_S = 1000.0
WITHOUT_SETS = {name: value for name, value in shot().items() if name != "at_least"}
SHOTS = [shot(), {**WITHOUT_SETS, "from": {f"m{nth}": "p" for nth in range(4)}}]
CALLS: list[Row] = [*BANG[:4], STRANGER, BANG[4]]


def records_of(batches: Sequence[Sequence[Row]]) -> list[InputRecord]:
    """Return the log as the topic has it, a heartbeat after each frame."""
    records = []
    for nth, heard_then in enumerate(batches):
        rows = [row for row in heard_then if row.stream in "ps"]
        records.append(frame(2 * nth, rows, received_at_s=BEGIN_S + 2 * nth))
        records.append(heartbeat(2 * nth + 1, BEGIN_S + 2 * nth))
    return records


def live(query: dict[str, Any], batches: Sequence[Sequence[InputRecord]]) -> list[bytes]:
    fusion = core()
    return matches_of([fusion.push([put(0, query)]), *(fusion.push(list(each)) for each in batches)])


def as_live(query: dict[str, Any], records: Sequence[InputRecord], seed: int) -> list[bytes]:
    topic: Any = FakeTopic(records, seed)
    ends = {0: 1 + max(record.offset for record in records)}
    run = replayed(core(), topic, [QueryChangeAt(put(0, query), {})], {0: 0}, ends, lambda: None)
    return matches_of([output for output, _ in run])


@settings(max_examples=examples(25), deadline=None)
@given(query=queries(), batches=places.flatmap(heard), data=st.data(), seed=st.integers(0, 99))
def test_a_run_as_live_is_the_job_whatever_the_batches(
    query: dict[str, Any], batches: list[list[Row]], data: st.DataObject, seed: int
) -> None:
    query = {**query, "from": {role: stream.replace("t", "s") for role, stream in query["from"].items()}}
    records = records_of(batches)
    assert as_live(query, records, seed) == live(query, split(data.draw, records, data.draw(st.integers(1, 4))))


@pytest.mark.parametrize("query", SHOTS, ids=["sets", "all"])
def test_a_run_as_live_says_where_the_source_was(query: dict[str, Any]) -> None:
    records = records_of([CALLS[:2], CALLS[2:5], CALLS[5:]])
    job = live(query, [records[:3], records[3:]])
    assert as_live(query, records, 1) == job
    assert any(json.decode(match)["place"] for match in job)
