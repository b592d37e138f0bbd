"""What is forwarded arrives once and in order, whatever the line above answers, and however often forwarding starts."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from coincide.wire.results.match_record import MatchRecord
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.records import NewRecord, TopicPartition
from services.common.topics.line_topics import topics_of_line
from services.common.topics.topic_names import TopicNames
from services.line.forwarding.forward_metrics import ForwardMetrics
from services.line.forwarding.forward_settings import ForwardSettings
from services.line.forwarding.forward_thread import ForwardThread, in_posts
from services.line.forwarding.upward_items import match_in
from services.line.forwarding.upward_poster import UpwardPoster
from tests.patience import until
from tests.services.line.forwarding.line_above import LineAbove, answering, line_above

NAMES = TopicNames("reef.")
DETECTIONS, MATCHES = map(NAMES.full, ("detections", "matches"))
TOPICS = topics_of_line(
    {each: Topic(partitions=2, configs={"retention.ms": "-1"}) for each in (DETECTIONS, MATCHES)}, NAMES
)
EXAMPLES = Path("docs/contracts/examples")
FRAME = json.loads((EXAMPLES / "detections.json").read_text())[0]
PAIR = match_in(json.dumps(json.loads((EXAMPLES / "matches.json").read_text())[0]).encode())


@pytest.fixture
def above() -> Iterator[LineAbove]:
    with line_above() as each:
        yield each


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LocalLog]:
    each = LocalLog(tmp_path / "log.sqlite3")
    each.create_topics(TOPICS)
    yield each
    each.close()


class Forwarding:
    def __init__(self, log: LocalLog, above: LineAbove, **settings: Any) -> None:
        self.registry = CollectorRegistry()
        given = ForwardSettings(**{"to": above.url, "what": "detections", "timeout_s": 5.0, **settings})
        poster = UpwardPoster(given, "ck_1")
        self.thread = ForwardThread(log, NAMES, given, poster, ForwardMetrics(self.registry))

    def value(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"coincide_forwarding_{name}", labels) or 0.0


@contextmanager
def forwarding(log: LocalLog, above: LineAbove, **settings: Any) -> Iterator[Forwarding]:
    each = Forwarding(log, above, **settings)
    each.thread.start()
    try:
        yield each
    finally:
        each.thread.stop()
    assert not each.thread.is_alive()


def append_frames(log: LocalLog, *ids: str) -> None:
    """Append a frame for each id, and a heartbeat behind it, all at once."""
    beat = json.dumps({"v": 2, "heartbeat": True, "received_at_us": 1}).encode()
    records = []
    for id_ in ids:
        columns = {name: column[:1] for name, column in FRAME["detections"].items()} | {"id": [id_]}
        frame = json.dumps({**FRAME, "detections": columns}).encode()
        records += [NewRecord(DETECTIONS, b"a", frame, partition=0), NewRecord(DETECTIONS, None, beat, partition=0)]
    log.append(records).result(10)


def append_matches(log: LocalLog, *matches: MatchRecord) -> None:
    log.append([NewRecord(MATCHES, *each.to_record()) for each in matches]).result(10)


def found(n: int, **fields: Any) -> MatchRecord:
    return replace(PAIR, id=f"m-{n:032x}", **fields)


def test_it_arrives_once_and_in_order_though_the_line_above_is_away_busy_or_limits_the_rate(
    log: LocalLog, above: LineAbove
) -> None:
    append_frames(log, "d1", "d2")
    above.answers = [answering(503, Retry_After="1"), answering(429, Retry_After="0"), answering(500), answering(401)]
    began_s = time.monotonic()
    with forwarding(log, above) as each:
        until(lambda: above.ids == ["d1", "d2"])
        assert time.monotonic() - began_s > 1.0
        append_frames(log, "d3")
        until(lambda: each.value("detections_total") == 3)
        until(lambda: each.thread.why_not_ready() is None)
        until(lambda: each.value("waiting_records") == 0)
        assert each.value("failures_total") == 4
    append_frames(log, "d4")
    with forwarding(log, above):
        until(lambda: above.ids == ["d1", "d2", "d3", "d4"])
    assert set(above.keys) == {"Bearer ck_1"}
    assert [[each["id"] for each in post] for post in above.posts[:5]] == [["d1", "d2"]] * 5


def test_while_nobody_answers_it_waits_says_so_and_stops_when_it_is_told_to(log: LocalLog, above: LineAbove) -> None:
    append_frames(log, "d1")
    with forwarding(log, above, to="http://127.0.0.1:9") as each:
        until(lambda: "no connection to the line above" in (each.thread.why_not_ready() or ""))
        append_frames(log, "d2")
        until(lambda: each.value("waiting_records") == 4)
    with forwarding(log, above):
        until(lambda: above.ids == ["d1", "d2"])


def test_a_detection_that_is_refused_is_counted_and_told_once_and_the_others_arrive(
    log: LocalLog, above: LineAbove, caplog: pytest.LogCaptureFixture
) -> None:
    append_frames(log, "d1", "d2", "d3")

    def unknown(items: list[dict[str, Any]]) -> tuple[int, dict[str, str], Any]:
        refused = {"status": "refused", "reason": "unknown_sensor", "detail": "no such sensor"}
        above.taken.append(items[2])
        return 202, {}, {"detections": [refused, {**refused, "index": 1}, {"status": "accepted"}]}

    above.answers = [unknown, answering(413), answering(422)]
    with caplog.at_level(logging.WARNING), forwarding(log, above) as each:
        until(lambda: each.value("refused_total", reason="unknown_sensor") == 2)
        append_frames(log, "d4", "d5")
        until(lambda: each.value("waiting_records") == 0)
        until(lambda: each.value("detections_total") + each.value("refused_total", reason="http_422") == 3)
    assert above.ids == ["d3", "d5"]
    assert sum("no such sensor" in each.message for each in caplog.records) == 1
    with forwarding(log, above) as again:
        append_frames(log, "d6")
        until(lambda: above.ids[-1:] == ["d6"])
        until(lambda: again.value("detections_total") == 1)


def test_what_the_log_no_longer_has_is_counted(log: LocalLog, above: LineAbove) -> None:
    append_frames(log, "d1")
    with forwarding(log, above):
        until(lambda: above.ids == ["d1"])
    log.skip_to(TopicPartition(DETECTIONS, 0), 9)
    log.begin_at(TopicPartition(DETECTIONS, 0), 9)
    append_frames(log, "d2")
    with forwarding(log, above) as each:
        until(lambda: above.ids == ["d1", "d2"])
        assert each.value("expired_records_total") == 7


def test_a_match_that_may_be_superseded_waits_and_those_of_other_queries_stay(log: LocalLog, above: LineAbove) -> None:
    now_us, queries = time.time_ns() // 1_000, ["near"]
    triple = {"query": "near", "received_at_us": now_us}
    append_matches(
        log,
        found(1, query="near"),
        found(2, query="far"),
        found(3, supersedes=(), **triple),
        found(4, supersedes=(), **triple),
        found(5, supersedes=(found(3).id,), **triple),
        found(6, query="near"),
    )
    with forwarding(log, above, what="matches", queries=queries, sensor="pier-{query}", final_after_s=3.0) as each:
        until(lambda: above.ids == [found(n).id for n in (1, 4, 5, 6)])
        until(lambda: each.value("superseded_matches_total") == 1)
    assert [len(post) for post in above.posts] == [1, 3]
    assert {each["sensor"] for each in above.taken} == {"pier-near"}


def test_a_post_has_so_many_detections_and_bytes_at_most() -> None:
    assert [len(each) for each in in_posts([b"x"] * 1_001)] == [500, 500, 1]
    assert [len(each) for each in in_posts([b"x" * 600_000] * 3)] == [1, 1, 1]
    assert list(in_posts([])) == []
