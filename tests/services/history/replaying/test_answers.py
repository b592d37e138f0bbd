"""Runs: the complete answer is the library's, and what the core says if nobody is late; the replay is the live job."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from msgspec import json

from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import Query
from services.common.log.faults import LogError
from services.history.archiving.frame_rows import FrameRows
from services.history.replaying import complete_answer
from services.history.replaying.complete_answer import complete_matches, complete_tuples
from services.history.replaying.request import RunError
from services.history.rows.archive_rows import RowChunk
from services.history.rows.counting_rows import first_of_each
from services.history.rows.played_rows import PlayedRows
from services.history.rows.topic_records import Offsets, TopicRecord, TopicRecords
from services.history.runs.live_answer import QueryChangeAt, replayed
from tests.coincide.fusion.inputs import Row, frame, put, removal

STREAMS = {name: Stream(name, max_delay_s=3_600, longest_template_s=8) for name in ("p", "s")}
TEMPLATES = (Histogram.uniform(-1, 1), Histogram.uniform(-3, 0), Histogram.normal(sigma_s=0.7, buckets=4))
PAIR = {
    "id": "pair",
    "from": {"a": "p", "b": "s"},
    "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.4}],
}
SELF = {
    "id": "self",
    "from": {"a": "p", "b": "p"},
    "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.3}],
}
THREE: dict[str, Any] = {
    "id": "three",
    "from": {"a": "p", "b": "p", "c": "s"},
    "form": "clique",
    "within": [{"window_s": 2}],
    "joint_threshold": 0.1,
    "coalesce": {"gap_s": 1},
}
QUERIES: tuple[dict[str, Any], ...] = (
    PAIR,
    {**PAIR, "id": "any", "sensors": "any", "coalesce": {"gap_s": 1}},
    {**PAIR, "id": "equal", "equal": "attributes.object"},
    {**PAIR, "id": "loud", "from": {"a": {"stream": "p", "where": {"attributes.db": {"above": 5}}}, "b": "s"}},
    {
        **SELF,
        "from": {"a": {"stream": "p", "sensors": ["p-0", "p-1"]}, "b": {"stream": "p", "sensors": ["p-1", "p-2"]}},
    },
    {**SELF, "id": "self-again"},
    THREE,
    {**THREE, "id": "two-of-three", "at_least": 2},
)


def some_rows(seed: int, count: int = 120) -> list[Row]:
    rng = np.random.default_rng(seed)
    rows = []
    for nth, at_s in enumerate(np.sort(rng.uniform(0, 60, count)).round(1).tolist()):  # some at the same time
        stream = str(rng.choice(["p", "s"]))
        sensor = f"{stream}-{rng.integers(3)}"
        said = (("db", int(rng.integers(10))), ("object", int(rng.integers(3))))
        rows.append(Row(f"{stream}{nth}", at_s, TEMPLATES[int(rng.integers(3))], stream, sensor, said))
    return rows


def frames_of(rows: Sequence[Row], size: int = 7) -> list[InputRecord]:
    """Frames in the order of the rows, of two areas in partitions of their own."""
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return [frame(nth, part, f"area-{nth % 2}", nth % 2, 1e9 + nth) for nth, part in enumerate(parts)]


def table_of(frames: Sequence[InputRecord]) -> tuple[pa.Table, dict[str, Histogram]]:
    rows = FrameRows()
    for each in frames:
        rows.add(each)
    table, templates = rows.take()
    return table, {id_: Histogram.from_json(content) for id_, content in templates.items()}


def no_log(_topic: str) -> TopicRecords:
    """What opens topics where there is no log."""
    raise LogError("there is no log")


def played(query: dict[str, Any], frames: Sequence[InputRecord]) -> PlayedRows:
    rows, templates = table_of(frames)
    table = rows.take(pa.array(first_of_each(rows)))
    return PlayedRows.of(Query.from_json(query), RowChunk(table, np.ones(len(table), np.bool_), templates))


ADVISORY = {"chance_rate_hz", "chance_rate_error_hz", "unknown", "supersedes", "query_version"}


def told(matches: Sequence[bytes]) -> dict[str, dict[str, Any]]:
    decoded = [json.decode(each) for each in matches]
    return {each["id"]: {name: value for name, value in each.items() if name not in ADVISORY} for each in decoded}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query["id"]))
@pytest.mark.parametrize("seed", range(3))
def test_complete_is_what_the_core_says_if_nobody_is_late(query: dict[str, Any], seed: int) -> None:
    rows = some_rows(seed)
    frames = frames_of([rows[at] for at in np.random.default_rng(seed).permutation(len(rows)).tolist()])
    core = FusionCore(STREAMS, Limits(max_advisory_work=10**9, max_advisory_work_of_frame=10**9), 0)
    outputs = [core.push([put(0, query)]), *(core.push([each]) for each in frames)]
    live = [record.value for output in outputs for record in output.matches]
    gone = {id_ for value in live for id_ in json.decode(value).get("supersedes", ())}
    expected = {id_: match for id_, match in told(live).items() if id_ not in gone}
    complete = told([json.encode(match) for match in complete_matches(played(query, frames), STREAMS, lambda: None)])
    assert complete.keys() == expected.keys()
    assert len(expected) > 10
    assert complete == expected


def test_a_detection_that_was_posted_again_counts_once() -> None:
    rows = some_rows(1)
    frames = frames_of(rows)
    again = [each._replace(offset=each.offset + 1_000) for each in frames[3:9]]
    once, twice = (
        sorted(match.id for match in complete_matches(played(PAIR, each), STREAMS, lambda: None))
        for each in (frames, [*again, *frames])
    )
    assert once == twice


@pytest.mark.parametrize(("at_least", "parts"), [({}, 0), ({"at_least": 2}, 1)], ids=["all", "at least 2"])
def test_a_run_can_end_while_it_searches_before_anything_is_found(at_least: dict[str, Any], parts: int) -> None:
    query = {
        "id": "nothing",
        "from": {"a": "p", "b": "p", "c": "p"},
        "form": "clique",
        "within": [{"window_s": 0.001}],
        "joint_threshold": 1.0,
        "unreachable": "allow",
        **at_least,
    }
    checked: list[None] = []
    of_run = played(query, frames_of(some_rows(0)))
    assert not list(complete_tuples(of_run, of_run.query, None, lambda: checked.append(None)))
    assert len(checked) > parts  # of the answer, which are checked once they are found


def test_a_run_for_sets_holds_so_many_pairs_and_no_more() -> None:
    query = {
        "id": "all-of-all",
        "from": {"a": "p", "b": "p", "c": "p"},
        "form": "clique",
        "within": [{"window_s": 1000.0, "threshold": 0.01}],
        "sensors": "any",
        "at_least": 2,
    }
    of_run = played(query, frames_of(some_rows(0)))
    asked: list[None] = []
    said = r"more than 10 pairs of detections may be together in one part of the range"
    with patch.object(complete_answer, "MOST_PAIRS", 10), pytest.raises(RunError, match=said):
        list(complete_tuples(of_run, of_run.query, None, lambda: asked.append(None)))
    assert asked


class FakeTopic:
    """Frames as a topic gives them: in chunks, partitions mixed in any order."""

    def __init__(self, frames: Sequence[InputRecord], seed: int) -> None:
        self._frames, self._rng = frames, np.random.default_rng(seed)

    def chunks(self, starts: Offsets, ends: Offsets, check: Callable[[], None]) -> Iterator[list[TopicRecord]]:
        queues = {
            number: [each for each in self._frames if each.partition == number and starts[number] <= each.offset < end]
            for number, end in ends.items()
        }
        while queues := {number: queue for number, queue in queues.items() if queue}:
            check()
            queue = queues[int(self._rng.choice(list(queues)))]
            size = int(self._rng.integers(1, 4))
            yield [TopicRecord(*each[1:]) for each in queue[:size]]
            del queue[:size]


@pytest.mark.parametrize("query", QUERIES[:2] + QUERIES[6:], ids=lambda query: str(query["id"]))
def test_a_replay_says_what_the_live_job_said_whatever_the_batches(query: dict[str, Any]) -> None:
    """Thresholds change, the query is paused, and some detections are late."""
    streams = {name: Stream(name, max_delay_s=5, longest_template_s=8) for name in ("p", "s")}
    rows = some_rows(4, 200)
    frames = frames_of([*rows[:60], *rows[100:], *rows[60:100]])
    lower = {**query, **({"joint_threshold": 0.05} if "joint_threshold" in query else {})}
    lower["within"] = [{**each, **({"threshold": 0.2} if "threshold" in each else {})} for each in query["within"]]
    changes = [put(0, query), put(1, lower, 2), put(2, lower, 3, paused=True), put(3, query, 4)]
    at = [0, 7, 15, 18]
    core, live = FusionCore(streams, Limits(), 0), []
    for nth, each in enumerate(frames):
        due = [change for change, offset in zip(changes, at, strict=True) if offset == nth]
        live.append(core.push([*due, each]))
    assert json.decode(live[-1].status.value)["totals"]["late"] > 5
    changed = [
        QueryChangeAt(change, {0: nth + nth % 2, 1: nth + 1 - nth % 2}) for change, nth in zip(changes, at, strict=True)
    ]
    topic: Any = FakeTopic(frames, 5)
    ends = dict.fromkeys((0, 1), len(frames))
    outputs = [
        output
        for output, _ in replayed(FusionCore(streams, Limits(), 0), topic, changed, {0: 0, 1: 0}, ends, lambda: None)
    ]
    expected, again = [sorted(r.value for o in each for r in o.matches) for each in (live, outputs)]
    assert again == expected
    assert len({json.decode(value)["query_version"] for value in expected}) == 3
    assert last_episodes(outputs) == last_episodes(live)


def last_episodes(outputs: Sequence[Any]) -> dict[str, Any]:
    last: dict[str, Any] = {}
    for record in (record for output in outputs for record in output.episodes):
        episode = json.decode(record.value)
        last[episode["id"]] = episode
    return {id_: {k: v for k, v in each.items() if k != "revision"} for id_, each in last.items()}


def test_a_removed_query_answers_no_more() -> None:
    frames = frames_of(some_rows(4))
    changes = [
        QueryChangeAt(put(0, PAIR), {}),
        QueryChangeAt(removal(1, "pair"), {0: 8, 1: 8}),
    ]
    topic: Any = FakeTopic(frames, 5)
    outputs = replayed(FusionCore(STREAMS, Limits(), 0), topic, changes, {0: 0, 1: 0}, {0: 99, 1: 99}, lambda: None)
    found = [json.decode(record.value) for output, _ in outputs for record in output.matches]
    received = [match["received_at_us"] for match in found]
    assert found
    assert max(received) < (1e9 + 8) * 1e6
