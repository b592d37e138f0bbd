"""A run as live tells the evidence that was told live: record by record, also where it came long after the range."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import Query
from services.history.replaying.request import RunRequest
from services.history.replaying.run_folder import Reporter, RunFolder
from services.history.rows.topic_records import Offsets, TopicRecord
from services.history.runs.comparing import compared
from services.history.runs.live_answer import QueryChangeAt, Replay, VersionedQuery
from services.history.runs.run import Run
from spark_jobs.history import past_of
from spark_jobs.settings import HistorySettings
from tests.coincide.fusion.inputs import STREAMS, Row, frame, put, query_json, removal
from tests.services.history.replaying.test_answers import FakeTopic
from tests.test_contracts import faults

SECOND_US = 1_000_000
BEGUN_S, HEARD_S = 1e6, 200
CLOCK = Histogram.uniform(-1, 0.5)
QUERY = {**query_json(threshold=0.2, sensors="different"), "event": {"per_day": 2_000, "heard_by": 0.8}}
PLAIN = {name: value for name, value in QUERY.items() if name != "event"}
OF_THE_MATCH = {"v", "query", "query_version", "area"}  # which the match itself says
SENSORS = {"north": "p", "south": "s", "east": "s"}


def heard(nth: int, at_s: float, rows: Sequence[Row]) -> InputRecord:
    """Return what was received when it was detected."""
    return frame(nth, rows, received_at_s=at_s)


def frames() -> list[InputRecord]:
    """Some minutes in which three sensors report at random, and one report long after."""
    rng = np.random.default_rng(7)
    rows = [
        Row(f"{stream}{nth}", at_s, CLOCK, stream, sensor)
        for sensor, stream in SENSORS.items()
        for nth, at_s in enumerate(rng.uniform(BEGUN_S, BEGUN_S + HEARD_S, 40))
    ]
    rows.sort(key=lambda row: row.at_s)
    last_s = BEGUN_S + HEARD_S + 1_000
    return [*(heard(nth, row.at_s, [row]) for nth, row in enumerate(rows)), heard(len(rows), last_s, [after(last_s)])]


def after(at_s: float) -> Row:
    """Return a report that moves the watermark and is in no match."""
    return Row("after", at_s, CLOCK, "p", "west")


class Log(FakeTopic):
    """One partition of frames, each received when it was detected."""

    def __init__(self, frames: Sequence[InputRecord]) -> None:
        super().__init__(frames, 1)
        self._received_us = [json.loads(each.value or b"")["received_at_us"] for each in frames]

    def first_offsets(self) -> dict[int, int]:
        return {0: 0}

    def end_offsets(self) -> dict[int, int]:
        return {0: len(self._received_us)}

    def offsets_at(self, time_us: int) -> dict[int, int]:
        return {0: sum(each < time_us for each in self._received_us)}


def told_live(changes: Mapping[int, InputRecord], logged: Sequence[InputRecord]) -> tuple[Any, Any]:
    """Return matches and evidence that a system tells live, by id; each change takes effect before an offset."""
    core = FusionCore(STREAMS, Limits(), 0)
    batches = [[changes[nth], each] if nth in changes else [each] for nth, each in enumerate(logged)]
    outputs = [core.push(batch) for batch in [*batches, [changes[len(logged)]] if len(logged) in changes else []]]
    matches = [json.loads(each.value) for output in outputs for each in output.matches]
    evidence = [json.loads(each.value) for output in outputs for each in output.evidence]
    return {each["id"]: each for each in matches}, {each["id"]: each for each in evidence}


def run_over(
    folder: Path,
    logged: Sequence[InputRecord],
    monkeypatch: pytest.MonkeyPatch,
    query: dict[str, Any] = QUERY,
    to_s: float = BEGUN_S + HEARD_S + 1,
    changes: Mapping[int, InputRecord] | None = None,
    **reporting: Any,
) -> Run:
    """Return a run as live over the log, of a document or of what the changes say."""

    @contextmanager
    def opened(_name: str) -> Iterator[Any]:
        yield Log(logged)

    monkeypatch.setattr("services.history.runs.live_answer.present_streams", lambda *_: STREAMS)
    history = VersionedQuery(Query.from_json(query), [(each, 0, {0: at}) for at, each in (changes or {}).items()])
    monkeypatch.setattr("services.history.runs.run.query_history", lambda *_: history)
    topics: Any = opened
    past = replace(past_of(HistorySettings(runs_path=folder, processes=1)), topics=topics)
    span_us = round(BEGUN_S * SECOND_US), round(to_s * SECOND_US)
    follows = changes is not None
    request = RunRequest(Query.from_json(query), *span_us, source="topic", as_live=True, follows_changes=follows)
    reporter = Reporter(RunFolder(folder / request.id), request, **{"is_cancelled": lambda: False, **reporting})
    return Run(request, past, STREAMS, reporter)


def written(run: Run) -> dict[str, Any]:
    lines = (run.reporter.folder.path / "matches.ndjson").read_text().splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}


def shown(evidence: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in evidence.items() if name not in OF_THE_MATCH}


def test_each_match_has_the_record_that_was_told_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matches, evidence = told_live({0: put(0, QUERY)}, frames())
    run = run_over(tmp_path, frames(), monkeypatch)
    summary = run.execute()
    assert written(run) == {id_: {**match, "evidence": shown(evidence[id_])} for id_, match in matches.items()}
    assert len({each["evidence"]["posterior"] for each in written(run).values()}) > 5
    assert (summary["matches"], summary["evidence"], summary["evidence_to_come"]) == (len(matches), len(matches), 0)
    assert faults("history-run", summary) == []
    assert sorted(path.name for path in run.reporter.folder.path.iterdir()) == [
        "episodes.ndjson",
        "matches.ndjson",
        "summary.json",
    ]


def test_of_a_part_of_the_range_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What shares members with the last matches comes behind the range, and counts."""
    monkeypatch.setattr("services.history.runs.run.SLACK_US", 0)
    until_s = BEGUN_S + HEARD_S / 2
    _, evidence = told_live({0: put(0, QUERY)}, frames())
    run = run_over(tmp_path, frames(), monkeypatch, to_s=until_s)
    summary, matches = run.execute(), written(run)
    assert {id_: each["evidence"] for id_, each in matches.items()} == {id_: shown(evidence[id_]) for id_ in matches}
    assert max(each["received_at_us"] for each in matches.values()) < until_s * SECOND_US
    assert 0 < summary["frames"] < len(frames()) * 2 / 3
    assert 5 < summary["matches"] < len(evidence)


