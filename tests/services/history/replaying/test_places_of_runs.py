"""Runs over history of queries that ask where sensors are: their records are those of the live job."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from coincide import Stream
from coincide.fusion.records.kafka_records import InputRecord
from services.history.replaying.complete_answer import complete_matches
from services.history.rows.played_rows import PlayedRows
from services.history.runs.live_answer import QueryChangeAt, replayed
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put
from tests.coincide.fusion.matching.test_distance_laws import heard, places, queries
from tests.coincide.fusion.matching.test_source_joins import BANG, STRANGER, shot
from tests.coincide.fusion.strategies import split
from tests.examples import examples
from tests.services.history.replaying.test_answers import ADVISORY, FakeTopic, played
from tests.services.history.replaying.test_hosts_agree import PATIENT_S, core, matches_of

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


def live(query: dict[str, Any], batches: Sequence[Sequence[InputRecord]], *patience: Any) -> list[bytes]:
    fusion = core(*patience)
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


def standing(matches: Sequence[bytes]) -> dict[str, dict[str, Any]]:
    """Return by id the matches that none supersedes, without what only one who watched can say."""
    found = [json.decode(match) for match in matches]
    gone = {id_ for match in found for id_ in match.get("supersedes", ())}
    return {match["id"]: plain(match) for match in found if match["id"] not in gone}


def plain(match: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in match.items() if name not in ADVISORY}


def complete(query: dict[str, Any], rows: PlayedRows) -> dict[str, dict[str, Any]]:
    run = [json.decode(json.encode(match)) for match in complete_matches(rows, PATIENT, lambda: None)]
    assert len({match["id"] for match in run}) == len(run)
    return {match["id"]: plain(match) for match in run if match["query"] == query["id"]}


PATIENT = {name: Stream(name, max_delay_s=1e6, longest_template_s=8) for name in "ps"}


@settings(max_examples=examples(25), deadline=None)
@given(query=queries(), batches=places.flatmap(heard), data=st.data())
def test_a_complete_run_is_the_job_that_waits_for_everybody_whatever_the_chunks(
    query: dict[str, Any], batches: list[list[Row]], data: st.DataObject
) -> None:
    numbers = count()
    batches = [[replace(row, id=f"e{next(numbers)}") for row in rows] for rows in batches]  # none is used anew
    query = {**query, "from": {role: stream.replace("t", "s") for role, stream in query["from"].items()}}
    records = records_of(batches)
    expected = standing(live(query, split(data.draw, records, data.draw(st.integers(1, 4))), PATIENT_S, None))
    whole = played(query, [record for record in records if record.key is not None])
    assert complete(query, whole) == expected
    order = pa.array(data.draw(st.permutations(range(len(whole.rows)))), pa.int64())
    rows = whole.rows.take(order)
    first = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), np.bool_)
    parts = [complete(query, PlayedRows(whole.query, rows, whole.templates, own)) for own in (first, ~first)]
    assert not parts[0].keys() & parts[1].keys()
    assert parts[0] | parts[1] == expected


@pytest.mark.parametrize("query", SHOTS, ids=["sets", "all"])
def test_a_complete_run_says_where_the_source_was(query: dict[str, Any]) -> None:
    records = records_of([CALLS[:2], CALLS[2:5], CALLS[5:]])
    expected = standing(live(query, [records], PATIENT_S, None))
    assert complete(query, played(query, [record for record in records if record.key is not None])) == expected
    assert any(match["place"] for match in expected.values())
