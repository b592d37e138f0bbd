"""Curves, comparisons and requests, each against the obvious way to say the same."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode

from coincide.fusion.episodes.episode_records import GroupKey, part_of
from coincide.fusion.episodes.grouping import GroupChanges, regrouped
from coincide.queries import EpisodeRule, Query
from services.history.replaying.complete_answer import complete_matches, complete_tuples
from services.history.replaying.match_curves import (
    MatchColumns,
    MatchFigures,
    SpanRuns,
    thresholds_from,
)
from services.history.replaying.pair_levels import PairLevels
from services.history.replaying.request import RunError, RunRequest, parsed_time
from services.history.replaying.run_folder import ComparedMatch
from services.history.rows.topic_records import TopicRecord, TopicRecords
from services.history.runs.comparing import compare, live_matches
from tests.services.history.replaying.test_answers import PAIR, STREAMS, THREE, frames_of, played, some_rows

QUERY = Query.from_json(PAIR)
RULED = {**PAIR, "id": "ruled", "coalesce": {"gap_s": 2, "by": ["a.sensor"]}}
HULL = {"gap_s": 0.5, "by": ["a.sensor"], "interval": "hull"}
PATH = {
    "id": "path",
    "from": {"a": "p", "b": "s", "c": "p"},
    "within": [
        {"between": ["a", "b"], "window_s": 2, "threshold": 0.3},
        {"between": ["b", "c"], "lo_s": 0, "hi_s": 2, "threshold": 0.3},
    ],
    "coalesce": {"gap_s": 1},
}
TWICE = {**THREE, "id": "twice", "within": [{"window_s": 2, "threshold": 0.4}]}  # an edge and the joint one


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9), st.integers(0, 2), st.booleans()), max_size=30),
    st.integers(0, 5),
)
def test_episodes_are_counted_as_if_formed_one_by_one(spans: list[tuple[int, int, int, bool]], gap_us: int) -> None:
    start, length, group, chosen = np.array(spans, np.int64).reshape(-1, 4).T
    runs = SpanRuns.of(np.stack((start, start + length), axis=1), group, gap_us)
    assert runs.count(chosen.astype(bool)) == slow_count([each for each in spans if each[3]], gap_us)


def slow_count(spans: list[tuple[int, int, int, bool]], gap_us: int) -> int:
    count, ends = 0, dict[int, int]()
    for start, length, group, _ in sorted(spans):
        if group not in ends or start - gap_us > ends[group]:
            count += 1
            ends[group] = start + length
        ends[group] = max(ends[group], start + length)
    return count


@pytest.mark.parametrize("document", [RULED, {**RULED, "coalesce": HULL}, THREE, {**THREE, "at_least": 2}, PATH, TWICE])
def test_each_point_of_the_curve_is_a_run_with_that_threshold(document: dict[str, Any]) -> None:
    """The curve of one run at the least threshold says what a run at each threshold says, episodes included."""
    frames = frames_of(some_rows(3, 150))
    query = Query.from_json(document)
    thresholds = [0.05, 0.1, 0.33, query.own_threshold, 0.7, 0.95]
    least = thresholds[0] if query.at_least is None else query.own_threshold
    told = thresholds if query.at_least is None else [least]
    tuples, records = figures_of(query.with_threshold(least), frames, thresholds)
    assert tuples.curve(told) == records.curve(told)
    for point, threshold in zip(tuples.curve(told), told, strict=True):
        again = query.with_threshold(threshold)
        matches = list(complete_matches(played(again.to_json(), frames), STREAMS, lambda: None))
        assert point == {"threshold": threshold, "matches": len(matches), "episodes": episodes(again, matches)}
    assert sum(tuples.histogram()["counts"]) == len(tuples) > 20


def figures_of(query: Query, frames: Any, thresholds: list[float]) -> list[MatchFigures]:
    """Figures taken from tuples, and from the records of these."""
    of_tuples, of_records = MatchFigures(query.coalesce), MatchFigures(query.coalesce)
    of_run, levels = played(query.to_json(), frames), levels_of(query, thresholds)
    for tuples in complete_tuples(of_run, query, levels, lambda: None):
        of_tuples.extend(MatchColumns.of_tuples(of_run, tuples, query.coalesce))
    of_records.extend(MatchColumns.of_records([*complete_matches(of_run, STREAMS, lambda: None)], query.coalesce))
    return [of_tuples, of_records]


def levels_of(query: Query, thresholds: list[float]) -> PairLevels | None:
    return PairLevels(query.window, sorted(thresholds)) if len(query.roles) == 2 else None


def episodes(query: Query, matches: list[Any]) -> int:
    """Count episodes as the live job forms them."""
    rule = query.coalesce
    assert isinstance(rule, EpisodeRule)
    groups: dict[GroupKey, GroupChanges] = {}
    for match in matches:
        label = match.members[0].sensor if rule.by else ""
        group = GroupKey(query.id, match.area, 0, label.encode())
        groups.setdefault(group, GroupChanges()).add(match.id, part_of(match, rule.interval, 0))
    return sum(len(_formed(group, changes, rule)) for group, changes in groups.items())


def _formed(group: GroupKey, changes: GroupChanges, rule: EpisodeRule) -> list[Any]:
    labelled = GroupKey(group.query, group.area, group.since, b'["x"]' if rule.by else b"[]")
    return regrouped(labelled, [], changes, rule, -(1 << 62))[1]


def test_the_thresholds_of_a_curve() -> None:
    assert thresholds_from(0.3, 0.4).tolist()[:2] == [0.3, 0.31]
    assert 0.415 in thresholds_from(0.3, 0.415)
    assert thresholds_from(0.4, 0.3).tolist()[0] == 0.3


@pytest.mark.parametrize("least", [5e-324, 1e-9, 0.3 + 1e-10])
def test_no_threshold_of_a_curve_is_below_the_least(least: float) -> None:
    assert thresholds_from(least, least).tolist()[0] == least


def test_a_threshold_is_set_where_the_query_has_its_one() -> None:
    assert QUERY.with_threshold(0.2).own_threshold == 0.2
    three = Query.from_json(THREE)
    assert three.with_threshold(0.05).joint_threshold == 0.05
    assert Query.from_json(TWICE).with_threshold(0.05).within[0].threshold == 0.4


def match(id_: str, probability: float) -> ComparedMatch:
    return ComparedMatch(id_, "pair", probability, 0, [])


def test_answers_are_compared_by_id() -> None:
    before = [match("a", 0.5), match("b", 0.6), match("c", 0.7)]
    now = [match("b", 0.6 + 1e-12), match("c", 0.8), match("d", 0.9), match("d", 0.9)]
    said = compare(now, before).to_json()
    assert said["counts"] == {"added": 1, "gone": 1, "changed": 1, "same": 1}
    assert (said["added"], said["gone"]) == (["d"], ["a"])
    assert said["changed"] == [{"id": "c", "before": 0.7, "now": 0.8}]


def test_what_kafka_has_deleted_is_not_called_added() -> None:
    def record(partition: int, offset: int, received_at_us: int, query: str = "pair") -> TopicRecord:
        id_ = f"live-{received_at_us}"
        said = {"id": id_, "query": query, "probability": 0.5, "received_at_us": received_at_us, "members": []}
        return TopicRecord(partition, offset, b"", encode(said))

    topic = RecordedTopic([record(0, 0, 10), record(1, 7, 40, "other"), record(1, 8, 50)], {0: 0, 1: 7})
    request: Any = RunRequest(QUERY, 0, 100)
    live = live_matches(topic, request)
    assert ([each.id for each in live.matches], live.from_us) == (["live-10", "live-50"], 40)
    now = [ComparedMatch(f"run-{at_us}", "pair", 0.5, at_us, []) for at_us in (20, 39, 40)]
    comparison = compare([*now, *live.matches], live.matches, live.from_us)
    assert (comparison.added, comparison.older, comparison.same) == (["run-40"], 2, 2)
    assert live_matches(RecordedTopic([], {0: 0, 1: 9}), request).from_us == 100  # all of a partition is gone
    assert live_matches(RecordedTopic([], {0: 0, 1: 0}), request).from_us is None


class RecordedTopic(TopicRecords):
    """Records, and the first offset that each partition still has."""

    def __init__(self, records: list[TopicRecord], firsts: dict[int, int]) -> None:
        self._kept, self._firsts = records, firsts

    def first_offsets(self) -> dict[int, int]:
        return self._firsts

    def all(self, _check: Callable[[], None]) -> Iterator[TopicRecord]:
        yield from self._kept


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"from_us": 10, "to_us": 10}, "is not before"),
        ({"to_us": 10**15}, "longer than 366 days"),
        ({"as_live": True}, "reads the topic"),
        ({"source": "disk"}, "one of archive, topic"),
        ({"min_threshold": 0.0}, "a probability above 0"),
        ({"as_live": True, "source": "topic", "min_threshold": 0.5}, "for complete runs"),
        ({"as_live": True, "source": "topic", "warm_up_s": -1}, "warm_up_s is -1: 0 to 31622400 seconds"),
        ({"as_live": True, "source": "topic", "warm_up_s": 1e308}, "warm_up_s is 1e\\+308: 0 to 31622400 seconds"),
        ({"warm_up_s": 10}, "warm_up_s is for runs as live"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RunError, match=sentence):
        RunRequest(**{"query": QUERY, "from_us": 0, "to_us": 10, **fields})


def test_who_asks_the_same_again_finds_the_same_run() -> None:
    request = RunRequest(QUERY, 0, 10, "topic")
    assert RunRequest.from_json(request.to_json()) == request
    assert RunRequest.from_json(request.to_json()).id == request.id != RunRequest(QUERY, 0, 11, "topic").id


@pytest.mark.parametrize("text", ["yesterday", "2026-11-22T09:30:00", "2026-13-01T00:00:00Z"])
def test_a_time_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(RunError, match=r"offset|no time"):
        parsed_time(text)


def test_a_time_is_read_to_the_microsecond() -> None:
    assert parsed_time("2026-11-22T10:30:00.000001+01:00") == parsed_time("2026-11-22T09:30:00.000001Z")
    assert parsed_time("1970-01-01T00:00:00.000007Z") == 7
    assert parsed_time("2026-11-22 10:30:00+0100") == parsed_time("2026-11-22T09:30:00Z")
