"""The engine over a log of this machine: killed at any time it tells what an engine tells that nobody kills."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.core.fusion_core import FusionCore
from services.common.engine.shard_state import SHARD_STATE, entry_of, records_of
from services.common.local_log.local_log import LocalLog
from services.common.log.reader import LogReader
from services.common.log.records import NewRecord, TopicPartition
from services.line.changes_ahead import ChangesAhead
from services.line.fusion_thread import DETECTIONS, QUERIES, FusionThread
from tests.coincide.fusion.inputs import STREAMS, poisson_frames, put, query_json, removal
from tests.patience import until
from tests.services.line.fused_logs import (
    LIMITS,
    MEMORY,
    NAMES,
    TOPICS,
    Fault,
    append,
    at_once,
    documents,
    fusing,
    opened,
    wait_until_taken,
)

SENSORS = [("north", "p", Histogram.uniform(-1, 0), 0.5), ("south", "s", Histogram.uniform(-2, 0), 0.5)]
INPUTS = [put(0, query_json(threshold=0.2)), *poisson_frames(np.random.default_rng(1), SENSORS, 800)]


def told(log: LocalLog, topic: str) -> list[str]:
    """Return the ids of what stands in a topic, with revisions, in order."""
    return sorted(f"{each['id']} {each.get('revision', '')}" for each in documents(log, topic))


def expected() -> list[str]:
    """Return what one engine tells that gets everything at once."""
    output = FusionCore(STREAMS, LIMITS, 0).push(INPUTS)
    assert len(output.matches) > 10
    return sorted(f"{json.loads(each.value)['id']} " for each in output.matches)


@settings(max_examples=8)
@given(
    cuts=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    fails=st.lists(st.sampled_from(["before", "after", None]), max_size=4),
)
def test_whatever_fails_and_however_often_it_starts_it_tells_every_match_once(
    cuts: list[int], fails: list[Fault]
) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(Path(folder)) as log, at_once():
        first = 0
        for cut in [*cuts, len(INPUTS)]:
            append(log, INPUTS[first : first + cut])
            first += cut
            with fusing(log, *fails) as thread:
                wait_until_taken(log, thread)
        assert told(log, "matches") == expected()


def test_an_engine_that_begins_anew_begins_where_the_log_does(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        for number in range(TOPICS[DETECTIONS].partitions):
            log.skip_to(TopicPartition(NAMES.full(DETECTIONS), number), 7)
            log.begin_at(TopicPartition(NAMES.full(DETECTIONS), number), 7)
        append(log, INPUTS)
        with fusing(log) as thread:
            wait_until_taken(log, thread)
        assert told(log, "matches") == expected()


def test_an_engine_that_begins_anew_retires_the_shards_of_another(tmp_path: Path) -> None:
    status = NAMES.full("status")
    with opened(tmp_path) as log:
        keys = [b"shard-0", b"shard-1", b"rebuild-1", b"shard-12"]
        log.append([NewRecord(status, key, b"of another") for key in keys]).result(10)
        append(log, INPUTS)
        for _ in range(2):
            with fusing(log) as thread:
                wait_until_taken(log, thread)
        with log.reader() as reader:
            records = [each for some in reader.whole(status) for each in some]
    newest = {each.key: each.value for each in records}
    assert [key for key, value in newest.items() if value is None] == [b"shard-1", b"shard-12"]
    assert [each.key for each in records if each.value is None] == [b"shard-1", b"shard-12"]
    assert newest[b"rebuild-1"] == b"of another"


@pytest.mark.parametrize(
    ("spoils", "why"),
    [
        (
            "state",
            r"the state of the engine cannot be used \(.*\): go back to what it was made with, or restore a backup",
        ),
        ("position", r"what is to be fused next is not in the log any more \(offset 999 of .*\): restore a backup"),
    ],
)
def test_what_a_person_has_to_mend_is_said_with_what_to_do_and_not_tried_again(
    spoils: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.common.log.follower_thread.PAUSES_S", (0.001, 0.001))
    begins: list[object] = []
    begin = FusionThread._begin

    def counted(thread: FusionThread, reader: LogReader) -> None:
        begins.append(reader)
        begin(thread, reader)

    monkeypatch.setattr(FusionThread, "_begin", counted)
    with opened(tmp_path) as log:
        with fusing(log) as thread:
            append(log, INPUTS)
            wait_until_taken(log, thread)
        if spoils == "position":
            spoilt = entry_of({TopicPartition(DETECTIONS, 0): 999})
        else:
            with log.reader() as reader:
                kinds = {each.key for some in reader.whole(NAMES.full(SHARD_STATE)) for each in some}
            spoilt = {("header", 0): b"spoilt"}
            assert b"header/0" in kinds
        log.append(list(records_of(NAMES.full(SHARD_STATE), spoilt))).result(10)
        begins.clear()
        with fusing(log) as thread:
            until(lambda: re.match(why, thread.why_not_ready() or "") is not None)
            thread.join(0.2)  # time for many attempts
            assert re.match(why, thread.why_not_ready() or "")
            assert len(begins) == 1
        assert not thread.is_alive()


def test_a_query_that_is_removed_gives_no_more_answers(tmp_path: Path) -> None:
    with opened(tmp_path) as log, fusing(log) as thread:
        append(log, INPUTS[:10])
        wait_until_taken(log, thread)
        before = told(log, "matches")
        append(log, [removal(1), *INPUTS[10:]])
        wait_until_taken(log, thread)
        assert before
        assert told(log, "matches") == before != expected()


def test_only_the_newest_status_is_told_and_it_is_told_soon(tmp_path: Path) -> None:
    with opened(tmp_path) as log, fusing(log) as thread:
        for each in INPUTS:
            append(log, [each])
        wait_until_taken(log, thread)
        until(lambda: b'"accepted":' in newest(log) and json.loads(newest(log))["totals"] == totals())


def newest(log: LocalLog) -> bytes:
    with log.reader() as reader:
        records = [each for some in reader.whole(NAMES.full("status")) for each in some]
    return records[-1].value or b""


def totals() -> dict[str, int]:
    output = FusionCore(STREAMS, LIMITS, 0).push(INPUTS)
    return dict(json.loads(output.status.value)["totals"])


def test_a_change_that_comes_while_a_batch_is_at_work_stops_its_query_and_is_taken_by_the_next_batch(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as log, log.reader() as reader:
        reader.read_from(dict.fromkeys(reader.partitions_of(NAMES.full(QUERIES))))
        clock_s = [0.0]
        ahead = ChangesAhead(reader, lambda: clock_s[0])
        append(log, [put(0, query_json()), put(1, query_json(name="far"))])
        assert len(ahead.take()) == 2
        append(log, [put(2, query_json(), 2, paused=True), removal(3, "far", 7)])
        assert ahead.stopped() == {}, "it looked a moment ago"
        clock_s[0] = 1.0
        assert ahead.stopped() == {"near": 2, "far": 7}
        append(log, [put(4, query_json(), 3)])
        clock_s[0] = 2.0
        assert ahead.stopped() == {"far": 7}
        assert [each.offset for each in ahead.take()] == [2, 3, 4]
        assert (ahead.stopped(), ahead.take()) == ({}, [])