def test_what_the_topic_does_not_tell_yet_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = frames()[:-1]
    matches, evidence = told_live({0: put(0, QUERY)}, logged)
    run = run_over(tmp_path, logged, monkeypatch)
    summary = run.execute()
    nulls = {id_ for id_, each in written(run).items() if each["evidence"] is None}
    assert nulls == matches.keys() - evidence.keys()
    assert 0 < summary["evidence_to_come"] == len(nulls) < summary["matches"]


@pytest.mark.parametrize("at", [60, len(frames()) - 1])
@pytest.mark.parametrize(
    "change",
    [removal(1), put(1, {**QUERY, "event": {"per_day": 3, "heard_by": 0.5}}, 2)],
    ids=["removed", "another event"],
)
def test_a_change_closes_groups_where_it_took_effect(
    change: InputRecord, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind the range: there a query that is removed later must not count early."""
    monkeypatch.setattr("services.history.runs.run.SLACK_US", 0)
    changes = {0: put(0, QUERY), at: change}
    matches, evidence = told_live(changes, frames())
    run = run_over(tmp_path, frames(), monkeypatch, to_s=BEGUN_S + HEARD_S / 2, changes=changes)
    run.execute()
    before_us = run.request.to_us
    expected = {id_: each for id_, each in matches.items() if each["received_at_us"] < before_us}
    assert {id_: each["evidence"] for id_, each in written(run).items()} == {
        id_: shown(evidence[id_]) for id_ in expected
    }
    assert len(expected) > 5


def test_a_query_without_event_writes_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matches, _ = told_live({0: put(0, PLAIN)}, frames())
    run = run_over(tmp_path, frames(), monkeypatch, PLAIN)
    summary = run.execute()
    assert written(run) == matches
    assert {"evidence", "evidence_to_come"}.isdisjoint(summary)


def test_it_is_cancelled_while_it_reads_on_behind_the_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, beyond = [], Replay.outputs_beyond
    monkeypatch.setattr("services.history.runs.run.SLACK_US", 0)

    def noted(self: Replay, check: Any) -> Any:
        asked.append(check)
        return beyond(self, check)

    monkeypatch.setattr(Replay, "outputs_beyond", noted)
    run = run_over(tmp_path, frames(), monkeypatch, to_s=BEGUN_S + 100, is_cancelled=lambda: bool(asked))
    assert run.execute()["state"] == "cancelled"
    assert len(asked) == 1


def changed(**offsets: int) -> QueryChangeAt:
    return QueryChangeAt(put(0, QUERY), {int(name[1:]): offset for name, offset in offsets.items()})


@pytest.mark.parametrize(
    ("changes", "ends", "before"),
    [
        ([], {0: 5, 1: 5}, 0),
        ([changed(p0=3, p1=4)], {0: 5, 1: 5}, 1),
        ([changed(p0=5, p1=5)], {0: 5, 1: 5}, 1),  # what is read is before it, and what is not is after it
        ([changed(p0=6, p1=5)], {0: 5, 1: 5}, 0),
        ([changed(p0=6, p1=4)], {0: 6, 1: 5}, 1),  # it counts for a part of the range: so much more is read
        ([changed(p0=2, p1=2), changed(p0=7, p1=9), changed()], {0: 5, 1: 5}, 1),
        ([changed(p0=99, p1=4)], {0: 9, 1: 5}, 1),  # the topic was shortened
    ],
)
def test_no_change_is_parted_by_the_ends(changes: list[QueryChangeAt], ends: Offsets, before: int) -> None:
    class Ended:
        def end_offsets(self) -> dict[int, int]:
            return {0: 9, 1: 9}

    topic: Any = Ended()
    replay = Replay.of(FusionCore(STREAMS, Limits(), 0), topic, changes, {0: 0, 1: 0}, {0: 5, 1: 5})
    assert (replay.ends, len(replay.before)) == (ends, before)
    assert [*replay.before, *replay.after] == changes


class Told:
    """What a topic has, as a comparison reads it."""

    def __init__(self, documents: Sequence[Any]) -> None:
        self._values = [json.dumps(each, separators=(",", ":")).encode() for each in documents]

    def first_offsets(self) -> dict[int, int]:
        return {0: 0}

    def all(self, check: Any) -> Iterator[TopicRecord]:
        check()
        yield from (TopicRecord(0, nth, b"bay", value) for nth, value in enumerate(self._values))


def test_a_comparison_with_what_is_live_tells_other_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matches, evidence = told_live({0: put(0, QUERY)}, frames())
    run, shorter = (run_over(tmp_path, logged, monkeypatch) for logged in (frames(), frames()[:-1]))
    known = sorted(id_ for id_, each in evidence.items() if each["posterior"] is not None)
    other = {**evidence[known[0]], "posterior": 1.5}
    live = [*(each for id_, each in evidence.items() if id_ not in known[:2]), other, {**other, "posterior": 0.5}]

    @contextmanager
    def opened(name: str) -> Iterator[Any]:
        yield Told([*matches.values()] if name == "matches" else live)

    topics: Any = opened
    run.execute()
    told = compared(run.reporter.folder, None, topics)["evidence"]
    assert told["counts"] == {"added": 1, "gone": 0, "changed": 1, "same": len(matches) - 2}
    assert told["changed"] == [{"id": known[0], "before": 1.5, "now": evidence[known[0]]["posterior"]}]
    whole = RunFolder(run.reporter.folder.path.rename(tmp_path / "whole"))
    to_come = shorter.execute()["evidence_to_come"]
    counts = compared(whole, shorter.reporter.folder, topics)["evidence"]["counts"]
    assert counts == {"added": to_come, "gone": 0, "changed": 0, "same": len(matches) - to_come}
    back = compared(shorter.reporter.folder, whole, topics)["evidence"]["counts"]
    assert back == {**counts, "added": 0, "gone": to_come}
